"""Checks of a workflow's options, before any resource is made."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from aws_cdk import Duration, Names, Token
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing.task_resources import SERVICES
from unum_constructs.assembly.handler_keys import functions_by_key
from unum_constructs.cdk.argument_checks import (
    check_mappings,
    check_types,
    checked_choice,
    checked_range,
    whole_seconds,
)
from unum_constructs.control_plane import UnumControlPlane
from unum_constructs.errors import ConstructError
from unum_constructs.function import UnumFunction
from unum_constructs.hosting.host import DeliveryLimits
from unum_constructs.options.former_keywords import Groups
from unum_constructs.options.stack_outputs import Outputs
from unum_constructs.options.state_machine_words import translate
from unum_constructs.resources.own_functions import Provision
from unum_constructs.resources.upgrades import Keep, OnRemoved
from unum_constructs.store import Store, checked_store
from unum_constructs.sweep import Sweep
from unum_runtime.json_text import parse_json, to_readable
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.log_level import LogLevel
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.naming import MAX_NAME, NAME_RULE, is_name
from unum_runtime.model.states import Guard

if TYPE_CHECKING:
    from aws_cdk.aws_events import IEventBus

TIMEOUT_S = range(1, 99_999_999 + 1)
"""Source: AWS Step Functions Developer Guide, "State machine structure", TimeoutSeconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeOptions:
    """Checked options of the runtime in all functions.

    Attributes:
        collection: deletion of outcomes.
        guard: guard of functions without their own; None for the runtime's default.
        log_level: lowest level of log lines.
        metrics: metrics in the logs.
        fusion: True if functions continue with their own Tasks without an invocation.
        events: bus for status events; None for no events.
    """

    collection: Collection
    guard: Guard | None
    log_level: LogLevel
    metrics: Metrics
    fusion: bool
    events: "IEventBus | None" = None

    @classmethod
    def checked(cls, workflow: Construct, groups: Groups, guard: Guard | None) -> "RuntimeOptions":
        """Check the options; enumerations also accept their text, and `events` is checked with the sweep.

        Raises:
            ConstructError: a value is none of the choices; or fusion is combined with eager collection.
        """
        collection, monitoring = groups.execution_data.checked_collection(workflow), groups.monitoring
        return cls(
            collection=collection,
            guard=None if guard is None else checked_choice(workflow, "guard", guard, Guard),
            log_level=checked_choice(workflow, "monitoring.log_level", monitoring.log_level, LogLevel),
            metrics=checked_choice(workflow, "monitoring.metrics", monitoring.metrics, Metrics),
            fusion=groups.delivery.fuses(workflow, collection),
            events=monitoring.events,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowOptions:
    """Checked options of a workflow.

    Attributes:
        groups: options in groups, as given.
        name: name of the workflow.
        definition: states of the workflow, with the mode of compatibility.
        functions: functions by key, besides those of `definition`.
        function_options: options of functions by key, as given.
        exported: True if other stacks import the workflow by name.
        outputs: outputs of the stack.
        store: storage of execution state.
        timeout: longest duration of an execution; None for no limit, or that of `definition`.
        sweep: search for stalled executions, as given.
        encryption_key: customer managed key; None for keys of AWS.
        runtime: options of the runtime in all functions.
        provision: arguments of functions that the workflow makes.
        limits: limits of Lambda's retries.
        control_plane: control plane that other workflows share; None for one of the workflow's own.
        decision: decision about deployments that remove what executions need; None for the default.
        kept: parts for executions of earlier definitions.
    """

    groups: Groups
    name: str
    definition: Definition
    functions: Mapping[str, lambda_.IFunction]
    function_options: Mapping[str, FunctionOptions]
    exported: bool
    outputs: Outputs
    store: Store
    timeout: Duration | None
    sweep: Sweep | None
    encryption_key: kms.IKey | None
    runtime: RuntimeOptions
    provision: Provision
    limits: DeliveryLimits
    control_plane: UnumControlPlane | None
    decision: OnRemoved | None
    kept: Keep

    @classmethod
    def checked(  # noqa: PLR0913 - one keyword for each option
        cls,
        workflow: Construct,
        groups: Groups,
        *,
        definition: object,
        definition_body: object,
        definition_substitutions: Mapping[str, str] | None,
        functions: Mapping[str, lambda_.IFunction | lambda_.FunctionBase] | UnumFunction | None,
        function_options: Mapping[str, FunctionOptions] | None,
        workflow_name: str | None,
        exported: bool,
        outputs: str,
        store: Store | None,
        guard: Guard | None,
        timeout: Duration | None,
        compatibility: str,
        sweep: Sweep | None,
        encryption_key: kms.IKey | None,
        control_plane: UnumControlPlane | None,
    ) -> "WorkflowOptions":
        """Check the options that need no compiled definition, in arguments of `UnumWorkflow`.

        Raises:
            ConstructError: names the option.
            DefinitionError: the definition cannot be read.
        """
        words = translate(
            workflow,
            groups.of_state_machine,
            workflow_name=workflow_name,
            tracing=groups.own_functions.tracing,
            store=store,
            encryption_key=encryption_key,
        )
        runtime = RuntimeOptions.checked(workflow, groups, guard)
        functions = functions_by_key(workflow, functions)
        mappings = {"functions": functions, "function_options": function_options, "tags": groups.tags}
        check_mappings(workflow, {**mappings, "definition_substitutions": definition_substitutions})
        check_types(workflow, bool, {"exported": exported})
        check_types(workflow, Sweep, {"sweep": sweep})
        check_types(workflow, UnumControlPlane, {"control_plane": control_plane})
        if control_plane is not None:
            control_plane.check_member(workflow, sweep=sweep, encryption_key=words.encryption_key)
        groups.execution_data.check(workflow)
        made = checked_definition(workflow, definition, definition_body, definition_substitutions, words.of_chain)
        made, timeout = with_deployed_timeout(workflow, with_compatibility(workflow, made, compatibility), timeout)
        return cls(
            groups=groups,
            name=checked_name(workflow, words.workflow_name),
            definition=made,
            functions=functions,
            function_options=function_options or {},
            exported=exported,
            outputs=checked_choice(workflow, "outputs", outputs, Outputs),
            store=checked_store(workflow, words.store, exported=exported),
            timeout=timeout,
            sweep=sweep,
            encryption_key=words.encryption_key,
            runtime=replace(runtime, log_level=words.log_level or runtime.log_level),
            provision=words.provision(groups.own_functions.provision(workflow, words.encryption_key, words.tracing)),
            limits=groups.delivery.limits(workflow),
            control_plane=control_plane,
            decision=groups.upgrades.decision(workflow),
            kept=groups.upgrades.kept(workflow),
        )

    def every_function(self) -> Mapping[str, lambda_.IFunction]:
        """Return all functions by key, those of the definition included."""
        return {**self.definition.functions, **self.functions}

    def options_by_key(self, workflow: Construct) -> dict[str, FunctionOptions]:
        """Return the options of all functions by key.

        Raises:
            ConstructError: an option has an unknown key, or another type.
        """
        return options_of(workflow, self.every_function(), self.function_options, self.runtime.guard)

    def apply_to(self, workflow: Construct, compiled: Workflow) -> Workflow:
        """Return `compiled` with the options that are part of the IR.

        Raises:
            ConstructError: a limit is below 1 or above what is stored; a Parallel has more branches than allowed; no
                branch can pack small results; attributes are invalid; or `timeout` is outside the range of Step
                Functions, or is defined twice.
        """
        limits, data = self.groups.limits, self.groups.execution_data
        return replace(
            self.groups.monitoring.with_attributes(workflow, compiled),
            collection=self.runtime.collection,
            hop_budget=limits.checked_hop_budget(workflow, compiled),
            width_budget=limits.checked_width_budget(workflow, compiled),
            invocation_budget=limits.checked_invocation_budget(workflow),
            small_results=data.checked_small_results(workflow, compiled),
            payload_limit=limits.checked_payload_limit(workflow, compiled, data.payload),
            timeout_s=self._checked_timeout_s(workflow, compiled.timeout_s),
        )

    def _checked_timeout_s(self, workflow: Construct, defined_s: int | None) -> int | None:
        """Return the timeout in seconds, from option or definition."""
        if self.timeout is None:
            return defined_s
        seconds = whole_seconds(workflow, "timeout", self.timeout)
        if defined_s is not None:
            raise ConstructError(
                workflow,
                f"timeout: the definition already has TimeoutSeconds {defined_s}, got {seconds} s; remove one of them",
            )
        return checked_range(workflow, "timeout", seconds, TIMEOUT_S, " s")


def with_deployed_timeout(
    workflow: Construct, definition: Definition, timeout: Duration | None
) -> tuple[Definition, Duration | None]:
    """Return `definition` with a `timeout` that is a CDK token, and None; otherwise both as they are.

    Raises:
        ConstructError: the definition is IR, or has a time limit already.
    """
    if not isinstance(timeout, Duration) or not timeout.is_unresolved():
        return definition, timeout
    machine = parse_json(definition.text)
    if "TimeoutSeconds" in machine or "States" not in machine:
        problem = "the definition already has TimeoutSeconds" if "States" in machine else "IR cannot have a token"
        raise ConstructError(workflow, f"timeout: {problem}, got {timeout}; remove one of them, or write a number")
    machine["TimeoutSeconds"] = Token.as_string(timeout.to_seconds())
    return replace(definition, text=to_readable(machine)), None


def checked_name(workflow: Construct, name: str | None) -> str:
    """Return `name`, or a name derived from the construct's path.

    Raises:
        ConstructError: the name is a token, too long, or has characters other than ``A-Z a-z 0-9 - _``.
    """
    if name is None:
        return Names.unique_resource_name(workflow, max_length=MAX_NAME, separator="-")
    if Token.is_unresolved(name):
        raise ConstructError(
            workflow, f"workflow_name: expected text, got the token {name}; it is part of every key in the table"
        )
    if not is_name(name):
        raise ConstructError(workflow, f"workflow_name: expected {NAME_RULE}, got {name!r}")
    return name


def checked_definition(
    workflow: Construct,
    definition: object,
    body: object,
    substitutions: Mapping[str, str] | None,
    of_chain: Mapping[str, Any],
) -> Definition:
    """Return the definition in `definition` or `body`.

    Args:
        workflow: the workflow.
        definition: a `Definition`, a `DefinitionBody`, a state or a chain; None for `body`.
        body: a `DefinitionBody`; None for `definition`.
        substitutions: texts and tokens that replace names in a `DefinitionBody`.
        of_chain: arguments of `Definition.from_chainable`, for a chain.

    Raises:
        ConstructError: both or none are given, one has another type, a `Definition` has substitutions, or something
            else than a chain has `of_chain`.
        DefinitionError: the body cannot be read.
    """
    given = [
        (name, value) for name, value in (("definition", definition), ("definition_body", body)) if value is not None
    ]
    if len(given) != 1:
        found = "both" if given else "none"
        raise ConstructError(workflow, f"definition, definition_body: expected one of the two, got {found}")
    name, value = given[0]
    if isinstance(value, Definition):
        if substitutions is not None:
            remedy = "give them to Definition.from_asl or from_asl_file"
            raise ConstructError(workflow, f"definition_substitutions: expected a `DefinitionBody` with them; {remedy}")
        _refuse_of_chain(workflow, of_chain)
        return value
    from unum_compiler.frontends.chainable import is_body, is_chain  # noqa: PLC0415 - loads aws_stepfunctions, which few apps use

    if not is_body(value):
        raise ConstructError(
            workflow, f"{name}: expected one of Definition.from_..., a DefinitionBody or a chain, got {value!r}"
        )
    if of_chain and is_chain(value) and not substitutions:
        return Definition.from_chainable(value, **of_chain)
    _refuse_of_chain(workflow, {} if is_chain(value) else of_chain)
    return Definition.from_body(value, workflow, substitutions=substitutions)


def _refuse_of_chain(workflow: Construct, of_chain: Mapping[str, Any]) -> None:
    for name in of_chain:
        raise ConstructError(
            workflow,
            f"{name}: expected a chain as the definition, got another; write it into the definition's own text",
        )


def with_compatibility(workflow: Construct, definition: Definition, compatibility: str) -> Definition:
    """Return `definition` with a mode of compatibility.

    Raises:
        ConstructError: there is no such mode.
    """
    return replace(definition, compatibility=checked_choice(workflow, "compatibility", compatibility, Compatibility))


def options_of(
    workflow: Construct,
    functions: Mapping[str, object],
    given: Mapping[str, FunctionOptions],
    guard: Guard | None,
) -> dict[str, FunctionOptions]:
    """Return options by key, for `functions` and the service function.

    Options in `given` precede a function's own; `guard` applies to functions without a guard.

    Raises:
        ConstructError: `given` has an unknown key, or a value that is no `FunctionOptions`.
    """
    for key in given.keys() - functions.keys():
        raise ConstructError(workflow, f"function_options[{key!r}]: expected a key of `functions`, {sorted(functions)}")
    check_types(workflow, FunctionOptions, {f"function_options[{key!r}]": each for key, each in given.items()})
    own = {key: each.function_options for key, each in functions.items() if isinstance(each, UnumFunction)}
    # Later mappings win: default, own options, options of this workflow.
    options = dict.fromkeys((*functions, SERVICES), FunctionOptions()) | own | dict(given)
    return {key: _guarded(each, guard) for key, each in options.items()}


def _guarded(options: FunctionOptions, guard: Guard | None) -> FunctionOptions:
    # Without a checkpoint there is no stored outcome that a guard could read.
    return replace(options, guard=guard) if options.guard is None and options.checkpoint else options
