"""What each function of a workflow is told and allowed, once it is known which there are."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.analysis.edges import ENTRY, Operation, splitting_functions, recursive_functions, timed_functions
from unum_compiler.definition import Definition
from unum_compiler.parsing.task_resources import SERVICES
from unum_compiler.services.started_workflows import is_only_started
from unum_constructs.assembly import cross_stack
from unum_constructs.assembly.cross_stack import DistantFunction
from unum_constructs.assembly.wiring import Wiring, operations
from unum_constructs.cdk.lookup import arn_of, stack_of
from unum_constructs.cdk.nag import acknowledge_policies, acknowledge_when_resolved
from unum_constructs.hosting.host import Failures, Host
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.resources import activities, permissions
from unum_constructs.resources.failure_handler import FailureHandler
from unum_constructs.resources.failure_handler import operations as operations_on_failure
from unum_constructs.resources.timer import WorkflowTimer
from unum_runtime.model.envelope import START
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.log_level import LogLevel
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.naming import start_alias

Statements: TypeAlias = tuple[iam.PolicyStatement, ...]


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """The parts of one workflow.

    Attributes:
        workflow: the definition, compiled.
        bound: the definition, for what only the deployment knows of it.
        hosts: the functions by key, `ENTRY` and `SERVICES` included.
        known: the same as the workflow's stack knows them.
        wiring: who invokes whom.
        layers: runtime and definition, for each Python.
        distant_layers: the same for functions of other stacks, by the path of the stack.
        table: the state of executions.
        payload_bucket: what is too large for it; None for none.
        retention_s: how long that is kept, in seconds.
        result_retention_s: how long start records and ends are, in seconds.
        log_level: which lines the runtime logs.
        metrics: how much it counts.
        fusion: whether functions go on with Tasks of their own without an invocation.
        timer: what keeps events that have to wait; None where none have to.
        activities: queues by name.
        started: ARNs of the start aliases of workflows that Tasks start, by the placeholder that stands for them.
    """

    workflow: Workflow
    bound: Definition
    hosts: Mapping[str, Host]
    known: Mapping[str, Host | DistantFunction]
    wiring: Wiring
    layers: WorkflowLayers
    distant_layers: Mapping[str, WorkflowLayers]
    table: dynamodb.ITable
    payload_bucket: s3.IBucket | None
    retention_s: int
    result_retention_s: int
    log_level: LogLevel
    metrics: Metrics
    fusion: bool
    timer: WorkflowTimer | None
    activities: Mapping[str, sqs.IQueue]
    started: Mapping[str, str]
    _made: dict[Hashable, Statements] = field(default_factory=dict, init=False)

    @property
    def start_alias(self) -> str:
        """Name of the start alias."""
        return start_alias(self.workflow.name)

    @cached_property
    def service(self) -> Mapping[str, Any]:
        """What `unum_runtime.functions.task_function.Service` says for every function."""
        service: dict[str, Any] = {
            "table": self.table.table_name,
            "hosts": [],
            "routes": {},
            "retention_s": self.retention_s,
        }
        if self.result_retention_s != self.retention_s:
            service["result_retention_s"] = self.result_retention_s
        if self.payload_bucket:
            service["payload_bucket"] = self.payload_bucket.bucket_name
        if self._values:
            service["values"] = self._values
        if self.log_level is not LogLevel.INFO:
            service["log_level"] = self.log_level
        if self.metrics is not Metrics.WORKFLOW:
            service["metrics"] = self.metrics
        if not self.fusion and self.workflow.collection is Collection.TTL:
            service["fusion"] = False
        return service

    def service_of_handler(self) -> dict[str, Any]:
        """What it says for the failure handler."""
        return {**self.service, **({"timer": self.timer.queue.queue_url} if self.timer else {})}

    def complete(self, handler: FailureHandler) -> None:
        """Let `handler` take the place of any function."""
        done = (operations(self.workflow, self.wiring, key) for key in self.wiring.edges)
        statements = [*self._storing(operations_on_failure(done)), *permissions.sending(self._queues)]
        handler.allow(dict.fromkeys(self.known.values()), [*statements, *self._keeping_objects()])
        if self.timer:
            permissions.attach(handler, "Timer", self.timer.forwarder, permissions.reporting([handler]))

    def acknowledge(self, workflow: Construct, handler: FailureHandler) -> None:
        """Record why the policies beneath `workflow` have wildcards."""
        functions = [known.function for known in dict.fromkeys(self.known.values())]
        others = {each.failures.handler.function for each in self.hosts.values() if each.failures}
        arns = [arn_of(function) for function in (*functions, handler.function, *others)]
        called = [arn for statement in (*self._calling(), *self._keeping_objects()) for arn in statement.resources]
        if self.timer and self.timer.schedules:
            called.append(self.timer.schedules.arns)
        acknowledge_policies(workflow, arns, called)
        if self.distant_layers:  # references to other stacks are not what they will be
            acknowledge_when_resolved(workflow, arns, called)

    def tell_of_slow_starts(self) -> None:
        """Say which functions start more slowly than they could, once all have their layers."""
        for layers in (self.layers, *self.distant_layers.values()):
            layers.tell_of_slow_starts()

    def join(self, scope: Construct, key: str, failures: Failures) -> iam.Policy:
        """Make the function `key` a part of the workflow; what allows it to be one, in `scope`."""
        host, known = self.hosts[key], self.known[key]
        claimed = host.claim_failures(failures)
        reports = claimed is failures or key == self.wiring.start
        statements = self._statements(key, reporting=self._reporting(failures) if reports else ())
        policy = permissions.attach(scope, key, known.function, statements)
        if claimed is failures:
            known.send_failures(failures, after=policy)
        else:
            claimed.handler.hand_on(self.workflow.name, failures.handler)
        if key in recursive_functions(self.workflow) or self._answered(key) or self._begins_again(key):
            host.allow_recursion()
        host.serve(self.workflow.name, self._layers_of(host), self._service_of(key))
        return policy

    def _statements(self, key: str, *, reporting: Statements) -> Iterator[iam.PolicyStatement]:
        """What the function `key` is allowed; `reporting`: to have its failed events sent to a handler."""
        yield from permissions.invoking(self._invoked(key))
        if key == SERVICES:
            yield from self._calling()
            yield from self.bound.statements
        yield from self._storing(operations(self.workflow, self.wiring, key))
        yield from self._keeping_objects()
        if not self.hosts[key].takes_layers:
            yield permissions.reading(self._layers_of(self.hosts[key]).first.definition)
        yield from reporting
        timer = self._queues if self._waits(key) else []
        yield from permissions.sending([*timer, *(self.activities.values() if key == SERVICES else ())])

    def _calling(self) -> Iterator[iam.PolicyStatement]:
        """To call the services that Tasks call."""
        if SERVICES in self.hosts:
            from unum_constructs.assembly.service_grants import calling  # noqa: PLC0415 - loads the models of all services

            yield from calling(
                self.workflow, self.bound.values, own_alias=self._own_start_alias, aliases=self.started.keys()
            )

    def _storing(self, done: frozenset[Operation]) -> Statements:
        """To do that in the table."""
        return self._shared(done, lambda: permissions.storing(self.table, done, workflow_name=self.workflow.name))

    def _keeping_objects(self) -> Statements:
        """To keep what is too large for the table."""
        if not self.payload_bucket:
            return ()
        bucket = self.payload_bucket
        return self._shared("objects", lambda: permissions.keeping_objects(bucket, self.workflow.name))

    def _reporting(self, failures: Failures) -> Statements:
        """To have failed events sent to the workflow's handler."""
        return self._shared("failures", lambda: permissions.reporting([failures.handler]))

    def _shared(self, what: Hashable, make: Callable[[], Iterable[iam.PolicyStatement]]) -> Statements:
        """Statements that stand in many policies; making each is a call to the CDK's process."""
        if what not in self._made:
            self._made[what] = (*make(),)
        return self._made[what]

    def _named(self, service: Mapping[str, Any]) -> dict[str, str]:
        """What stands in `service` for functions of other stacks in place of references to the workflow's stack."""
        named = {"table": cross_stack.table_name(self.layers.first, self.table)}
        if self.payload_bucket:
            named["payload_bucket"] = cross_stack.bucket_name(self.layers.first, self.payload_bucket)
        if self.timer and "timer" in service:
            named["timer"] = cross_stack.queue_url(self.timer.queue_name)
        return named

    @property
    def _queues(self) -> list[sqs.IQueue]:
        """That of the timer."""
        return [self.timer.queue] if self.timer else []

    def _layers_of(self, host: Host) -> WorkflowLayers:
        return self.distant_layers.get(host.stack, self.layers)

    def _invoked(self, key: str) -> list[Host | DistantFunction]:
        """The functions that the function `key` invokes: itself, too, to go on after a Wait, or with parts of a Map."""
        own = [key] if self._waits(key) or key in splitting_functions(self.workflow) else []
        keys = dict.fromkeys((*self.wiring.edges[key], *own, *self._answered(key)))
        return [self.known[each] for each in keys]

    def _answered(self, key: str) -> tuple[str, ...]:
        """The functions that the function `key` invokes when somebody hands in what their Tasks wait for."""
        answered = activities.answered_functions(self.workflow)
        return answered if key == self.wiring.start else tuple({key} & {*answered})

    def _waits(self, key: str) -> bool:
        return key in timed_functions(self.workflow)

    def _begins_again(self, key: str) -> bool:
        """Whether executions start other executions in the function `key`."""
        return key == self.wiring.start and START in self.wiring.carried

    @property
    def _own_start_alias(self) -> str:
        """The ARN of the start alias, without a reference to it: it depends on what this is a part of."""
        return f"{arn_of(self.hosts[self.wiring.start].function)}:{self.start_alias}"

    @property
    def _values(self) -> dict[str, str]:
        """What every function puts into the IR; not start aliases, by which functions could depend on each other."""
        left = {text for text in self.started if is_only_started(self.workflow, text)}
        return {name: value for name, value in self.bound.values.items() if f"${{{name}}}" not in left}

    def _service_of(self, key: str) -> Mapping[str, Any]:
        """What `unum_runtime.functions.task_function.Service` says for the function `key`."""
        host = self.hosts[key]
        service = {
            **self.service,
            "hosts": [] if key == ENTRY else [key],
            "routes": {
                target: self.hosts[target].version_arn_in(stack_of(host.function))
                for target in self.wiring.references[key]
            },
        }
        if key == SERVICES:
            service["routes"] |= {START + text: alias for text, alias in self.started.items()}
        if not host.takes_layers:
            service["definition"] = self._layers_of(host).first.definition.s3_object_url
        if self.activities and key == SERVICES:
            service["activities"] = {name: queue.queue_url for name, queue in self.activities.items()}
        if self.timer and self._waits(key):
            service["timer"] = self.timer.queue.queue_url
        if host.stack in self.distant_layers:
            service |= self._named(service)
        if key == self.wiring.start:
            service |= {"carried": [*self.wiring.carried], "start_alias": self.start_alias}
        return service
