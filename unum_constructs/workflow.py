"""Workflow construct: table, layer, wrapped functions, permissions, and start alias of one workflow."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

from aws_cdk import Duration, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.analysis.edges import ENTRY, uses_timer
from unum_compiler.analysis.event_bounds import waits_long
from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_compiler.payload import Payload
from unum_constructs.assembly import cross_stack
from unum_constructs.assembly.binding import Program, compile_program
from unum_constructs.assembly.comparison import Comparison
from unum_constructs.assembly.function_permissions import State, WiredProgram
from unum_constructs.assembly.function_settings import Assembly
from unum_constructs.assembly.handler_keys import functions_by_key
from unum_constructs.assembly.options import (
    ExecutionBounds,
    RuntimeOptions,
    checked_definition,
    checked_history_retention_s,
    checked_keep,
    checked_limits,
    checked_name,
    checked_on_removed,
    checked_retention_s,
    options_of,
    with_compatibility,
    with_deployed_timeout,
)
from unum_constructs.assembly.other_workflows import OtherWorkflow
from unum_constructs.assembly.state_machine_words import StateMachineWords, translate
from unum_constructs.assembly.template_size import check_size
from unum_constructs.assembly.user_code_traces import trace_user_code
from unum_constructs.assembly.wiring import wire
from unum_constructs.assembly.workflow_outputs import WorkflowOutputs
from unum_constructs.cdk.argument_checks import check_mappings, check_types
from unum_constructs.cdk.lookup import function_behind, path_of, resource_of, stack_of
from unum_constructs.cdk.queues import new_dead_letter_queue
from unum_constructs.function import UnumFunction
from unum_constructs.grants import IUnumWorkflow
from unum_constructs.hosting.host import Failures
from unum_constructs.imported import Importable
from unum_constructs.layer.opentelemetry import OpenTelemetry
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.monitoring.workflow_monitoring import MonitoredWorkflow
from unum_constructs.resources import activities
from unum_constructs.resources.control_function import DIRECTORY, ControlFunction
from unum_constructs.resources.deployment_guard import DeploymentGuard, is_guarded, policies_of
from unum_constructs.resources.doors import new_doors
from unum_constructs.resources.event_rules import checked_events
from unum_constructs.resources.failure_handler import FailureHandler
from unum_constructs.resources.own_functions import Provision
from unum_constructs.resources.payload_bucket import payload_bucket_for
from unum_constructs.resources.service_calls import CallingWorkflow
from unum_constructs.resources.timer import WorkflowTimer
from unum_constructs.resources.upgrades import Keep, OnRemoved
from unum_constructs.store import Store, checked_store
from unum_constructs.sweep import HOURLY, Sweep, WorkflowSweep
from unum_runtime.model.ir import DEFAULT_HOP_BUDGET, Collection
from unum_runtime.model.log_level import LogLevel
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.naming import door_alias
from unum_runtime.model.states import Guard

if TYPE_CHECKING:
    from aws_cdk import aws_stepfunctions as sfn
    from aws_cdk.aws_events import IEventBus


class UnumWorkflow(MonitoredWorkflow, CallingWorkflow, activities.AnsweredWorkflow, Importable, IUnumWorkflow):
    """Workflow of Lambda functions that orchestrate themselves, without an orchestrator service.

    The construct puts a layer with runtime and definition on each function, points the handler to the runtime, and lets
    each function invoke exactly its successors. Executions start through the start alias, by `unum_client` or
    by any event source that invokes Lambda functions; the event is then the execution's input.

    Args:
        scope: parent construct.
        construct_id: id below `scope`.
        definition: states of the workflow; see `Definition.from_asl`, `from_asl_file`, `from_chainable`, `from_graph`
            and `from_ir`. A chain or `DefinitionBody` of `aws_stepfunctions` may be given directly.
        definition_body: the definition as `StateMachine` takes it, in place of `definition`.
        definition_substitutions: text or CDK token for every ``${Name}`` in a `DefinitionBody`. Functions of the app
            whose ARNs or names are among them need not be in `functions`.
        functions: functions by the key that Tasks name, in addition to those that the definition contains. One function
            may have several keys, and may belong to several workflows of the stack. Functions that cannot have the
            runtime, such as aliases, imported functions and other runtimes, are called. A `UnumFunction` with
            `handlers` may be given alone, for all its keys.
        function_options: options of functions by key, for plain `aws_lambda.Function` constructs, or in place of a
            `UnumFunction`'s own options.
        workflow_name: 1 to 80 characters from ``A-Z a-z 0-9 - _``. Default: derived from the construct's path.
        exported: True exports the ARNs for `from_workflow_name` in other stacks; no two may export the same name.
        store: storage of execution state. Default: a table of the workflow's own, `Store.dynamodb()`.
        retention: lifetime of execution state, more than 8 hours; an execution must end within it. Default: 7 days.
        history_retention: lifetime of everything except inputs and results of executions, more than 8 hours and at most
            `retention`; an execution must then end within it. Default: `retention`.
        collection: deletion of outcomes that can no longer be needed: ``TTL`` leaves them to DynamoDB's expiry, which
            is free; ``EAGER`` deletes them at once. Default: ``TTL``.
        guard: protection against running user code again for a duplicate event, for functions without a guard of their
            own. Default: ``READ``.
        timeout: longest duration of an execution, 1 to 99,999,999 s; not beside ``TimeoutSeconds``. Default: no limit.
        max_event_age: longest time that Lambda retries an event, 1 minute to 6 hours. Default: 6 hours.
        retry_attempts: retries by Lambda after a failed delivery, 0 to 2. Default: 2.
        hop_budget: most steps between the start and any other step; more fail the execution, which ends endless loops.
        width_budget: most branches of one Map or Parallel; more fail the execution. Default: 100,000.
        invocation_budget: most invocations of an execution, as estimated from the place of a step; more fail the
            execution. Default: 10,000,000.
        payload: storage of values that exceed a table item: `Payload.AUTO`, `S3` or `INLINE`. Buckets outlive the
            stack; their objects expire. Default: ``AUTO``, a bucket if the definition can produce such values.
        payload_bucket: bucket of your own for these values; objects below the workflow's name must live longer than
            `retention`.
        payload_limit: largest output of a state, in bytes of JSON; larger outputs fail with
            ``States.DataLimitExceeded``. Default: the most that is stored.
        attributes: places of attributes in the input, by name: reference paths such as ``$.order.id``, or JSONata.
        compatibility: ``STRICT`` refuses what Step Functions refuses or does otherwise, and applies its quotas; see
            "Behave as Step Functions" in ``docs/asl.md``. Default: ``GENEROUS``.
        sweep: periodic search for stalled executions, whose events were all lost; made by `Sweep.every`. It also tries
            letters of `failure_queue` again, and requires a table that lists executions (`Store.dynamodb`). None: no
            search. Default: every hour, if the table is known to list executions.
        on_removed: effect of a deployment that removes functions, activities, the timer queue or schedules that
            running executions need. ``REFUSE``: it fails and rolls back; this requires a table that lists executions.
            ``FAIL_EXECUTIONS``: it goes through. Default: ``REFUSE``, if the table is known to list executions and
            there is no `vpc`.
        keep: parts that only executions of earlier definitions need.
        earlier: definitions whose executions may still run. Synth then says what the deployment means for them, as
            ``unum diff`` does, and fails if it would be refused. With the context value ``unum:compareDeployed``, it
            says so for the deployed definition, and for its running executions, as far as it has access.
        small_results: True if results of Map and Parallel branches are expected to fit in 100 bytes of JSON. A branch
            that always ends with a Task then commits and completes in one write, together with other branches in one
            item. Larger results and failures cost as much as without the option, plus one write for every 7 branches.
        log_level: lowest level of the runtime's log lines, in all functions.
        metrics: metrics that the runtime writes to the logs; CloudWatch bills each metric.
        opentelemetry: spans of user code, which the functions send to a collector, in the trace of ``unum trace``.
            Default: none, and nothing of it in the functions.
        fusion: True lets a function run the next Task in the same sandbox, without an invocation, if that Task belongs
            to the same function and enough time remains. Default: True with ``Collection.TTL``; impossible with
            ``Collection.EAGER``.
        events: bus for status events, see `on_execution_status_change`. Requires a sweep. Default: no events.
        architecture: instruction set of the functions that the workflow makes (see below). Default: ARM64.
        log_retention: retention of their log groups. Default: 1 month.
        tracing: their X-Ray tracing. Default: none.
        environment_encryption: KMS key of their environments, if not `encryption_key`.
        vpc: their VPC. It must reach DynamoDB and Lambda; SQS, if events wait; EventBridge Scheduler, if events wait
            for long; EventBridge, for `events`.
        vpc_subnets: their subnets. Default: the private subnets of `vpc`.
        security_groups: their security groups. Default: one for each function.
        encryption_key: customer managed KMS key for the workflow's table (unless `store` names another key), bucket,
            queues, log groups and environments. Roles may use it through these services alone; CloudWatch Logs may too.
        tags: tags of all resources of the workflow.
        of_state_machine: other arguments of `StateMachine`: `state_machine_name`, `tracing_enabled`, and for chains
            `comment` and `query_language` work; what could have no effect is refused, with the name of ours.

    The workflow makes up to five functions without user code: a failure handler; a control function; an entry function,
    if no Task's function can start executions; a service function, if Tasks call AWS services; a forwarder, if events
    wait in the timer queue.

    Raises:
        ConstructError: an argument is invalid; the text names the argument, the expected and the actual value.
        DefinitionError: the definition does not compile; contains every problem with its JSON path.

    Attributes:
        workflow_name: name in events, keys and outputs.
        storage: table or bucket with the state of executions; see also `table`.
        layer: layer with the runtime, for the newest Python among the functions; all workflows of the stack share it.
        start_alias: alias for event sources: whatever arrives is the input of an execution.
        doors: aliases that start executions by name, describe them, and take answers with task tokens; also as
            `run_alias`, `describe_alias` and `response_alias`.
        control: function that stops, redrives, nudges, forks and deletes executions, with an alias for each, `doors`.
        failure_handler: function that takes over events that Lambda could not deliver.
        failure_queue: dead-letter queue of the failure handler and of `timer`; keeps messages for 14 days.
        failure_alarm: alarm on messages in `failure_queue`; add actions to it.
        activities: queues of the activities by activity name.
        timer: timer queue with its forwarder; None if no event has to wait.
        payload_bucket: bucket for large values; None without one.
        sweep: schedule of the search for stalled executions; None without one.
    """

    start_alias: lambda_.Alias
    activities: Mapping[str, sqs.Queue]

    def __init__(  # noqa: PLR0913 - one keyword for each option, as everywhere in the CDK
        self,
        scope: Construct,
        construct_id: str,
        *,
        definition: "Definition | sfn.DefinitionBody | sfn.IChainable | None" = None,
        definition_body: "sfn.DefinitionBody | None" = None,
        definition_substitutions: Mapping[str, str] | None = None,
        functions: Mapping[str, lambda_.IFunction | lambda_.FunctionBase] | UnumFunction | None = None,
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
        width_budget: int | None = None,
        invocation_budget: int | None = None,
        payload: Payload | str = Payload.AUTO,
        payload_bucket: s3.IBucket | None = None,
        payload_limit: int | None = None,
        attributes: Mapping[str, str] | None = None,
        compatibility: Compatibility | str = Compatibility.GENEROUS,
        sweep: Sweep | None = HOURLY,
        on_removed: OnRemoved | str | None = None,
        keep: Keep | None = None,
        earlier: Sequence[Definition] = (),
        small_results: bool = False,
        log_level: LogLevel = LogLevel.INFO,
        metrics: Metrics = Metrics.WORKFLOW,
        opentelemetry: OpenTelemetry | None = None,
        fusion: bool | None = None,
        events: "IEventBus | None" = None,
        architecture: lambda_.Architecture | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        tracing: lambda_.Tracing | None = None,
        environment_encryption: kms.IKey | None = None,
        vpc: ec2.IVpc | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        encryption_key: kms.IKey | None = None,
        tags: Mapping[str, str] | None = None,
        **of_state_machine: Unpack[StateMachineWords],
    ) -> None:
        super().__init__(scope, construct_id)
        # 1. Options, checked before any resource is made.
        words = translate(self, of_state_machine, workflow_name=workflow_name, tracing=tracing)
        functions = functions_by_key(self, functions)
        mappings = {"functions": functions, "function_options": function_options, "tags": tags}
        check_mappings(self, {**mappings, "definition_substitutions": definition_substitutions})
        check_types(self, bool, {"exported": exported, "small_results": small_results, "fusion": fusion})
        store = checked_store(self, store, exported=exported)
        check_types(self, Sweep, {"sweep": sweep})
        provision = Provision(
            architecture=architecture or lambda_.Architecture.ARM_64,
            log_retention=log_retention,
            tracing=words.tracing,
            encryption_key=encryption_key,
            environment_encryption=environment_encryption,
            vpc=vpc,
            vpc_subnets=vpc_subnets,
            security_groups=security_groups,
        ).checked(self)
        self.workflow_name = checked_name(self, words.workflow_name)
        checked = checked_definition(self, definition, definition_body, definition_substitutions, words.of_chain)
        checked, timeout = with_deployed_timeout(self, with_compatibility(self, checked, compatibility), timeout)
        runtime = RuntimeOptions.checked(
            self, collection=collection, guard=guard, log_level=log_level, metrics=metrics, fusion=fusion, events=events
        )
        limits = checked_limits(self, max_event_age, retry_attempts)
        decision, kept = checked_on_removed(self, on_removed), checked_keep(self, keep)
        bounds = ExecutionBounds(
            timeout, hop_budget, width_budget, invocation_budget, payload, payload_limit, small_results, attributes
        )

        # 2. The definition, compiled, and bound to its functions.
        program = self._compile(checked, functions, function_options or {}, runtime.guard).with_kept(self, kept)
        provision = provision.with_python_of(host.function for host in program.hosts.values())
        program = program.with_services(self, bounds.apply(self, program.workflow, runtime.collection), provision)
        wired = self._wire(program, provision)
        self._workflow, self._hosts, self._called = wired.program.parts
        self.metrics, self.nodes = runtime.metrics, tuple(task.name for task in self._workflow.tasks)

        # 3. Resources that hold state, code and events.
        self.storage = store.storage_for(
            self, self.workflow_name, name=self._fixed_name(store.purpose), encryption_key=encryption_key
        )
        sweep, self.events = checked_events(
            self, events, sweep and sweep.checked(self, self.storage, self._hosts.values()), self._hosts.values()
        )
        traces = trace_user_code(self, opentelemetry, self._hosts.values())
        guarded = is_guarded(self, self.storage, decision, is_in_vpc=vpc is not None)
        layers = WorkflowLayers(
            self,
            workflow=self._workflow,
            python=provision.python,
            in_bucket=self.storage.in_bucket,
            traces=traces,
            events=events,
        )
        self.layer, self.failure_queue = layers.first, new_dead_letter_queue(self, "Failures", encryption_key)
        self.activities = activities.new_activities(
            self, "Activities", self._workflow, encryption_key, kept=kept.activities
        )
        self.timer = self._new_timer(wired, layers, provision, kept)
        state = self._new_state(retention, history_retention, payload, payload_bucket)
        self.payload_bucket = state.payload_bucket

        # 4. Permissions and environments of all functions, and then the aliases, which make the workflow reachable.
        assembly = self._assemble(wired, layers, state, runtime)
        self.control, self.failure_handler = self._new_planning_functions(assembly, provision)
        if guarded:
            self._new_guard(assembly, lists=sweep is None)
        self.failure_alarm = self.failure_handler.alarm
        failures = Failures(handler=self.failure_handler, limits=limits)
        self.start_alias = self._new_start_alias(assembly, failures)
        self._add_other_aliases(failures, sweeps=sweep is not None)
        self.sweep = None if sweep is None else self._new_sweep(sweep)

        # 5. Acknowledgments, messages, outputs and tags.
        assembly.acknowledge(self, self.failure_handler, self.control)
        assembly.report_slow_functions()
        comparison = Comparison(construct=self, new=self._workflow, parts=assembly.parts, is_guarded=guarded)
        every: Mapping[str, lambda_.IFunction] = {**checked.functions, **functions}
        comparison.with_given(earlier, options_of(self, every, function_options or {}, runtime.guard))
        comparison.with_deployed()
        WorkflowOutputs(
            start_alias=self.start_alias,
            control_function=self.control.function,
            doors=self.doors,
            storage=self.storage,
            failure_queue=self.failure_queue,
            payload_bucket=self.payload_bucket,
            activities=self.activities,
            retention_s=state.result_retention_s,
        ).add_to(self, self.workflow_name, exported=exported)
        for key, value in (tags or {}).items():
            Tags.of(self).add(key, value)

    def _others(self) -> Iterator[OtherWorkflow]:
        """Yield the other workflows of the app, lazily: few workflows need this search through all constructs."""
        for each in self.node.root.node.find_all():
            if isinstance(each, UnumWorkflow) and each is not self:
                start, run, describe = each.start_alias, each.doors.run, each.doors.describe
                hosts = {*each._hosts.values()}  # noqa: SLF001 - the same class
                yield OtherWorkflow(start.function_arn, run.function_arn, describe.function_arn, hosts)

    def _door(self, door: str) -> lambda_.Alias:
        return self.control.door(self, door)

    def _functions(self) -> Iterator[lambda_.Function]:
        called = map(function_behind, self._called.values())
        return chain(
            (host.function for host in self._hosts.values()),
            (each for each in called if isinstance(each, lambda_.Function)),
        )

    def _compile(
        self,
        definition: Definition,
        functions: Mapping[str, lambda_.IFunction],
        options: Mapping[str, FunctionOptions],
        guard: Guard | None,
    ) -> Program:
        every: Mapping[str, lambda_.IFunction] = {**definition.functions, **functions}
        every_options = options_of(self, every, options, guard)
        name = self.workflow_name
        return compile_program(self, definition, every, name=name, options=every_options, others=self._others())

    def _wire(self, program: Program, provision: Provision) -> WiredProgram:
        """Plan references between functions; add an entry function if no Task's function can start executions."""
        program.check_use(self)
        here = path_of(stack_of(self))
        wiring = wire(program.workflow, program.hosts, stack=here)
        if wiring.start == ENTRY:
            program = program.with_entry(provision.new_entry(self, "Entry"))
        hosts = program.hosts
        check_size(self, sum(host.stack == here for host in {*hosts.values()}))
        cross_stack.deploy_after(self, hosts.values())
        return WiredProgram(
            program=program, wiring=wiring.with_kept(program.kept), known=cross_stack.functions_known_to(self, hosts)
        )

    def _new_timer(
        self, wired: WiredProgram, layers: WorkflowLayers, provision: Provision, kept: Keep
    ) -> WorkflowTimer | None:
        if not (uses_timer(self._workflow) or kept.timer or kept.schedules):
            return None
        return WorkflowTimer(
            self,
            "Timer",
            layers=layers,
            provision=provision,
            failure_queue=self.failure_queue,
            targets=dict.fromkeys(wired.known.values()),
            queue_name=self._fixed_name("timer"),
            waits_long=waits_long(self._workflow) or kept.schedules,
        )

    def _new_state(
        self,
        retention: Duration | None,
        history_retention: Duration | None,
        payload: Payload | str,
        payload_bucket: s3.IBucket | None,
    ) -> State:
        result_retention_s = checked_retention_s(self, retention)
        bucket = payload_bucket_for(
            self,
            compiled=self._workflow,
            payload=payload,
            bucket=payload_bucket or self.storage.payload_bucket(payload),
            key=self.storage.encryption_key,
            retention_s=result_retention_s,
            name=self._fixed_name(cross_stack.BUCKET),
        )
        self.storage.expire(self, self.workflow_name, result_retention_s)
        return State(
            storage=self.storage,
            payload_bucket=bucket,
            retention_s=checked_history_retention_s(self, history_retention, result_retention_s),
            result_retention_s=result_retention_s,
        )

    def _assemble(self, wired: WiredProgram, layers: WorkflowLayers, state: State, runtime: RuntimeOptions) -> Assembly:
        return Assembly(
            wired=wired,
            layers=layers,
            distant_layers=cross_stack.distant_layers_of(self, layers, self._workflow, self._hosts.values()),
            state=state,
            runtime=runtime,
            timer=self.timer,
            activities=self.activities,
        )

    def _fixed_name(self, purpose: str) -> str | None:
        return cross_stack.fixed_name(self, purpose, self._hosts.values())

    def _new_planning_functions(
        self, assembly: Assembly, provision: Provision
    ) -> tuple[ControlFunction, FailureHandler]:
        common: Any = {
            "workflow_name": self.workflow_name,
            "service": assembly.service_of_handler(),
            "layers": assembly.layers,
            "provision": provision,
            "dead_letters": self.failure_queue,
        }
        directory = {"UNUM_DIRECTORY": door_alias(DIRECTORY, self.workflow_name)}
        control = ControlFunction(self, "ControlFunction", environment=directory, **common)
        handler = FailureHandler(self, "OnFailure", control=control, **common)
        assembly.allow_handler(handler, control)
        return control, handler

    def _new_guard(self, assembly: Assembly, *, lists: bool) -> DeploymentGuard:
        # The sweep has the same permission.
        listing = self.storage.list_statements(self.own_partitions) if lists else ()
        guard = DeploymentGuard(self, "Guard", control=self.control, parts=assembly.parts, listing=listing)
        guard.precede(policies_of(self.control, self.failure_handler))
        return guard

    def _new_start_alias(self, assembly: Assembly, failures: Failures) -> lambda_.Alias:
        """Connect every function to the workflow, then make the start alias.

        The alias depends on all policies: an execution that started earlier could meet a function without permissions.
        """
        wiring, name = assembly.wiring, assembly.start_alias
        policies = assembly.connect_all(self, failures, self.control)
        if self.timer:
            self.timer.report_failures(dict.fromkeys((self.failure_handler, *assembly.first_handlers)))
        alias = lambda_.Alias(self, "Start", alias_name=name, version=self._hosts[wiring.start].version)
        ready = (*self.failure_handler.ready, self.control.policy, self.control.failures)
        timer = [self.timer] if self.timer else ()
        resource_of(alias, lambda_.CfnAlias).node.add_dependency(*policies, *ready, *timer)
        return alias

    def _add_other_aliases(self, failures: Failures, *, sweeps: bool) -> None:
        """Make all aliases that refer to the start alias."""
        start_intake = self.failure_handler.open(self.start_alias, self)
        self.control.open(self.start_alias, self._workflow, sweeps=sweeps)
        self.doors = new_doors(self, self.control.version, failures, start_intake)
        self.run_alias, self.describe_alias, self.response_alias = self.doors

    def _new_sweep(self, options: Sweep) -> WorkflowSweep:
        listing, letters = self.storage.list_statements(self.own_partitions), self.failure_queue
        return WorkflowSweep(
            self, "Sweep", options=options, listing=listing, control=self.control, dead_letters=letters
        )
