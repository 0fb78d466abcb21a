"""Environment and permissions of each function, derived from the complete workflow."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.analysis.edges import (
    ENTRY,
    Operation,
    delayed_edges,
    recursive_functions,
    shares_with_all,
    splitting_functions,
    timed_functions,
)
from unum_compiler.parsing.task_resources import SERVICES
from unum_compiler.services.started_workflows import is_only_started, started_machine
from unum_constructs.assembly import cross_stack
from unum_constructs.assembly.binding import Program
from unum_constructs.assembly.cross_stack import CrossStackFunction
from unum_constructs.assembly.options import RuntimeOptions
from unum_constructs.assembly.wiring import Wiring, operations
from unum_constructs.cdk.lookup import arn_of, queue_url_of, role_id_of, role_of, stack_of
from unum_constructs.cdk.nag import acknowledge_policies, acknowledge_when_resolved
from unum_constructs.cdk.storage import Storage
from unum_constructs.hosting.environment import TOKEN
from unum_constructs.hosting.host import FailureDestination, Failures, Host
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.resources import activities, permissions
from unum_constructs.resources.control_function import ControlFunction
from unum_constructs.resources.failure_handler import FailureHandler
from unum_constructs.resources.timer import WorkflowTimer
from unum_runtime.functions.configuration import ENTRY as IN_ENTRY
from unum_runtime.functions.configuration import INLINE, SERVICE_CALLS, STORE
from unum_runtime.model.envelope import START
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.log_level import LogLevel
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.naming import describe_alias, run_alias, start_alias
from unum_runtime.model.states import ACTIVITY as ACTIVITY_TASK
from unum_runtime.model.states import SIGNAL, Language
from unum_runtime.protocol.control.removal import ACTIVITY, FUNCTION, SCHEDULES, TIMER

Statements: TypeAlias = tuple[iam.PolicyStatement, ...]


@dataclass(frozen=True, kw_only=True)
class WiredProgram:
    """Program with planned references between functions.

    Attributes:
        program: compiled definition, with functions by key, `ENTRY` and `SERVICES` included.
        wiring: invocations and references between the functions.
        known: the functions by key, as known in the workflow's stack.
    """

    program: Program
    wiring: Wiring
    known: Mapping[str, Host | CrossStackFunction]


@dataclass(frozen=True, kw_only=True)
class State:
    """Storage of execution state.

    Attributes:
        storage: place of the state.
        payload_bucket: bucket for values that exceed an item; None without one.
        retention_s: lifetime of the history, in seconds.
        result_retention_s: lifetime of start records and results, in seconds.
    """

    storage: Storage
    payload_bucket: s3.IBucket | None
    retention_s: int
    result_retention_s: int


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """All parts of one workflow.

    Attributes:
        wired: program and wiring.
        layers: runtime and definition, for each Python, in the workflow's stack.
        distant_layers: the same for other stacks, by stack path.
        state: storage of execution state.
        runtime: options of the runtime.
        timer: timer queue; None if no event waits.
        activities: queues by activity name.
        former_clients: the start alias executes requests in the form of release 0.1.0.
    """

    wired: WiredProgram
    layers: WorkflowLayers
    distant_layers: Mapping[str, WorkflowLayers]
    state: State
    runtime: RuntimeOptions
    timer: WorkflowTimer | None
    activities: Mapping[str, sqs.IQueue]
    former_clients: bool = False
    _shared_statements: dict[Hashable, Statements] = field(default_factory=dict, init=False)

    @property
    def workflow(self) -> Workflow:
        """Compiled definition."""
        return self.wired.program.workflow

    @property
    def hosts(self) -> Mapping[str, Host]:
        """Functions by key."""
        return self.wired.program.hosts

    @property
    def wiring(self) -> Wiring:
        """Invocations and references between the functions."""
        return self.wired.wiring

    @property
    def start_alias(self) -> str:
        """Name of the start alias."""
        return start_alias(self.workflow.name)

    @cached_property
    def service(self) -> Mapping[str, Any]:
        """Fields of `unum_runtime.functions.configuration.Service` that all functions share; defaults are left out."""
        # Values equal to the runtime's default are left out: environments have 4 KB for all workflows of a function.
        service: dict[str, Any] = {
            "table": self.state.storage.address,
            "hosts": [],
            "routes": {},
            "retention_s": self.state.retention_s,
        }
        if self.state.result_retention_s != self.state.retention_s:
            service["result_retention_s"] = self.state.result_retention_s
        if self.state.payload_bucket:
            service["payload_bucket"] = self.state.payload_bucket.bucket_name
        if self._shared_values:
            service["values"] = self._shared_values
        if self.runtime.log_level is not LogLevel.INFO:
            service["log_level"] = self.runtime.log_level
        if self.runtime.metrics is not Metrics.WORKFLOW:
            service["metrics"] = self.runtime.metrics
        if not self.runtime.fusion and self.workflow.collection is Collection.TTL:
            service["fusion"] = False
        if self.former_clients:
            service["former_clients"] = True
        if self.runtime.events is not None:
            service["events"] = self.runtime.events.event_bus_arn
        return service

    @property
    def _starting(self) -> dict[str, Any]:
        """Fields of functions that begin executions: all others take the definition from the store."""
        return {"stores_first": True} if self.hosts.keys() - {self.wiring.start} else {}

    @cached_property
    def parts(self) -> dict[str, str]:
        """Places of all that executions depend on and a later deployment may remove, by name."""
        # Keys of one function are one part. A key cannot be a name of CloudFormation's intrinsic functions here.
        known = {each: key for key, each in reversed([*self.wired.known.items()])}
        found = {f"{FUNCTION}{key}": arn_of(each.function) for each, key in known.items()}
        found |= {f"{ACTIVITY}{name}": queue.queue_url for name, queue in self.activities.items()}
        if self.timer:
            found[TIMER] = queue_url_of(self.timer.queue)
        if self.timer and self.timer.schedules:
            found[SCHEDULES] = self.timer.schedules.group.ref
        return dict(sorted(found.items()))

    def service_of_handler(self) -> dict[str, Any]:
        """Return the fields for the failure handler."""
        timer = {"timer": queue_url_of(self.timer.queue)} if self.timer else {}
        service = {**self.service, **self._starting, **timer}
        if self._entry_definition.get("definition", "").startswith(INLINE):
            # They read it there, so that no change of the definition publishes them.
            service["definition"] = IN_ENTRY
            service.pop("values", None)
        return service

    def allow_handler(self, handler: FailureHandler, control: ControlFunction) -> None:
        """Let `handler` and `control` act in place of any function."""
        # All operations: executions of older definitions may need those that no function has any more.
        statements = [*self._state_statements(frozenset(Operation)), *permissions.send_statements(self._queues)]
        definitions = self._definition_statements(Operation.CREATE, Operation.READ, Operation.LIST)
        every = [*statements, *definitions, *self._object_statements(), *self._event_statements()]
        control.handler = handler
        deletion = permissions.deletion_statements(self.state.storage, self.state.payload_bucket, self.workflow.name)
        hosts = dict.fromkeys(self.wired.known.values())
        handler.allow(hosts, every)
        tasks = (task.function for task in self.workflow.tasks)
        shares = any(shares_with_all(self.workflow, each) for each in tasks)
        shared = permissions.shared_results_statements(self.state.storage) if shares else ()
        control.allow(hosts, [*every, *deletion, *shared])
        control.tell_kept(self.state.storage)
        handler.allow_own()
        own = [role_id_of(each.function) for each in (handler, control)]
        senders = {"workflow": self.workflow.name, "trusted": [*own, *(self.timer.role_ids if self.timer else ())]}
        control.trust(senders)
        if self.timer:
            permissions.attach(handler, "Timer", self.timer.forwarder, permissions.invoke_statements((), [handler]))
            known = self.wired.known
            edges = [(known[key], [known[each] for each in to]) for key, to in delayed_edges(self.workflow).items()]
            self.timer.admit(senders, edges, handler.version_arn, self.runtime.metrics)
            for host in dict.fromkeys(self.hosts.values()):
                host.add_caller(self.timer.policy, role_of(self.timer.forwarder))

    def acknowledge(self, workflow: Construct, handler: FailureHandler, control: ControlFunction) -> None:
        """Record cdk-nag reasons for the wildcards in the workflow's policies."""
        functions = [known.function for known in dict.fromkeys(self.wired.known.values())]
        others = {each.failures.handler.function for each in self.hosts.values() if each.failures}
        arns = [arn_of(function) for function in (*functions, handler.function, control.function, *others)]
        called = [
            arn for statement in (*self._call_statements(), *self._object_statements()) for arn in statement.resources
        ]
        if self.timer and self.timer.schedules:
            called.append(self.timer.schedules.arns)
        acknowledge_policies(workflow, arns, called)
        if self.distant_layers:
            # References to other stacks change their form at the end of synthesis, and cdk-nag reads the final one.
            acknowledge_when_resolved(workflow, arns, called)

    def report_slow_starts(self) -> None:
        """Report functions without bytecode for their Python, once all functions have their layers."""
        for layers in (self.layers, *self.distant_layers.values()):
            layers.report_slow_starts()

    def connect(self, scope: Construct, key: str, failures: Failures, control: ControlFunction) -> iam.Policy:
        """Connect the function `key` to the workflow: permissions, failure handling, environment, layer.

        Returns:
            The policy, in `scope`.
        """
        # A version has one on-failure destination: the first workflow's handler, which forwards to the others.
        host, known = self.hosts[key], self.wired.known[key]
        claimed = host.claim_failures(failures)
        # The start alias has a destination of its own, so its function reports here in any case.
        reports = claimed is failures or key == self.wiring.start
        service = self._service_of(key, control)
        statements = self._statements(key, service, handlers=[failures.handler] if reports else [])
        # A policy of its own, not the role's default one: functions depend on that, so edges would be circular.
        policy = permissions.attach(scope, key, known.function, statements)
        self._deny_starts(key, policy)
        if claimed is failures:
            known.send_failures(failures, after=policy)
        else:
            claimed.handler.forward_failures(self.workflow.name, failures.handler)
        # Lambda counts invocations in a chain, so loops, responses and nested executions look like recursion.
        is_recursive = key in self.wiring.kept or key in self._recursive
        if is_recursive or self._answered(key) or self._restarts(key):
            host.allow_recursion()
        if key == self.wiring.start:
            host.add_starts(self.workflow.name)
        host.serve(self.workflow.name, self._layers_of(host), service, brings_file="definition" not in service)
        return policy

    def _statements(
        self, key: str, service: Mapping[str, Any], *, handlers: list[FailureDestination]
    ) -> Iterator[iam.PolicyStatement]:
        """Yield the permissions of the function `key`; it hands events over to `handlers`, as does Lambda."""
        starts = self._has_start_role(key)
        invoked = [self.wired.known[each] for each in self._invoked(key)]
        yield from permissions.invoke_statements(invoked, handlers, reports_starts=starts)
        if handlers:
            yield permissions.find_intake_statement(self.wired.known[key])
        if key == SERVICES:
            yield from self._call_statements()
            yield from self.wired.program.bound.statements
        if key == self.wiring.start:
            # A start that is answered continues with a request to itself.
            own = f"{arn_of(self.hosts[key].function)}:{run_alias(self.workflow.name)}"
            yield iam.PolicyStatement(actions=[permissions.INVOKE], resources=[own])
            yield from self._definition_statements(Operation.CREATE, Operation.READ)
        # Events of executions on other definitions are run by these.
        yield from self._shared("definitions", lambda: self._definition_statements(Operation.LIST))
        yield from self._state_statements(operations(self.workflow, self.wiring, key), starts=starts, key=key)
        yield from self._object_statements()
        # Each of them may commit an end: a failure that no catcher handles.
        yield from self._event_statements()
        if not self.hosts[key].takes_layers and not service["definition"].startswith((STORE, INLINE)):
            yield permissions.read_asset_statement(self._layers_of(self.hosts[key]).definition.object)
        timer = self._queues if self._uses_timer(key) else []
        yield from permissions.send_statements([*timer, *(self.activities.values() if key == SERVICES else ())])

    def _has_start_role(self, key: str) -> bool:
        """Return True if the function `key` has the role of the function in which executions start."""
        # Functions may share a role, and what is denied in one policy of a role is denied in all.
        roles = [role_of(self.wired.known[each].function) for each in (key, self.wiring.start)]
        return roles[0] is roles[1]

    def _call_statements(self) -> Iterator[iam.PolicyStatement]:
        """Yield permissions for the service calls of Tasks."""
        if SERVICES in self.hosts:
            from unum_constructs.assembly.service_grants import call_statements  # noqa: PLC0415 - loads all service models

            yield from call_statements(
                self.workflow,
                self.wired.program.bound.values,
                own=self._own_aliases,
                started=self.wired.program.started,
                called=self.wired.program.called,
            )

    def _state_statements(self, done: frozenset[Operation], *, starts: bool = True, key: str = "") -> Statements:
        """Return permissions of function `key` for the operations `done` on the state.

        They include writes of start records if it `starts`, and results that its Tasks share with other workflows.
        """
        name, shares = self.workflow.name, shares_with_all(self.workflow, key)
        return self._shared(
            (done, starts, shares),
            lambda: permissions.state_statements(
                self.state.storage, done, workflow_name=name, starts=starts, shares_results=shares
            ),
        )

    def _definition_statements(self, *done: Operation) -> Iterator[iam.PolicyStatement]:
        """Yield permissions for the operations `done` on definition records."""
        return permissions.definition_statements(self.state.storage, self.workflow.name, done)

    def _object_statements(self) -> Statements:
        """Return permissions for objects with large values."""
        if not self.state.payload_bucket:
            return ()
        bucket = self.state.payload_bucket
        return self._shared("objects", lambda: permissions.object_statements(bucket, self.workflow.name))

    def _event_statements(self) -> Statements:
        """Return permission for status events."""
        bus = self.runtime.events
        return () if bus is None else self._shared("status events", lambda: [permissions.put_events_statement(bus)])

    def _shared(self, what: Hashable, make: Callable[[], Iterable[iam.PolicyStatement]]) -> Statements:
        """Return statements that many policies share, made once: each is a call to the CDK's process."""
        # Otherwise every function would pay about 0.5 ms for each of them.
        if what not in self._shared_statements:
            self._shared_statements[what] = (*make(),)
        return self._shared_statements[what]

    def _names_for_other_stacks(self, service: Mapping[str, Any]) -> dict[str, str]:
        """Return the fields of `service` that functions of other stacks need as names instead of references."""
        named = {"table": cross_stack.store_address(self.layers.scope, self.state.storage)}
        if self.state.payload_bucket:
            named["payload_bucket"] = cross_stack.bucket_name(self.layers.scope, self.state.payload_bucket)
        if self.timer and "timer" in service:
            named["timer"] = cross_stack.queue_url(self.timer.queue_name)
        return named

    @property
    def _queues(self) -> list[sqs.IQueue]:
        """Timer queue as a list; empty without a timer."""
        return [self.timer.queue] if self.timer else []

    def _layers_of(self, host: Host) -> WorkflowLayers:
        return self.distant_layers.get(host.stack, self.layers)

    def _deny_starts(self, key: str, policy: iam.Policy) -> None:
        """Deny the function `key` the aliases for starts, unless its Tasks start executions of workflows."""
        if key == SERVICES and any(started_machine(task) for task in self.workflow.tasks):
            return  # a function without user code
        for each in self._invoked(key):
            self.hosts[each].add_caller(policy, role_of(self.wired.known[key].function))

    def _invoked(self, key: str) -> tuple[str, ...]:
        """Return functions that `key` invokes, itself included after a Wait or retry, and for parts of a large Map."""
        own = [key] if self._uses_timer(key) or key in self._splitting else []
        return tuple(dict.fromkeys((*self.wiring.edges[key], *own, *self._answered(key))))

    def _answered(self, key: str) -> tuple[str, ...]:
        """Return the functions that `key` invokes with responses for Tasks with a task token."""
        answered = activities.answered_functions(self.workflow)
        return answered if key == self.wiring.start else tuple({key} & {*answered})

    def _uses_timer(self, key: str) -> bool:
        # A kept function may have had delayed events in an earlier definition.
        return key in self._timed or (self.timer is not None and key in self.wiring.kept)

    # Cached: each of these three follows the whole workflow, and each function asks for it.
    @cached_property
    def _timed(self) -> frozenset[str]:
        """Functions that send delayed events."""
        return frozenset(timed_functions(self.workflow))

    @cached_property
    def _splitting(self) -> frozenset[str]:
        """Functions that let deliveries of their own begin parts of a large Map."""
        return frozenset(splitting_functions(self.workflow))

    @cached_property
    def _recursive(self) -> frozenset[str]:
        """Functions whose invocation can lead to another invocation of themselves."""
        return frozenset(recursive_functions(self.workflow))

    def _restarts(self, key: str) -> bool:
        """Return True if executions start other executions of this workflow in the function `key`."""
        return key == self.wiring.start and START in self.wiring.carried

    @property
    def _own_aliases(self) -> dict[str, str]:
        """ARNs of run and describe alias as text: by reference they would depend on these policies, in a circle."""
        from unum_compiler.services.task_permissions import DESCRIBE, RUN  # noqa: PLC0415 - as `_call_statements`

        name = self.workflow.name
        anywhere = f"arn:{Aws.PARTITION}:lambda:{Aws.REGION}:{Aws.ACCOUNT_ID}:function:*"
        run = f"{arn_of(self.hosts[self.wiring.start].function)}:{run_alias(name)}"
        return {RUN: run, DESCRIBE: f"{anywhere}:{describe_alias(name)}"}

    @property
    def _shared_values(self) -> dict[str, str]:
        """Values for placeholders in the IR, except start aliases, which could close a circle of references."""
        left = {text for text in self.wired.program.started if is_only_started(self.workflow, text)}
        return {name: value for name, value in self.wired.program.bound.values.items() if f"${{{name}}}" not in left}

    def _service_of(self, key: str, control: ControlFunction) -> Mapping[str, Any]:
        """Return the fields of `unum_runtime.functions.configuration.Service` for the function `key`."""
        service = self._settings_of(key)
        if key == self.wiring.start:
            # By its name: a reference would be circular, because the alias depends on this function's policy.
            service["describe_alias"] = f"{control.function.function_arn}:{describe_alias(self.workflow.name)}"
            service |= self._entry_definition
        return service

    def _settings_of(self, key: str) -> dict[str, Any]:
        """Return the fields for the function `key` that depend on no other function of the workflow's own."""
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
            service["routes"] |= {START + text: other.start_alias for text, other in self.wired.program.started.items()}
            if self.wired.program.called:
                service["called"] = {key: arn_of(each) for key, each in self.wired.program.called.items()}
        if key != self.wiring.start:
            # The stored definition has the values, and a change of it does not change this function.
            service["definition"] = STORE
            if (loaded := [*self._loaded_by(key)]) != [Language.JSONPATH]:
                service["loads"] = loaded
            service.pop("values", None)
            if not service["routes"]:
                del service["routes"]
        if self.activities and key == SERVICES:
            service["activities"] = {name: queue.queue_url for name, queue in self.activities.items()}
        if self.timer and self._uses_timer(key):
            service["timer"] = queue_url_of(self.timer.queue)
        if host.stack in self.distant_layers:
            # The workflow's stack is deployed after the function's, so references to it are impossible.
            service |= self._names_for_other_stacks(service)
        if key == self.wiring.start:
            # Only the starting function puts versions into envelopes; the others pass them on.
            service |= {"carried": [*self.wiring.carried], "start_alias": self.start_alias, **self._starting}
        return service

    @cached_property
    def _entry_definition(self) -> Mapping[str, str]:
        """Where the function in which executions start has the definition; empty for a layer."""
        host = self.hosts[self.wiring.start]
        layers, service = self._layers_of(host), {**self._settings_of(self.wiring.start), "describe_alias": TOKEN}
        inline = {"definition": layers.inline_definition}
        if host.has_room_for(self.workflow.name, {**service, **inline}):
            return inline
        return {} if host.takes_layers else {"definition": layers.definition.object.s3_object_url}

    def _loaded_by(self, key: str) -> Iterator[str]:
        """Yield what the function `key` loads before its first event, which names the definition."""
        yield from sorted({state.language for state in self.workflow.states.values()})
        called = (task.resource for task in self.workflow.tasks if task.function == key)
        if any(resource is not None and not resource.startswith((ACTIVITY_TASK, SIGNAL)) for resource in called):
            yield SERVICE_CALLS
