"""A workflow as a construct: the table, the layer, the wrapped functions, their permissions, and the start alias."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from aws_cdk import Aws, Duration, Stack, Tags
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.analysis.edges import ENTRY
from unum_compiler.analysis.waits import waits_long
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_compiler.payload import Payload
from unum_constructs.assembly import cross_stack
from unum_constructs.assembly.binding import Other, compiled
from unum_constructs.assembly.function_settings import Assembly
from unum_constructs.assembly.options import (
    check_leases,
    checked_attempts,
    checked_choice,
    checked_definition,
    checked_event_age_s,
    checked_fusion,
    checked_history_retention_s,
    checked_hop_budget,
    checked_name,
    checked_payload_limit,
    checked_retention_s,
    checked_small_results,
    checked_timeout_s,
    options_of,
)
from unum_constructs.assembly.template_size import check_size
from unum_constructs.assembly.wiring import Wiring, timer_targets, wire
from unum_constructs.cdk.argument_checks import check_kinds, check_mappings
from unum_constructs.cdk.lookup import path_of, resource_of, stack_of
from unum_constructs.cdk.nag import DEAD_LETTERS, acknowledge
from unum_constructs.cdk.outputs import add_outputs
from unum_constructs.cdk.queues import new_queue
from unum_constructs.errors import ConstructError
from unum_constructs.grants import IUnumWorkflow
from unum_constructs.hosting.host import Failures
from unum_constructs.imported import ImportedWorkflow
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.monitoring.workflow_monitoring import MonitoredWorkflow
from unum_constructs.resources import activities
from unum_constructs.resources.failure_handler import FailureHandler
from unum_constructs.resources.own_functions import Provision
from unum_constructs.resources.payload_bucket import bucket_for
from unum_constructs.resources.service_calls import CallingWorkflow
from unum_constructs.resources.task_response_url import new_task_response_url
from unum_constructs.resources.timer import WorkflowTimer
from unum_constructs.store import Store, claim_name, index_arn
from unum_constructs.sweep import Sweep, WorkflowSweep
from unum_runtime.model.ir import DEFAULT_HOP_BUDGET, Collection, Guard
from unum_runtime.model.log_level import LogLevel
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.naming import control_alias


class UnumWorkflow(MonitoredWorkflow, CallingWorkflow, IUnumWorkflow):
    """A workflow of Lambda functions without an orchestrator.

    It puts a layer with runtime and definition on the functions, redirects their handlers to it, and lets each invoke
    exactly those that follow it. Executions start through the start alias, by `unum_runtime.client` or by any event
    source, whose event is then the input.

    Args:
        scope: the construct around it.
        construct_id: its id.
        definition: what the workflow does.
        functions: functions by the key that Tasks name them with, beside those that the definition brings along. The
            same function may be there under several keys, and in several workflows of the stack.
        function_options: options of functions by key, for those that are no `UnumFunction`, or that are to have others
            in this workflow than they have by themselves.
        workflow_name: 1 to 80 characters from ``A-Z a-z 0-9 - _``; made from the construct's path where there is none.
        exported: whether other stacks of the account and region may find the workflow by its name, with
            `from_workflow_name`; two stacks cannot export the same name.
        store: where the state of executions is kept; in a table of its own by default.
        retention: how long that is kept, more than 8 hours; an execution must end within it. 7 days where it is not
            given.
        history_retention: how long everything is kept but an execution's input and result, if that is less than
            `retention`; an execution must then end within this. More than 8 hours.
        collection: when outcomes go that nobody can need any more: with their expiry, which costs nothing, or at once.
        guard: what is done against running user code again on a duplicate of an event, by functions that have no guard
            of their own; ``READ`` where it is not given.
        timeout: how long an execution may take, if the definition has no ``TimeoutSeconds``; no limit without both.
        max_event_age: how long Lambda tries to deliver an event, 1 minute to 6 hours; 6 hours where it is not given.
        retry_attempts: how often Lambda delivers an event again when the delivery failed, 0 to 2; twice where it is
            not given.
        hop_budget: how many steps may lie between the start and any other, so that a loop which never ends fails.
        payload: whether values that are too large for the table go to a bucket, which outlives the stack: its objects
            expire by themselves. By default if the definition shows that there may be such values.
        payload_bucket: your own bucket for them; below the workflow's name, objects must last longer than `retention`.
        payload_limit: how many bytes a state's output may have, as JSON; more fails it with
            ``States.DataLimitExceeded``. For definitions that rely on the limit of Step Functions, 262,144; without, as
            much as is stored.
        sweep: whether executions are found that stand still because all of their events were lost, and what is done
            about them (`Sweep.every`); they are not looked for without. It needs
            ``store=Store.dynamodb(list_executions=True)``.
        small_results: whether branches of Maps and Parallels are expected to come to at most 100 bytes of JSON. Where
            a branch ends with a Task in any case, such a result is committed and completed in one write, with others in
            one item; larger ones and failures cost as much as without, and a write more for each 7 branches.
        log_level: which lines the runtime writes to the logs of all functions.
        metrics: how much is counted, in these logs; CloudWatch has to be paid for each metric.
        fusion: whether a function goes on with the next Task itself, without an invocation, where that is its own, too,
            and enough time remains. Where it is not given, it does so under ``Collection.TTL``; under
            ``Collection.EAGER`` it cannot.
        architecture: of the functions that the workflow makes itself: one that goes on from failures, and where it
            needs them, one to start in, if it begins with no Task; one that calls services, if Tasks do; one that hands
            on events which have had to wait. What follows is about these functions, too.
        log_retention: of their log groups.
        tracing: by X-Ray; off where it is not given.
        environment_encryption: another key than `encryption_key` for their environments.
        vpc: where they run. They have to reach DynamoDB, Lambda, and where events wait SQS, and EventBridge Scheduler
            where they may wait for long.
        vpc_subnets: where in it; its private subnets where it is not given.
        security_groups: in it; one for each function where it is not given.
        encryption_key: your own key for all that the workflow makes: the table, if `store` does not say otherwise,
            queues, log groups, and environments of functions. Who has to may use it, through the service in question;
            its policy lets CloudWatch Logs use it. Functions of yours have arguments of their own.
        tags: of everything that the workflow makes.

    Raises:
        ConstructError: an argument cannot be used; says which and why.
        DefinitionError: the definition cannot be compiled; carries every problem with its JSON path.

    Attributes:
        layer: runtime and definition, for the newest Python that its functions have.
        failure_handler: what goes on from events that Lambda could not deliver.
        failure_queue: what it could not go on from, for 14 days; also events that waited in `timer` and could be given
            neither to their function nor to it.
        failure_alarm: goes off when something is in that queue; actions may be added to it.
        control_alias: where executions are stopped, redriven, nudged and forked; an alias of the failure handler.
        timer: what keeps events that have to wait; None where none have to.
        payload_bucket: where values go that are too large for the table; None where there is no bucket for them.
        sweep: what looks for executions that stand still; None where nothing does.
    """

    start_alias: lambda_.Alias
    control_alias: lambda_.Alias
    activities: Mapping[str, sqs.Queue]

    def __init__(  # noqa: PLR0913 - one keyword for each option, as everywhere in the CDK
        self,
        scope: Construct,
        construct_id: str,
        *,
        definition: Definition,
        functions: Mapping[str, lambda_.Function] | None = None,
        function_options: Mapping[str, FunctionOptions] | None = None,
        workflow_name: str | None = None,
        exported: bool = False,
        store: Store | None = None,
        retention: Duration | None = None,
        history_retention: Duration | None = None,
        collection: Collection = Collection.TTL,
        guard: Guard | None = None,
        timeout: Duration | None = None,
        max_event_age: Duration | None = None,
        retry_attempts: int | None = None,
        hop_budget: int = DEFAULT_HOP_BUDGET,
        payload: Payload | str = Payload.AUTO,
        payload_bucket: s3.IBucket | None = None,
        payload_limit: int | None = None,
        sweep: Sweep | None = None,
        small_results: bool = False,
        log_level: LogLevel = LogLevel.INFO,
        metrics: Metrics = Metrics.WORKFLOW,
        fusion: bool | None = None,
        architecture: lambda_.Architecture | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        tracing: lambda_.Tracing | None = None,
        environment_encryption: kms.IKey | None = None,
        vpc: ec2.IVpc | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        encryption_key: kms.IKey | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        check_mappings(self, {"functions": functions, "function_options": function_options, "tags": tags})
        check_kinds(self, bool, {"exported": exported, "small_results": small_results, "fusion": fusion})
        check_kinds(self, Store, {"store": store})
        check_kinds(self, Sweep, {"sweep": sweep})
        self._provision = Provision(
            architecture=architecture or lambda_.Architecture.ARM_64,
            log_retention=log_retention,
            tracing=tracing,
            encryption_key=encryption_key,
            environment_encryption=environment_encryption,
            vpc=vpc,
            vpc_subnets=vpc_subnets,
            security_groups=security_groups,
        )
        self._provision.check(self)
        self.workflow_name = checked_name(self, workflow_name)
        definition = checked_definition(self, definition)
        collection = checked_choice(self, "collection", collection, Collection)
        guard = None if guard is None else checked_choice(self, "guard", guard, Guard)
        log_level = checked_choice(self, "log_level", log_level, LogLevel)
        metrics = checked_choice(self, "metrics", metrics, Metrics)
        is_fused = checked_fusion(self, collection, fusion=fusion)
        limits = {
            "max_event_age_s": checked_event_age_s(self, max_event_age),
            "retry_attempts": checked_attempts(self, retry_attempts),
        }
        given: Mapping[str, lambda_.Function] = {**definition.functions, **(functions or {})}
        program = compiled(
            self,
            definition,
            given,
            name=self.workflow_name,
            options=options_of(self, given, function_options or {}, guard),
            others=self._others(),
        )
        functions_given = [host.function for host in program.hosts.values()]
        self._provision = self._provision.beside(functions_given)
        configured = replace(
            program.workflow,
            collection=collection,
            hop_budget=checked_hop_budget(self, hop_budget),
            small_results=checked_small_results(self, program.workflow, small_results=small_results),
            payload_limit=checked_payload_limit(self, payload_limit, payload),
            timeout_s=checked_timeout_s(self, timeout, program.workflow.timeout_s),
        )
        program = program.with_services(self, configured, self._provision)
        self._workflow, self._hosts = program.workflow, program.hosts
        check_leases(self, self._workflow, **limits)
        program.check_use(self)
        self.metrics, self.nodes = metrics, tuple(task.name for task in self._workflow.tasks)

        wiring = self._wired()
        self._known = cross_stack.known_in(self, self._hosts)
        self.table = (store or Store.dynamodb()).table_for(
            self, "Table", name=self._physical_name("table"), encryption_key=encryption_key
        )
        claim_name(self, self.table, self.workflow_name)
        if sweep is not None:
            sweep.check(self, self.table, self._hosts.values())
        layers = WorkflowLayers(self, workflow=self._workflow, python=self._provision.python)
        self.layer = layers.first
        self.failure_queue = new_queue(self, "Failures", encryption_key=encryption_key)
        acknowledge(self.failure_queue, DEAD_LETTERS)
        self.activities = activities.new_activities(self, "Activities", self._workflow, encryption_key)
        self.timer = self._timer()
        kept_s = checked_retention_s(self, retention)
        self.payload_bucket = bucket_for(
            self,
            compiled=self._workflow,
            payload=payload,
            bucket=payload_bucket,
            table=self.table,
            retention_s=kept_s,
            name=self._bucket_name(),
        )
        self._assembly = Assembly(
            workflow=self._workflow,
            bound=program.bound,
            hosts=self._hosts,
            known=self._known,
            wiring=wiring,
            layers=layers,
            distant_layers=cross_stack.layers_of(self, self._workflow, self._hosts.values()),
            table=self.table,
            payload_bucket=self.payload_bucket,
            retention_s=checked_history_retention_s(self, history_retention, kept_s),
            result_retention_s=kept_s,
            log_level=log_level,
            metrics=metrics,
            fusion=is_fused,
            timer=self.timer,
            activities=self.activities,
            started={text: other.start_alias for text, other in program.started.items()},
        )
        self.failure_handler = self._failure_handler()
        self.failure_alarm = self.failure_handler.alarm
        self.start_alias = self._start_alias(Failures(handler=self.failure_handler, **limits))
        self.control_alias = self._control_alias()
        self.sweep = None if sweep is None else self._sweep(sweep)
        self._assembly.acknowledge(self, self.failure_handler)
        self._assembly.tell_of_slow_starts()
        self._add_outputs(exported_as=self.workflow_name if exported else None)
        for key, value in (tags or {}).items():
            Tags.of(self).add(key, value)

    @staticmethod
    def from_workflow_attributes(  # noqa: PLR0913 - what there is to know of a workflow, by name
        scope: Construct,
        construct_id: str,
        *,
        workflow_name: str,
        table: dynamodb.ITable | str,
        start_alias_arn: str,
        control_alias_arn: str | None = None,
        activities: Mapping[str, sqs.IQueue] | None = None,
        payload_bucket: s3.IBucket | str | None = None,
        same_environment: bool | None = None,
    ) -> IUnumWorkflow:
        """A workflow that exists already, for grants and event targets.

        Args:
            scope: the construct around it.
            construct_id: its id.
            workflow_name: its name.
            table: the state of executions, or that table's name or ARN. An imported table with its `encryption_key`, if
                it has one of its own: who may use the table has to be allowed to use the key.
            start_alias_arn: ARN of its start alias, as the stack's output ``StartAlias`` has it.
            control_alias_arn: that of its control alias, in the output ``ControlAlias``, for `grant_stop` and
                `grant_redrive`.
            activities: queues of its activities by name, for `grant_activity`.
            payload_bucket: its bucket for large values, or that bucket's name, in the output ``PayloadBucket``.
            same_environment: whether it is of the account and region of this stack, so that event sources can be
                allowed to start it; found out where both are known.

        Raises:
            ConstructError: a name or an ARN is none.
        """
        return ImportedWorkflow(
            scope,
            construct_id,
            workflow_name=workflow_name,
            table=table,
            start_alias_arn=start_alias_arn,
            control_alias_arn=control_alias_arn,
            activities=activities or {},
            payload_bucket=payload_bucket,
            same_environment=same_environment,
        )

    @staticmethod
    def from_workflow_name(scope: Construct, construct_id: str, workflow_name: str) -> IUnumWorkflow:
        """A workflow that another stack of the account and region has, with ``exported=True``.

        CloudFormation keeps that stack from taking away what this one uses, or giving it another address: so give it a
        first Task that stays. A workflow with activities, or with a table of your own key, has to be imported by
        `from_workflow_attributes`, for its name does not tell those.
        """
        return ImportedWorkflow.by_name(scope, construct_id, workflow_name)

    def add_task_response_url(self) -> lambda_.FunctionUrl:
        """Have a URL through which Tasks that wait are answered by signed HTTP requests.

        ``grant_invoke_url`` of what this returns allows that and nothing else, not even to start executions.

        Raises:
            ConstructError: no Task of the definition waits for anybody.
        """
        if not activities.answered_functions(self._workflow):
            raise ConstructError(
                self, "add_task_response_url: no Task of the definition waits for an answer; remove it"
            )
        url = new_task_response_url(self, "Respond", workflow_name=self.workflow_name, start_alias=self.start_alias)
        add_outputs(self, {"TaskResponseUrl": (url.url, f"Where Tasks of workflow {self.workflow_name} are answered")})
        return url

    def _wired(self) -> Wiring:
        """How functions know each other; makes one to start in, where executions can start in none of them."""
        here = path_of(stack_of(self))
        wiring = wire(self._workflow, self._hosts, stack=here)
        if wiring.start == ENTRY:
            self._hosts[ENTRY] = self._provision.entry(self, "Entry")
        check_size(self, sum(host.stack == here for host in {*self._hosts.values()}))
        cross_stack.deploy_after(self, self._hosts.values())
        return wiring

    def _others(self) -> Iterator[Other]:
        """The other workflows of the app; found when they are asked for, which few workflows do."""
        for each in self.node.root.node.find_all():
            if isinstance(each, UnumWorkflow) and each is not self:
                yield Other(each.start_alias.function_arn, {*each._hosts.values()})  # noqa: SLF001 - one of its own kind

    def _functions(self) -> Iterator[lambda_.Function]:
        return (host.function for host in self._hosts.values())

    def _timer(self) -> WorkflowTimer | None:
        targets = timer_targets(self._workflow)
        if not targets:
            return None
        return WorkflowTimer(
            self,
            "Timer",
            layer=self.layer,
            provision=self._provision,
            failure_queue=self.failure_queue,
            targets=[self._known[key] for key in targets],
            queue_name=self._physical_name("timer"),
            waits_long=waits_long(self._workflow),
        )

    def _physical_name(self, purpose: str) -> str | None:
        """Where functions of other stacks have to know it."""
        near = cross_stack.are_near(self, self._hosts.values())
        return None if near else cross_stack.physical_name(self, purpose)

    def _bucket_name(self) -> str | None:
        """The same; names of buckets are unique among all accounts."""
        name = self._physical_name("payloads")
        return name and f"{hashlib.sha256(name.encode()).hexdigest()[:16]}-{Aws.ACCOUNT_ID}-{Aws.REGION}"

    def _failure_handler(self) -> FailureHandler:
        handler = FailureHandler(
            self,
            "OnFailure",
            workflow_name=self.workflow_name,
            service=self._assembly.service_of_handler(),
            layer=self.layer,
            provision=self._provision,
            dead_letters=self.failure_queue,
        )
        self._assembly.complete(handler)
        return handler

    def _control_alias(self) -> lambda_.Alias:
        version = self.failure_handler.version
        alias = lambda_.Alias(
            self,
            "Control",
            alias_name=control_alias(self.workflow_name),
            version=version,
            description=self.start_alias.function_arn,  # which is where the handler looks it up
        )
        alias.node.add_dependency(self.failure_handler)
        return alias

    def _sweep(self, options: Sweep) -> WorkflowSweep:
        return WorkflowSweep(
            self,
            "Sweep",
            options=options,
            index_arn=index_arn(self.table),
            partitions=self.own_partitions,
            handler=self.failure_handler,
            control_alias=self.control_alias,
            dead_letters=self.failure_queue,
        )

    def _start_alias(self, failures: Failures) -> lambda_.Alias:
        """Make every function a part of the workflow; the alias comes last, when everything is allowed."""
        scope = Construct(self, "Permissions")
        wiring, name = self._assembly.wiring, self._assembly.start_alias
        policies = [self._assembly.join(scope, key, failures) for key in wiring.edges]
        if self.timer:
            hosts = (self._hosts[key] for key in timer_targets(self._workflow))
            self.timer.report_failures(dict.fromkeys(host.failures.handler for host in hosts if host.failures))
        alias = lambda_.Alias(self, "Start", alias_name=name, version=self._hosts[wiring.start].version)
        alias.node.add_dependency(*policies, self.failure_handler, *([self.timer] if self.timer else ()))
        configuration = failures.configure(alias, name)
        configuration.node.add_dependency(resource_of(alias, lambda_.CfnAlias))  # which the name alone does not say
        return alias

    def _add_outputs(self, *, exported_as: str | None) -> None:
        """Tell clients and the command line, by the stack's outputs, where the workflow is."""
        name = self.workflow_name
        outputs = {
            "StartAlias": (self.start_alias.function_arn, f"Start alias of workflow {name}"),
            "Table": (self.table.table_name, f"Table of workflow {name}"),
            "Workflow": (name, "Name of the workflow"),
            "ControlAlias": (self.control_alias.function_arn, f"Control alias of workflow {name}"),
            "FailureQueue": (self.failure_queue.queue_url, f"What workflow {name} could not go on from"),
            "Retention": (str(self._assembly.result_retention_s), f"Seconds that workflow {name} keeps results"),
        }
        if self.payload_bucket:
            outputs["PayloadBucket"] = (self.payload_bucket.bucket_name, f"Large values of workflow {name}")
        if self.activities:
            urls = {each: queue.queue_url for each, queue in self.activities.items()}
            outputs["Activities"] = (
                Stack.of(self).to_json_string(urls),
                f"Queues of the activities of workflow {name}",
            )
        add_outputs(self, outputs, exported_as=exported_as)
