"""Control requests about executions: stop, redrive, nudge, fork, why and delete, as JSON, with JSON answers.

A request names existing things and has at most an input; no part of it becomes internal state.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import ClientError, TimeIsShort, ValidationException
from unum_runtime.model.checkpoint import Began, Failure, Success
from unum_runtime.model.envelope import MARK, WIRE_VERSION, other_version
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import NAME_RULE, Name, is_name
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork, found
from unum_runtime.protocol.control.nudge import Pending, missing, nudge
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.control.throttles import Throttle, throttles_of
from unum_runtime.protocol.control.versions import RunsOn
from unum_runtime.protocol.history.pending import Missing
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store

"""Field of a request: True if the handler of another version has forwarded it."""

SILENT = "silent_ms"
"""Field of nudge and why: time by which a commit is overdue, in milliseconds."""

THROTTLED_MS = "throttled_ms"
"""Field of a pending commit: time since which its event waits for concurrency, in milliseconds since 1970."""

IS_DONE = "is_done"
"""Field of an answer: False if the rest of the request is left to another delivery of it."""


class VersionGone(ClientError):
    """Deleted version of a running execution."""


class Control(StrEnum):
    """Kinds of control requests."""

    STOP = "stop"
    REDRIVE = "redrive"
    NUDGE = "nudge"
    FORK = "fork"
    WHY = "why"
    DELETE = "delete"


class On(StrEnum):
    """Versions that a redrive continues on."""

    ORIGINAL = "original"
    """The functions and the definition on which the execution has run so far."""

    CURRENT = "current"
    """The functions and the definition that are deployed now."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A control request.

    Attributes:
        control: its kind.
        execution: name of the execution.
        failure: error and cause of a stop.
        fork: details of a fork; None for other kinds.
        silent_ms: for nudge and why, only commits overdue by so many milliseconds; 0 for all.
        on: for redrive, the versions to continue on; None for the current ones, or else the original ones.
    """

    control: Control
    execution: str
    failure: Failure
    fork: ForkRequest | None
    silent_ms: int = 0
    on: On | None = None


def request(control: Control, execution: str, /, **content: Json) -> dict[str, Json]:
    """Return the event of a control request.

    Args:
        control: its kind.
        execution: name of the execution.
        content: for stop ``error`` and ``cause``; for fork ``node``, ``name`` and optionally ``visit`` and ``input``;
            for nudge and why optionally ``silent_ms``; for redrive optionally ``on``.
    """
    return {MARK: WIRE_VERSION, "control": control, "execution": execution, **content}


def is_request(event: Json) -> bool:
    """Return True if `event` has marks of a control request."""
    return isinstance(event, dict) and {MARK, "control"} <= event.keys()


def parse(event: Json) -> Request:
    """Return the request in `event`.

    Raises:
        ValidationException: malformed; the text names the field.
    """
    if not is_request(event):
        raise ValidationException(f'expected an object with "{MARK}", "control" and "execution"')
    check_version(event)
    execution, error, cause = event.get("execution"), event.get("error"), event.get("cause")
    if event["control"] not in list(Control):
        raise ValidationException(f"control: expected one of {[*map(str, Control)]}, got {event['control']!r}")
    if not isinstance(execution, str):
        raise ValidationException(f"execution: expected the name of an execution, got {execution!r}")
    if not isinstance(error, str | None) or not isinstance(cause, str | None):
        raise ValidationException(f"error, cause: expected texts or nothing, got {error!r} and {cause!r}")
    control = Control(event["control"])
    return Request(
        control=control,
        execution=execution,
        failure=Failure(error, cause),
        fork=_fork_request(execution, event) if control is Control.FORK else None,
        silent_ms=checked_silent_ms(event.get(SILENT, 0)),
        on=_checked_on(event.get("on")),
    )


def check_version(event: Mapping[str, Json]) -> None:
    """Raise ValidationException if `event` has another wire version."""
    fault = other_version(event)
    if fault is not None:
        raise ValidationException(fault)


def fork_runs_on(store: Store, workflow: str, asked: ForkRequest) -> RunsOn | None:
    """Return the version of the fork that an equal request has begun; None for a new fork, or a name that is taken."""
    # Copies of two versions must not mix, so the version that wrote the start record also makes the other copies.
    record = found(store, workflow, asked.name)
    return RunsOn(record.digest, record.began) if record is not None and asked.is_of(record) else None


def answer(rt: Runtime, asked: Request, began: Began | None, old: Workflow | None = None) -> Json:
    """Perform a control request and return its answer, with `IS_DONE` False if a part of it is left.

    Args:
        rt: a runtime of the execution's version; for a fork, of any version.
        asked: the request.
        began: the versions whose addresses `rt` knows; None for a stop or a deletion, which need none.
        old: for a redrive on another IR than before, the IR before; else None.

    Raises:
        ClientError: the request is impossible; the text says why.
        UnumError: unknown whether it was performed; send it again.
    """
    match asked:
        case Request(control=Control.NUDGE):
            return _shown(nudge(rt, asked.execution, silent_ms=asked.silent_ms))
        case Request(control=Control.WHY):
            waits = missing(rt, asked.execution, silent_ms=asked.silent_ms)
            return _shown(waits, throttles_of(rt, (each.name for each in waits)))
        case Request(control=Control.REDRIVE):
            return _redriven(rt, asked, began, old)
        case Request(control=Control.STOP):
            execution = start_record(rt.store, rt.workflow.name, asked.execution).name.execution
            return {"stopped_ms": stop(rt, execution, asked.failure).committed_ms}
        case Request(control=Control.DELETE):
            return _deleted(rt, asked.execution)
        case Request(fork=ForkRequest() as forked):
            return _forked(rt, forked, began)
    raise ValidationException(f"control: this version cannot {asked.control}")


def _deleted(rt: Runtime, execution: str) -> dict[str, Json]:
    from unum_runtime.protocol.control.deletions.delete import delete  # noqa: PLC0415 - deletions are rare

    try:
        done = delete(rt, execution)
    except TimeIsShort:
        return {"deleted_ms": rt.clock.now_ms(), "again_ms": None, "remains": [], IS_DONE: False}
    remains = [{"what": each.what, "until_ms": each.until_ms} for each in done.remains]
    return {"deleted_ms": done.deleted_ms, "again_ms": done.again_ms, "remains": remains}


def _redriven(rt: Runtime, asked: Request, began: Began | None, old: Workflow | None) -> dict[str, Json]:
    try:
        return {"redriven_ms": redrive(rt, asked.execution, began, old)}
    except TimeIsShort:
        return {"redriven_ms": rt.clock.now_ms(), IS_DONE: False}


def _forked(rt: Runtime, asked: ForkRequest, began: Began | None) -> dict[str, Json]:
    try:
        name, started_ms = fork(rt, asked, began)
    except TimeIsShort:  # the start record is written first
        name, started_ms = start_record(rt.store, rt.workflow.name, asked.name).name.execution
        return {"execution": name, "started_ms": started_ms, IS_DONE: False}
    return {"execution": name, "started_ms": started_ms}


def checked_silent_ms(value: Json) -> int:
    """Return `value`.

    Raises:
        ValidationException: not a whole number of milliseconds from 0 on.
    """
    # `isinstance` would accept true and false, which are integers in Python.
    if type(value) is not int or value < 0:
        raise ValidationException(f"{SILENT}: expected milliseconds, a whole number from 0 on, got {value!r}")
    return value


def _checked_on(value: Json) -> On | None:
    """Return the versions named `value`; None for none.

    Raises:
        ValidationException: unknown name.
    """
    if value is not None and value not in list(On):
        raise ValidationException(f"on: expected one of {[*map(str, On)]}, or nothing, got {value!r}")
    return None if value is None else On(value)


def _fork_request(execution: str, event: Mapping[str, Json]) -> ForkRequest:
    """Return the fork that `event` describes.

    Raises:
        ValidationException: a field is missing or has another type.
    """
    value = Success(event["input"]) if "input" in event else None
    match event.get("node"), event.get("name"), event.get("visit", 1):
        case str() as node, str() as name, int() as visit if is_name(name):
            return ForkRequest(execution=execution, name=name, node=node, visit=visit, value=value)
    raise ValidationException(
        f'expected "node", the name of a state; "name", that of the new execution, {NAME_RULE}; '
        f'and "visit", a number from 1 on; got {sorted(event)}'
    )


def _shown(waits: Pending, throttles: Mapping[Name, Throttle] = MappingProxyType({})) -> dict[str, Json]:
    shown = {"count": waits.total, "missing": [_line(each, throttles.get(each.name)) for each in waits]}
    return shown if waits.is_done else {**shown, IS_DONE: False}


def _line(each: Missing, throttle: Throttle | None) -> Json:
    line = {
        "invocation": str(each.name),
        "state": each.state,
        "index": [frame.index for frame in each.name.frames],
        "waits_for": each.waits_for,
        "since_ms": each.since_ms,
    }
    signal = each.signal and each.signal.to_json()
    throttled_ms = throttle and throttle.since_ms
    more = {"until_ms": each.until_ms, "job": each.job, "signal": signal, THROTTLED_MS: throttled_ms}
    return line | {name: value for name, value in more.items() if value is not None}
