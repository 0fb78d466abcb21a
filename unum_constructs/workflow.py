"""A workflow as a construct: the table, the layer, the wrapped functions, their permissions, and the start alias."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import callbacks, permissions
from unum_constructs.compiler.edges import ENTRY, recursive_functions, timed_functions
from unum_constructs.compiler.options import FunctionOptions
from unum_constructs.compiler.resources import SERVICES
from unum_constructs.definition import Definition
from unum_constructs.errors import ConstructError
from unum_constructs.failure_handler import FailureHandler
from unum_constructs.failure_handler import operations as operations_on_failure
from unum_constructs.host import Failures, Host
from unum_constructs.layer import WorkflowLayer
from unum_constructs.monitoring import MonitoredWorkflow
from unum_constructs.outputs import add_outputs
from unum_constructs.provided import entry_host, services_host
from unum_constructs.queues import new_queue
from unum_constructs.resource import resource_of
from unum_constructs.settings import (
    check_leases,
    checked_attempts,
    checked_event_age_s,
    checked_hop_budget,
    checked_name,
    checked_payload_limit,
    checked_retention_s,
    options_of,
)
from unum_constructs.store import checked_table, new_table
from unum_constructs.timer import WorkflowTimer
from unum_constructs.wiring import one_key_each, operations, timer_targets, wire
from unum_constructs.wrapping import hosts_of
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import DEFAULT_HOP_BUDGET, Collection, Workflow
from unum_runtime.model.metrics import Metrics


class UnumWorkflow(MonitoredWorkflow):
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
        retention: how long the state of executions is kept, more than 8 hours; an execution must end within it.
            7 days where it is not given.
        table: your own table, with the keys ``pk`` and ``sk``, both strings, and expiry in ``ttl``. Names of workflows
            that share a table must differ.
        removal_policy: of the table that is made. By default it goes with the stack, as what it has is temporary.
        max_event_age: how long Lambda tries to deliver an event, 1 minute to 6 hours; 6 hours where it is not given.
        retry_attempts: how often Lambda delivers an event again when the delivery failed, 0 to 2; twice where it is
            not given.
        entry_architecture: of the functions that the workflow makes itself where it needs them: one to start in, if it
            begins with no Task; one that calls services, if Tasks do; one that hands on events which have had to wait.
        collection: when outcomes go that nobody can need any more: with their expiry, which costs nothing, or at once.
        hop_budget: how many steps may lie between the start and any other, so that a loop which never ends fails.
        payload_limit: how many bytes a state's output may have, as JSON; more fails it with
            ``States.DataLimitExceeded``. For definitions that rely on the limit of Step Functions, 262,144; without, as
            much as is stored.
        metrics: how much is counted, in the functions' logs; CloudWatch has to be paid for each metric.

    Raises:
        ConstructError: an argument cannot be used; says which and why.
        DefinitionError: the definition cannot be compiled; carries every problem with its JSON path.

    Attributes:
        workflow_name: its name, in events and in the table.
        table: the state of executions.
        layer: runtime and definition.
        failure_handler: what goes on from events that Lambda could not deliver.
        failure_queue: what it could not go on from, for 14 days; also events that waited in `timer` and could not be
            handed on.
        failure_alarm: goes off when something is in that queue; actions may be added to it.
        start_alias: the only way in.
        timer: what keeps events that have to wait; None where none have to.
        activities: queues of the activities that Tasks wait in, by name.
    """

    def __init__(  # noqa: PLR0913 - one keyword for each option, as everywhere in the CDK
        self,
        scope: Construct,
        construct_id: str,
        *,
        definition: Definition,
        functions: Mapping[str, lambda_.Function] | None = None,
        function_options: Mapping[str, FunctionOptions] | None = None,
        workflow_name: str | None = None,
        retention: Duration | None = None,
        table: dynamodb.ITable | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.DESTROY,
        max_event_age: Duration | None = None,
        retry_attempts: int | None = None,
        entry_architecture: lambda_.Architecture | None = None,
        collection: Collection = Collection.TTL,
        hop_budget: int = DEFAULT_HOP_BUDGET,
        payload_limit: int | None = None,
        metrics: Metrics = Metrics.WORKFLOW,
    ) -> None:
        super().__init__(scope, construct_id)
        self.workflow_name = checked_name(self, workflow_name)
        self._retention_s = checked_retention_s(self, retention)
        limits = {
            "max_event_age_s": checked_event_age_s(self, max_event_age),
            "retry_attempts": checked_attempts(self, retry_attempts),
        }
        given: Mapping[str, lambda_.Function] = {**definition.functions, **(functions or {})}
        self._hosts = hosts_of(self, given)
        options = options_of(self, given, function_options or {})
        bound = definition.bind({function.function_arn: key for key, function in given.items()})
        compiled = replace(
            self._compiled(bound, options, given),
            collection=collection,
            hop_budget=checked_hop_budget(self, hop_budget),
            payload_limit=checked_payload_limit(self, payload_limit),
        )
        self._bound = bound
        self._architecture = entry_architecture or lambda_.Architecture.ARM_64
        if any(task.function == SERVICES for task in compiled.tasks):
            self._hosts[SERVICES] = services_host(self, "Services", self._architecture)
        self._workflow = one_key_each(compiled, self._hosts)
        check_leases(self, self._workflow, **limits)
        self._check_use()
        self.metrics, self.nodes = metrics, {task.name for task in self._workflow.tasks}
        self._wiring = wire(self._workflow, self._hosts)
        if self._wiring.start == ENTRY:
            self._hosts[ENTRY] = entry_host(self, "Entry", self._architecture)

        self.table = checked_table(self, table) if table else new_table(self, "Table", removal_policy)
        self.layer = WorkflowLayer(self, "Layer", workflow=self._workflow)
        self.failure_queue = new_queue(self, "Failures")
        self.activities = callbacks.new_activities(self, "Activities", self._workflow)
        self.timer = self._timer()
        self.failure_handler = self._failure_handler()
        self.failure_alarm = self.failure_handler.alarm
        self.start_alias = self._start_alias(Failures(handler=self.failure_handler, **limits))
        self._add_outputs()

    def grant_start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` start executions by `unum_runtime.client`: write a start record, invoke the start alias."""
        return permissions.grant_start(
            grantee, start_alias=self.start_alias, table=self.table, workflow=self.workflow_name
        )

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` describe executions, wait for them, and list their steps, by `unum_runtime.client`."""
        return permissions.grant_read(grantee, table=self.table)

    def grant_task_response(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` answer for Tasks that wait, if it has their tokens; it may start executions as well."""
        return callbacks.grant_task_response(grantee, start_alias=self.start_alias)

    def grant_activity(self, grantee: iam.IGrantable, name: str) -> iam.Grant:
        """Let `grantee` work for the activity `name`: take its Tasks, and answer for them."""
        return callbacks.grant_activity(grantee, name, activities=self.activities, start_alias=self.start_alias)

    def _compiled(
        self,
        definition: Definition,
        options: Mapping[str, FunctionOptions],
        functions: Mapping[str, lambda_.Function],
    ) -> Workflow:
        try:
            return definition.compile(self.workflow_name, functions.keys(), options)
        except DefinitionError as error:
            path = self.node.path
            raise DefinitionError(
                tuple(replace(each, path=f"{path}: {each.path}") for each in error.problems)
            ) from error

    def _check_use(self) -> None:
        """Stop if a function has nothing to do, or would do it for two workflows of one name."""
        used = {self._hosts[task.function] for task in self._workflow.tasks}
        for key, host in self._hosts.items():
            if host not in used:
                raise ConstructError(
                    self, f"functions[{key!r}]: no Task of the definition names it; remove it, or name it"
                )
            if host.serves(self.workflow_name):
                name = self.workflow_name
                raise ConstructError(
                    self, f"functions[{key!r}]: takes part in another workflow called {name!r}; change `workflow_name`"
                )

    def _timer(self) -> WorkflowTimer | None:
        targets = timer_targets(self._workflow)
        if not targets:
            return None
        return WorkflowTimer(
            self,
            "Timer",
            layer=self.layer,
            architecture=self._architecture,
            failure_queue=self.failure_queue,
            targets=[self._hosts[key] for key in targets],
        )

    def _failure_handler(self) -> FailureHandler:
        handler = FailureHandler(
            self,
            "OnFailure",
            workflow_name=self.workflow_name,
            service=self._service(),
            layer=self.layer,
            architecture=self._architecture,
            dead_letters=self.failure_queue,
        )
        done = (operations(self._workflow, self._wiring, key) for key in self._wiring.edges)
        timer = [self.timer.queue] if self.timer else []
        handler.allow(
            self._hosts.values(),
            [permissions.storing(self.table, operations_on_failure(done)), *permissions.sending(timer)],
        )
        permissions.share_key(handler.function, self.table)
        return handler

    def _start_alias(self, failures: Failures) -> lambda_.Alias:
        """Make every function a part of the workflow; the alias comes last, when everything is allowed."""
        scope = Construct(self, "Permissions")
        policies = {key: self._join(scope, key, failures) for key in self._wiring.edges}
        host = self._hosts[self._wiring.start]
        alias = lambda_.Alias(self, "Start", alias_name=self._alias_name, version=host.version)
        alias.node.add_dependency(*policies.values(), self.failure_handler, *([self.timer] if self.timer else ()))
        configuration = failures.configure(alias, self._alias_name)
        configuration.add_resource_dependency(resource_of(alias, lambda_.CfnAlias))  # which the name alone does not say
        return alias

    def _join(self, scope: Construct, key: str, failures: Failures) -> iam.Policy:
        """Make the function `key` a part of the workflow; what allows it to be one."""
        host = self._hosts[key]
        claimed = host.claim_failures(failures)
        reports = claimed is failures or key == self._wiring.start
        policy = permissions.attach(scope, key, host.function, self._statements(key, reports=reports))
        permissions.share_key(host.function, self.table)
        if claimed is failures:
            host.send_failures(failures, after=policy)
        else:
            claimed.handler.hand_on(self.workflow_name, failures.handler)
        if key in recursive_functions(self._workflow) or self._answered(key):
            host.allow_recursion()
        host.serve(self.workflow_name, self.layer, self._service_of(key))
        return policy

    def _statements(self, key: str, *, reports: bool) -> Iterator[iam.PolicyStatement]:
        """What the function `key` is allowed; `reports`: also to have its failed events handled."""
        yield from permissions.invoking(self._invoked(key))
        if key == SERVICES:
            from unum_constructs.services import calling  # noqa: PLC0415 - loads the models of all services

            yield from calling(self._workflow, self._bound.values)
            yield from self._bound.statements
        yield permissions.storing(self.table, operations(self._workflow, self._wiring, key))
        yield from permissions.invoking([self.failure_handler] if reports else [])
        timer = [self.timer.queue] if self.timer and self._waits(key) else []
        yield from permissions.sending([*timer, *(self.activities.values() if key == SERVICES else ())])

    def _invoked(self, key: str) -> list[Host]:
        """The functions that the function `key` invokes: itself, too, where it has no longer to wait."""
        own = [key] if self._waits(key) else []
        keys = dict.fromkeys((*self._wiring.edges[key], *own, *self._answered(key)))
        return [self._hosts[each] for each in keys]

    def _answered(self, key: str) -> tuple[str, ...]:
        """The functions that the function `key` invokes when somebody hands in what their Tasks wait for."""
        answered = callbacks.answered_functions(self._workflow)
        return answered if key == self._wiring.start else tuple({key} & {*answered})

    def _waits(self, key: str) -> bool:
        return key in timed_functions(self._workflow)

    def _service(self) -> Mapping[str, Any]:
        """What `unum_runtime.handler.Service` says for every function."""
        service = {"table": self.table.table_name, "hosts": [], "routes": {}, "retention_s": self._retention_s}
        if self.metrics is not Metrics.WORKFLOW:
            service["metrics"] = self.metrics
        return service | {"values": dict(self._bound.values)} if self._bound.values else service

    def _service_of(self, key: str) -> Mapping[str, Any]:
        """What it says for the function `key`."""
        service = {
            **self._service(),
            "hosts": [] if key == ENTRY else [key],
            "routes": {target: self._hosts[target].version_arn for target in self._wiring.references[key]},
        }
        if self.activities and key == SERVICES:
            service["activities"] = {name: queue.queue_url for name, queue in self.activities.items()}
        if self.timer and self._waits(key):
            service["timer"] = self.timer.queue.queue_url
        if key != self._wiring.start:
            return service
        return service | {"carried": list(self._wiring.carried), "start_alias": self._alias_name}

    @property
    def _alias_name(self) -> str:
        return f"start-{self.workflow_name}"

    def _add_outputs(self) -> None:
        """Tell clients and the command line, by the stack's outputs, where the workflow is."""
        name = self.workflow_name
        outputs = {
            "StartAlias": (self.start_alias.function_arn, f"Start alias of workflow {name}"),
            "Table": (self.table.table_name, f"Table of workflow {name}"),
            "Workflow": (name, "Name of the workflow"),
            "Retention": (str(self._retention_s), f"Seconds that workflow {name} keeps its state"),
        }
        if self.activities:
            urls = {each: queue.queue_url for each, queue in self.activities.items()}
            outputs["Activities"] = (
                Stack.of(self).to_json_string(urls),
                f"Queues of the activities of workflow {name}",
            )
        if self.activities:
            urls = {each: queue.queue_url for each, queue in self.activities.items()}
            outputs["Activities"] = (
                Stack.of(self).to_json_string(urls),
                f"Queues of the activities of workflow {name}",
            )
        add_outputs(self, outputs)
