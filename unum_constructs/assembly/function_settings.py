"""Environment and permissions of each function, derived from the complete workflow."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aws_cdk import Annotations, Token
from aws_cdk import aws_iam as iam
from constructs import Construct

from unum_compiler.analysis.edges import (
    ENTRY,
    Operation,
    delayed_edges,
    shares_with_all,
)
from unum_compiler.analysis.event_bounds import limiting_maps, most_queued
from unum_compiler.lambda_settings import DEFAULT_TIMEOUT_S
from unum_compiler.parsing.task_resources import SERVICES
from unum_compiler.services.started_workflows import is_only_started, started_machine
from unum_constructs.assembly import cross_stack
from unum_constructs.assembly.checked_options import WorkflowOptions
from unum_constructs.assembly.common_permissions import AnyPolicy, Common, CommonPolicies, attach_common, policy_id
from unum_constructs.assembly.function_permissions import FunctionPermissions
from unum_constructs.assembly.shared_resources import SharedResources
from unum_constructs.assembly.wired_program import WiredProgram
from unum_constructs.cdk.lookup import arn_of, properties_of, queue_url_of, role_of, session_of, stack_of
from unum_constructs.cdk.nag import acknowledge_policies, acknowledge_when_resolved
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.environment import TOKEN
from unum_constructs.hosting.host import Caller, FailureDestination, Failures, Host
from unum_constructs.resources import permissions
from unum_constructs.resources.control_function import ControlAliases, ControlFunction
from unum_constructs.resources.failure_handling import FailureHandler
from unum_constructs.resources.plane_members import WorkflowControl, WorkflowIntake
from unum_runtime.features.memo.memo_keys import memo_partition_prefix
from unum_runtime.functions.configuration import ENTRY as IN_ENTRY
from unum_runtime.functions.configuration import INLINE, SERVICE_CALLS, STORE
from unum_runtime.model.envelope import START
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.log_level import LogLevel
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.naming import definition_partition_prefix, describe_alias, partition_prefixes, start_alias
from unum_runtime.model.states import ACTIVITY as ACTIVITY_TASK
from unum_runtime.model.states import SIGNAL, Language, Task
from unum_runtime.protocol.control.deletions.removal import ACTIVITY, FUNCTION, SCHEDULES, TIMER

# Warning about fan-outs whose branches would wait for longer than Lambda keeps an event.

CONTEXT = "unum:accountConcurrency"
"""Context value with the concurrent executions of the account in the stack's region."""

ACCOUNT = 1_000
"""Concurrent executions of an account without a raised limit. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

KEPT_S = 21_600
"""Longest time that Lambda keeps an event. Source: AWS Lambda API Reference, PutFunctionEventInvokeConfig."""


def warn_of_long_queues(construct: Construct, workflow: Workflow, hosts: Mapping[str, Host]) -> None:
    """Warn of Tasks inside Maps whose events may outlast Lambda's queue.

    Raises:
        ConstructError: the context value is no number of concurrent executions.
    """
    account = _account_concurrency(construct)
    for task in _in_maps(workflow):
        host = hosts.get(task.function)
        if host is None:
            continue
        properties = properties_of(host.resource)
        duration_s = min(_number(properties.get("timeout"), DEFAULT_TIMEOUT_S), _time_limit_s(task))
        reserved = _number(properties.get("reservedConcurrentExecutions"), account)
        at_once, queued = min(reserved, account), most_queued(workflow, task)
        # Reserved concurrency of 0 pauses the function on purpose.
        if not at_once or queued * duration_s <= at_once * KEPT_S:
            continue
        most = max(1, at_once * KEPT_S // duration_s)
        Annotations.of(construct).add_warning_v2(
            f"unum:longQueue[{task.name}]",
            f"{task.name}: up to {queued:,} branches of {_named(workflow, task)} run {duration_s:,} s each, and "
            f"{at_once:,} run at once{_source(reserved, account)}: Lambda gives up events after {KEPT_S:,} s, and the "
            f"workflow sends them again. With a MaxConcurrency of at most {most:,} they wait in the workflow instead. "
            f"Say how many the account runs at once with the context value {CONTEXT!r}.",
        )


def _in_maps(workflow: Workflow) -> Iterable[Task]:
    return (task for task in workflow.tasks if limiting_maps(workflow, task))


def _account_concurrency(construct: Construct) -> int:
    """Return the context value, which ``--context`` gives as text."""
    given: Any = construct.node.try_get_context(CONTEXT)
    if given is None:
        return ACCOUNT
    text = str(given)
    if isinstance(given, bool) or not text.isascii() or not text.isdecimal() or not int(text):
        raise ConstructError(
            construct, f"context value {CONTEXT!r}: expected a number of concurrent executions, got {given!r}"
        )
    return int(text)


def _time_limit_s(task: Task) -> int:
    """Return the Task's own time limit, if constant; else Lambda's."""
    limit = task.data.get("TimeoutSeconds")
    return limit if isinstance(limit, int) else KEPT_S


def _number(value: Any, otherwise: int) -> int:
    """Return property `value`; `otherwise` for unset or unresolved properties."""
    return otherwise if value is None or Token.is_unresolved(value) else int(value)


def _named(workflow: Workflow, task: Task) -> str:
    return " in ".join(repr(each) for each in limiting_maps(workflow, task))


def _source(reserved: int, account: int) -> str:
    return ", as reserved" if reserved < account else " in the account"


@dataclass(frozen=True, kw_only=True)
class Assembly(FunctionPermissions):
    """All parts of one workflow."""

    @classmethod
    def of(
        cls, workflow: Construct, options: WorkflowOptions, wired: WiredProgram, shared: SharedResources
    ) -> "Assembly":
        """Return the parts of `workflow`; functions of other stacks get layers there."""
        program = wired.program
        return cls(
            wired=wired,
            layers=shared.layers,
            distant_layers=cross_stack.distant_layers_of(workflow, shared.layers, program.hosts.values()),
            state=shared.state,
            runtime=options.runtime,
            timer=shared.timer,
            activities=shared.activities,
        )

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

    def allow_handler(
        self, handler: FailureHandler | WorkflowIntake, control: ControlFunction | WorkflowControl
    ) -> None:
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
        own = [session_of(each.function) for each in (handler, control)]
        senders = {"workflow": self.workflow.name, "trusted": [*own, *(self.timer.role_ids if self.timer else ())]}
        # Names of these functions would be circular there: without them, their dead letters are planned again.
        control.trust({**senders, "trusted": [each for each in senders["trusted"] if not each.startswith(":")]})
        if self.timer:
            known = self.wired.known
            edges = [(known[key], [known[each] for each in to]) for key, to in delayed_edges(self.workflow).items()]
            self.timer.admit(senders, edges, handler.version_arn, self.runtime.metrics)
            role = role_of(self.timer.forwarder)
            # Keys of one function are one function.
            for host, key in {each: key for key, each in self.hosts.items()}.items():
                host.add_caller(Caller(self.timer.policy, role, arn_of(known[key].function)))

    @property
    def has_one_role(self) -> bool:
        """Return True if all functions have the role of the function in which executions start."""
        return all(map(self._has_start_role, self.hosts))

    @cached_property
    def first_handlers(self) -> list[permissions.Intake]:
        """Failure handlers of the functions' first workflows, imported from other stacks; after `connect_all`."""
        found = dict.fromkeys(host.failures.handler for host in self.hosts.values() if host.failures)
        return [cross_stack.handler_known_to(self.layers.scope, each) for each in found]

    def acknowledge(self, workflow: Construct, handler: FailureDestination, control: ControlAliases) -> None:
        """Record cdk-nag reasons for the wildcards in the workflow's policies."""
        functions = [known.function for known in dict.fromkeys(self.wired.known.values())]
        others = [each.function for each in self.first_handlers]
        arns = [arn_of(function) for function in (*functions, handler.function, control.function, *others)]
        called = [
            arn for statement in (*self._call_statements(), *self._object_statements()) for arn in statement.resources
        ]
        if self.timer and self.timer.schedules:
            called.append(self.timer.schedules.arns)
        if self.state.storage.in_bucket:
            called += self._state_objects
        acknowledge_policies(workflow, arns, called)
        if self.distant_layers:
            # References to other stacks change their form at the end of synthesis, and cdk-nag reads the final one.
            acknowledge_when_resolved(workflow, arns, called)

    @property
    def _state_objects(self) -> list[str]:
        """ARNs of the objects with the state, by the front of their names."""
        storage, shared = self.state.storage, memo_partition_prefix("")
        partitions = [*partition_prefixes(self.workflow.name), definition_partition_prefix(self.workflow.name), shared]
        found = [
            *storage.item_statements([Operation.CREATE], partitions),
            *storage.entry_statements(self.workflow.name),
            *storage.deletion_statements(self.workflow.name),
        ]
        return [arn for each in found for arn in each.resources]

    def report_slow_functions(self) -> None:
        """Report functions without bytecode for their Python, and fan-outs that wait for concurrency for hours.

        All functions have their layers by now.
        """
        warn_of_long_queues(self.layers.scope, self.workflow, self.hosts)
        for layers in (self.layers, *self.distant_layers.values()):
            layers.report_slow_starts()

    def connect_all(self, workflow: Construct, failures: Failures, control: ControlAliases) -> list[AnyPolicy]:
        """Connect all functions to the workflow: permissions, failure handling, environment, layer.

        Returns:
            The policies, in `workflow`.
        """
        common = {
            key: Common(
                self.hosts[key],
                role_of(self.wired.known[key].function),
                self._failure_statements(key, failures),
                self._common(key),
            )
            for key in self.wiring.edges
        }
        policies = attach_common(workflow, common)
        scope, attached = Construct(workflow, "Permissions"), []
        for key, each in common.items():
            service = self._service_of(key, control)
            own = self._attach(scope, key, service, failures, each, policies)
            self._connect(key, service, failures, after=own[0])
            attached += own
        return [*dict.fromkeys(attached)]

    def _attach(
        self,
        scope: Construct,
        key: str,
        service: Mapping[str, Any],
        failures: Failures,
        common: Common,
        policies: CommonPolicies,
    ) -> list[AnyPolicy]:
        """Attach the function's own policy, in `scope`, with what is in none of `policies`; return its policies."""
        handlers = [failures.handler] if common.failures and key not in policies.shared else []
        other = policies.of(key)
        statements = [
            *self._own_statements(key, service, failures, handlers=handlers),
            *(() if other else common.state_statements),
        ]
        if not statements and other:
            return [other]
        # A policy of its own, not the role's default one: functions depend on that, so edges would be circular.
        own = policy_id(scope, key, [self.hosts[key]])
        policy = permissions.attach(
            scope, own.construct_id, self.wired.known[key].function, statements, policy_name=own.policy_name
        )
        self._deny_starts(key, policy)
        if other is None:
            return [policy]
        # A deployment that moves permissions to the other policy takes them from this one afterwards.
        policy.node.add_dependency(other)
        return [policy, other]

    def _connect(self, key: str, service: Mapping[str, Any], failures: Failures, *, after: AnyPolicy) -> None:
        """Connect the function `key` to the workflow, with the permissions `after`."""
        # A version has one on-failure destination: the first workflow's handler, which forwards to the others.
        host, known = self.hosts[key], self.wired.known[key]
        claimed = host.claim_failures(failures)
        if claimed is failures:
            known.send_failures(failures, after=after)
        else:
            cross_stack.deploy_after_claim(self.layers.scope, host, claimed)
            claimed.handler.forward_failures(self.workflow.name, failures.handler)
        # Lambda counts invocations in a chain, so loops, responses and nested executions look like recursion.
        is_recursive = key in self.wiring.kept or key in self._recursive
        if is_recursive or self._answered(key) or self._restarts(key):
            host.allow_recursion()
        if key == self.wiring.start:
            host.add_starts(self.workflow.name)
        host.serve(self.workflow.name, self._layers_of(host), service, brings_file="definition" not in service)

    def _names_for_other_stacks(self, service: Mapping[str, Any]) -> dict[str, str]:
        """Return the fields of `service` that functions of other stacks need as names instead of references."""
        named = {"table": cross_stack.store_address(self.layers.scope, self.state.storage)}
        if self.state.payload_bucket:
            named["payload_bucket"] = cross_stack.bucket_name(self.layers.scope, self.state.payload_bucket)
        if self.timer and "timer" in service:
            named["timer"] = cross_stack.queue_url(self.timer.queue_name)
        return named

    def _deny_starts(self, key: str, policy: iam.Policy) -> None:
        """Deny the function `key` the aliases for starts, unless its Tasks start executions of workflows."""
        if key == SERVICES and any(started_machine(task) for task in self.workflow.tasks):
            return  # a function without user code
        for each in self._invoked(key):
            arn = arn_of(self.wired.known[each].function)
            self.hosts[each].add_caller(Caller(policy, role_of(self.hosts[key].function), arn))

    def _restarts(self, key: str) -> bool:
        """Return True if executions start other executions of this workflow in the function `key`."""
        return key == self.wiring.start and START in self.wiring.carried

    @property
    def _shared_values(self) -> dict[str, str]:
        """Values for placeholders in the IR, except start aliases, which could close a circle of references."""
        left = {text for text in self.wired.program.started if is_only_started(self.workflow, text)}
        return {name: value for name, value in self.wired.program.bound.values.items() if f"${{{name}}}" not in left}

    def _service_of(self, key: str, control: ControlAliases) -> Mapping[str, Any]:
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
