"""Permissions of each function, derived from the complete workflow."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs

from unum_compiler.analysis.edges import (
    Operation,
    recursive_functions,
    shares_with_all,
    splitting_functions,
    timed_functions,
)
from unum_compiler.parsing.task_resources import SERVICES
from unum_constructs.assembly.checked_options import RuntimeOptions
from unum_constructs.assembly.common_permissions import Statements
from unum_constructs.assembly.shared_resources import State
from unum_constructs.assembly.wired_program import WiredProgram
from unum_constructs.assembly.wiring import Wiring, operations
from unum_constructs.cdk.lookup import arn_of, role_of
from unum_constructs.hosting.host import FailureDestination, Failures, Host
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.resources import permissions, response_resources
from unum_constructs.resources.timer_queue import WorkflowTimer
from unum_runtime.functions.configuration import INLINE, STORE
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import describe_alias, run_alias


@dataclass(frozen=True, kw_only=True)
class FunctionPermissions:
    """What each function of a workflow may do.

    Attributes:
        wired: program and wiring.
        layers: runtime and definition, for each Python, in the workflow's stack.
        distant_layers: the same for other stacks, by stack path.
        state: storage of execution state.
        runtime: options of the runtime.
        timer: timer queue; None if no event waits.
        activities: queues by activity name.
    """

    wired: WiredProgram
    layers: WorkflowLayers
    distant_layers: Mapping[str, WorkflowLayers]
    state: State
    runtime: RuntimeOptions
    timer: WorkflowTimer | None
    activities: Mapping[str, sqs.IQueue]
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

    def _own_statements(
        self, key: str, service: Mapping[str, Any], failures: Failures, *, handlers: Sequence[FailureDestination]
    ) -> Iterator[iam.PolicyStatement]:
        """Yield the permissions of the function `key` that depend on its place in the workflow, and for `handlers`."""
        invoked = [self.wired.known[each] for each in self._invoked(key)]
        yield from permissions.invoke_statements(invoked, handlers, reports_starts=self._has_start_role(key))
        if self._reports(key, failures):
            yield permissions.find_intake_statement(self.wired.known[key])
        if key == SERVICES:
            yield from self._call_statements()
            yield from self.wired.program.bound.statements
            yield from permissions.send_statements(self.activities.values())
        if key == self.wiring.start:
            # A start that is answered continues with a request to itself.
            own = f"{arn_of(self.hosts[key].function)}:{run_alias(self.workflow.name)}"
            yield iam.PolicyStatement(actions=[permissions.INVOKE], resources=[own])
            yield from self._definition_statements(Operation.CREATE, Operation.READ)
        if not self.hosts[key].takes_layers and not service["definition"].startswith((STORE, INLINE)):
            yield permissions.read_asset_statement(self._layers_of(self.hosts[key]).definition.object)

    def _common(self, key: str) -> Mapping[str, Statements]:
        """Return the permissions of the function `key` that others may have alike, by name."""
        done, shares = operations(self.workflow, self.wiring, key), shares_with_all(self.workflow, key)
        starts = self._has_start_role(key)
        state = (
            f"state: {', '.join(sorted(done))}{', starts' if starts else ''}{', of all workflows' if shares else ''}"
        )
        found = {
            # Events of executions on other definitions are run by these.
            "definitions": self._shared("definitions", lambda: self._definition_statements(Operation.LIST)),
            state: self._state_statements(done, starts=starts, key=key),
            "objects": self._object_statements(),
            # Each of them may commit an end: a failure that no catcher handles.
            "status events": self._event_statements(),
            "timer": self._timer_statements() if self._uses_timer(key) else (),
        }
        return {name: statements for name, statements in found.items() if statements}

    def _failure_statements(self, key: str, failures: Failures) -> Statements:
        """Return permission of the function `key` to hand failed events over; none for a later workflow's."""
        if not self._reports(key, failures):
            return ()
        starts = self._has_start_role(key)
        return self._shared(
            ("failures", starts), lambda: permissions.invoke_statements((), [failures.handler], reports_starts=starts)
        )

    def _reports(self, key: str, failures: Failures) -> bool:
        """Return True if the function `key` hands failed events over to this workflow's failure handler."""
        # The start alias has a destination of its own, so its function reports here in any case.
        return self.hosts[key].claim_failures(failures) is failures or key == self.wiring.start

    def _has_start_role(self, key: str) -> bool:
        """Return True if the function `key` has the role of the function in which executions start."""
        # Functions may share a role, and what is denied in one policy of a role is denied in all.
        roles = [role_of(self.wired.known[each].function) for each in (key, self.wiring.start)]
        return roles[0] is roles[1]

    def _call_statements(self) -> Iterator[iam.PolicyStatement]:
        """Yield permissions for the service requests of Tasks."""
        if SERVICES in self.hosts:
            from unum_constructs.assembly.service_grants import call_statements  # noqa: PLC0415 - loads all service models

            yield from call_statements(
                self.workflow,
                self.wired.program.bound.values,
                own=self._own_aliases,
                started=self.wired.program.started,
                called=self.wired.program.called,
                declared=self.wired.program.bound.declared,
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
        """Return statements that many policies share, made once: each is a request to the CDK's process."""
        # Otherwise every function would pay about 0.5 ms for each of them.
        if what not in self._shared_statements:
            self._shared_statements[what] = (*make(),)
        return self._shared_statements[what]

    def _timer_statements(self) -> Statements:
        """Return permission to send delayed events."""
        return self._shared("timer", lambda: permissions.send_statements(self._queues))

    @property
    def _queues(self) -> list[sqs.IQueue]:
        """Timer queue as a list; empty without a timer."""
        return [self.timer.queue] if self.timer else []

    def _layers_of(self, host: Host) -> WorkflowLayers:
        return self.distant_layers.get(host.stack, self.layers)

    def _invoked(self, key: str) -> tuple[str, ...]:
        """Return functions that `key` invokes, itself included after a Wait or retry, and for parts of a large Map."""
        own = [key] if self._uses_timer(key) or key in self._splitting else []
        return tuple(dict.fromkeys((*self.wiring.edges[key], *own, *self._answered(key))))

    def _answered(self, key: str) -> tuple[str, ...]:
        """Return the functions that `key` invokes with responses for Tasks with a task token."""
        answered = response_resources.answered_functions(self.workflow)
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

    @property
    def _own_aliases(self) -> dict[str, str]:
        """ARNs of run and describe alias as text: by reference they would depend on these policies, in a circle."""
        from unum_compiler.services.task_permissions import DESCRIBE, RUN  # noqa: PLC0415 - as `_call_statements`

        name = self.workflow.name
        anywhere = f"arn:{Aws.PARTITION}:lambda:{Aws.REGION}:{Aws.ACCOUNT_ID}:function:*"
        run = f"{arn_of(self.hosts[self.wiring.start].function)}:{run_alias(name)}"
        return {RUN: run, DESCRIBE: f"{anywhere}:{describe_alias(name)}"}
