"""Checks of a workflow's options, before any resource is made."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from aws_cdk import Duration, Names, Token
from constructs import Construct

from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing.task_resources import SERVICES
from unum_compiler.payload import Payload
from unum_constructs.assembly.attributes import with_attributes
from unum_constructs.cdk.argument_checks import check_mappings, check_types, whole_seconds
from unum_constructs.errors import ConstructError
from unum_constructs.function import UnumFunction
from unum_constructs.hosting.host import DeliveryLimits
from unum_constructs.resources.upgrades import NOTHING, Keep, OnRemoved
from unum_runtime.json_text import parse_json, to_readable
from unum_runtime.model.envelope import EVENT_LIFE_S
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.log_level import LogLevel
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.naming import MAX_NAME, NAME_RULE, is_name
from unum_runtime.model.states import Guard, Parallel
from unum_runtime.protocol.fanout.packing import packed_tasks
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S

if TYPE_CHECKING:
    from aws_cdk.aws_events import IEventBus

EVENT_AGE_S = range(60, 6 * 3600 + 1)
"""Source: AWS Lambda API Reference, PutFunctionEventInvokeConfig, MaximumEventAgeInSeconds."""

ATTEMPTS = range(3)
"""Source: AWS Lambda API Reference, PutFunctionEventInvokeConfig, MaximumRetryAttempts."""

TIMEOUT_S = range(1, 99_999_999 + 1)
"""Source: AWS Step Functions Developer Guide, "State machine structure", TimeoutSeconds."""

_Choice = TypeVar("_Choice", bound=StrEnum)


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
    def checked(  # noqa: PLR0913 - one keyword for each option
        cls,
        workflow: Construct,
        *,
        collection: Collection,
        guard: Guard | None,
        log_level: LogLevel,
        metrics: Metrics,
        fusion: bool | None,
        events: "IEventBus | None",
    ) -> "RuntimeOptions":
        """Check the options; enumerations also accept their text, and `events` is checked with the sweep.

        Raises:
            ConstructError: a value is none of the choices; or fusion is combined with eager collection, which deletes
                an outcome as soon as its successor event is sent, and fusion sends none.
        """
        collection = _checked_choice(workflow, "collection", collection, Collection)
        return cls(
            collection=collection,
            guard=None if guard is None else _checked_choice(workflow, "guard", guard, Guard),
            log_level=_checked_choice(workflow, "log_level", log_level, LogLevel),
            metrics=_checked_choice(workflow, "metrics", metrics, Metrics),
            fusion=_checked_fusion(workflow, collection, fusion=fusion),
            events=events,
        )


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


@dataclass(frozen=True, slots=True)
class ExecutionBounds:
    """Options that bound one execution, as given.

    Attributes:
        timeout: longest duration.
        hop_budget: most steps in sequence.
        width_budget: most branches of one fan-out; None for the runtime's default.
        invocation_budget: most invocations, as estimated; None for the runtime's default.
        payload: storage of large values.
        payload_limit: largest output of a state, in bytes of JSON.
        small_results: True if branches are expected to have small results.
        attributes: places of attributes in the input, by name; None without any.
    """

    timeout: Duration | None
    hop_budget: int
    width_budget: int | None
    invocation_budget: int | None
    payload: str
    payload_limit: int | None
    small_results: bool
    attributes: Mapping[str, str] | None = None

    def apply(self, workflow: Construct, compiled: Workflow, collection: Collection) -> Workflow:
        """Return `compiled` with these bounds.

        Raises:
            ConstructError: a budget or `payload_limit` is below 1 or above what is stored; a Parallel has more branches
                than `width_budget`; no branch can pack small results; attributes are invalid; or `timeout` is outside
                the range of Step Functions, or is defined twice.
        """
        return replace(
            with_attributes(workflow, compiled, self.attributes),
            collection=collection,
            hop_budget=self._checked_hop_budget(workflow, compiled),
            width_budget=self._checked_width_budget(workflow, compiled),
            invocation_budget=_checked_budget(workflow, "invocation_budget", self.invocation_budget, "invocation"),
            small_results=self._checked_small_results(workflow, compiled),
            payload_limit=self._checked_payload_limit(workflow, compiled),
            timeout_s=self._checked_timeout_s(workflow, compiled.timeout_s),
        )

    def _checked_hop_budget(self, workflow: Construct, compiled: Workflow) -> int:
        _checked_budget(workflow, "hop_budget", self.hop_budget, "step")
        return min(self.hop_budget, compiled.hop_budget) if compiled.strict else self.hop_budget

    def _checked_width_budget(self, workflow: Construct, compiled: Workflow) -> int | None:
        most = _checked_budget(workflow, "width_budget", self.width_budget, "branch")
        for state in compiled.states.values():
            if most is not None and isinstance(state, Parallel) and len(state.branches) > most:
                expected = f"expected at least the {len(state.branches)} branches of {state.name!r}"
                raise ConstructError(workflow, f"width_budget: {expected}, got {most}")
        return most

    def _checked_payload_limit(self, workflow: Construct, compiled: Workflow) -> int | None:
        most = compiled.payload_limit if compiled.strict else None
        limit = most if self.payload_limit is None else self.payload_limit
        if limit is not None and (type(limit) is not int or limit < 1):
            raise ConstructError(workflow, f"payload_limit: expected at least 1 byte, got {limit!r}")
        if most is not None and limit is not None and limit > most:
            expected = f'payload_limit: compatibility="strict" allows at most {most} bytes'
            raise ConstructError(workflow, f"{expected}; got {limit}")
        if self.payload == Payload.INLINE and limit is not None and limit > MAX_OUTCOME_BYTES:
            expected = f'expected 1 to {MAX_OUTCOME_BYTES} bytes, the most that payload="inline" stores'
            raise ConstructError(workflow, f"payload_limit: {expected}; got {limit}")
        return limit

    def _checked_small_results(self, workflow: Construct, compiled: Workflow) -> bool | None:
        """Return True or None; the IR omits False."""
        if self.small_results and not packed_tasks(replace(compiled, small_results=True)):
            raise ConstructError(
                workflow,
                "small_results: expected a Map or Parallel without a quorum, with a branch that always ends with a "
                "Task that gives out no task token and joins nothing; found none, so leave the option out",
            )
        return self.small_results or None

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
        return _within(workflow, "timeout", seconds, TIMEOUT_S, " s")


def _checked_budget(workflow: Construct, option: str, value: int | None, unit: str) -> int | None:
    """Return `value`, None for the runtime's default.

    Raises:
        ConstructError: it is below 1, or no whole number.
    """
    # `type`, not `isinstance`: True is an int in Python.
    if value is not None and (type(value) is not int or value < 1):
        raise ConstructError(workflow, f"{option}: expected at least 1 {unit}, got {value!r}")
    return value


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
    return replace(definition, compatibility=_checked_choice(workflow, "compatibility", compatibility, Compatibility))


def checked_on_removed(workflow: Construct, on_removed: str | None) -> OnRemoved | None:
    """Return the decision about deployments that remove what executions need; None for the default.

    Raises:
        ConstructError: there is no such decision.
    """
    return None if on_removed is None else _checked_choice(workflow, "on_removed", on_removed, OnRemoved)


def checked_keep(workflow: Construct, keep: Keep | None) -> Keep:
    """Return the kept parts.

    Raises:
        ConstructError: a value has another type, or no activity can have a name.
    """
    check_types(workflow, Keep, {"keep": keep})
    if keep is None:
        return NOTHING
    check_mappings(workflow, {"keep.functions": keep.functions})
    check_types(workflow, bool, {"keep.timer": keep.timer, "keep.schedules": keep.schedules})
    for name in (keep.activities,) if isinstance(keep.activities, str) else keep.activities:
        if isinstance(keep.activities, str) or not is_name(name):
            raise ConstructError(workflow, f"keep.activities: expected a list of names, each {NAME_RULE}, got {name!r}")
    return keep


def checked_retention_s(workflow: Construct, retention: Duration | None) -> int:
    """Return `retention` in seconds.

    Raises:
        ConstructError: an event could outlive the state that it refers to.
    """
    return DEFAULT_RETENTION_S if retention is None else _outliving_events_s(workflow, "retention", retention)


def checked_history_retention_s(workflow: Construct, history_retention: Duration | None, retention_s: int) -> int:
    """Return `history_retention` in seconds. Default: `retention_s`, the lifetime of results.

    Raises:
        ConstructError: an event could outlive the state that it refers to, or the history would outlive the result.
    """
    if history_retention is None:
        return retention_s
    seconds = _outliving_events_s(workflow, "history_retention", history_retention)
    if seconds > retention_s:
        raise ConstructError(
            workflow, f"history_retention: expected at most `retention`, {retention_s} s, got {seconds} s"
        )
    return seconds


def checked_limits(workflow: Construct, max_event_age: Duration | None, retry_attempts: int | None) -> DeliveryLimits:
    """Return the limits of Lambda's retries.

    Raises:
        ConstructError: Lambda does not allow a value.
    """
    seconds = None if max_event_age is None else whole_seconds(workflow, "max_event_age", max_event_age)
    age_s = _within(workflow, "max_event_age", seconds, EVENT_AGE_S, " s")
    return DeliveryLimits(age_s, _within(workflow, "retry_attempts", retry_attempts, ATTEMPTS))


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


def _checked_choice(workflow: Construct, option: str, value: str, choices: type[_Choice]) -> _Choice:
    """Return `value` as a member of `choices`.

    Raises:
        ConstructError: it is none.
    """
    try:
        return choices(value)
    except ValueError as error:
        raise ConstructError(
            workflow, f"{option}: expected one of {[str(each) for each in choices]}, got {value!r}"
        ) from error


def _checked_fusion(workflow: Construct, collection: Collection, *, fusion: bool | None) -> bool:
    """Return True if functions continue with their own Tasks without an invocation.

    Raises:
        ConstructError: `fusion` contradicts `collection`.
    """
    if fusion and collection is Collection.EAGER:
        raise ConstructError(
            workflow,
            "fusion: expected None or False with collection=Collection.EAGER, got True: eager collection "
            "needs a successor event, and fusion sends none; remove one of both",
        )
    return collection is Collection.TTL if fusion is None else fusion


def _outliving_events_s(workflow: Construct, option: str, given: Duration) -> int:
    seconds = whole_seconds(workflow, option, given)
    if seconds <= EVENT_LIFE_S:
        reason = "the longest life of an event; state must outlive every event that refers to it"
        raise ConstructError(workflow, f"{option}: expected more than {EVENT_LIFE_S} s, {reason}; got {seconds} s")
    return seconds


def _within(workflow: Construct, option: str, value: int | None, allowed: range, unit: str = "") -> int | None:
    if value is not None and (type(value) is not int or value not in allowed):
        raise ConstructError(workflow, f"{option}: expected {allowed[0]} to {allowed[-1]}{unit}, got {value!r}{unit}")
    return value
