"""Signals: requests that end a Task which waits for one, or are kept for a later Task.

A request names an execution, a signal, perhaps a key, and has a value and an id of its own; no other part of it becomes
state. See `unum_runtime.features.signals.signal_wait` for the meeting of waits and signals.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from unum_runtime.asl.serialize import NotSerializable, dumps
from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import DefinitionNotStored, RouteGone, SignalRefused
from unum_runtime.features.signals.mailbox import (
    KEY_RULE,
    Mailbox,
    is_key,
    is_signal_name,
    signal_of,
)
from unum_runtime.features.signals.signal_slots import Signal, enter_mailbox, event_of, store_signal, wait_to_continue
from unum_runtime.json_text import is_utf8
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import NAME_RULE, Execution
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.control_aliases import SIGNAL
from unum_runtime.protocol.control.operator_requests import ValidationException, check_version
from unum_runtime.protocol.control.operator_requests import is_request as is_control_request
from unum_runtime.protocol.control.versions import runs_on
from unum_runtime.protocol.history.start_records import end_of, start_record
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES, WITHOUT_BUCKET
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import SLOT, nudge

MAX_ID = 128
"""Longest id, in characters."""

_FIELDS = frozenset((MARK, "control", "execution", "signal", "value", "id"))


class Delivered(NamedTuple):
    """What became of a signal.

    Attributes:
        is_new: False for a repetition.
        is_awaited: a Task waits for it; otherwise it is kept.
    """

    is_new: bool
    is_awaited: bool


def request(execution: str, name: str, value: Json, *, id: str, key: str | None = None) -> dict[str, Json]:  # noqa: A002
    """Return the event of a request."""
    event = {MARK: WIRE_VERSION, "control": SIGNAL, "execution": execution, "signal": name, "value": value, "id": id}
    return event if key is None else {**event, "key": key}


def is_request(event: Json) -> bool:
    """Return True if `event` claims to be a signal."""
    return is_control_request(event) and event["control"] == SIGNAL


def answer(rt: Runtime, event: Mapping[str, Json]) -> Json:
    """Send the signal in `event`.

    Returns:
        ``is_new`` and ``is_awaited``, see `Delivered`.

    Raises:
        ValidationException: malformed; the text names the field.
        ExecutionDoesNotExist: no execution has that name.
        SignalRefused: the execution has ended, no Task waits for such a signal, or too many are kept.
        UnumError: the signal may be stored or not; repeat the request.
    """
    check_version(event)
    check_fields(event, _FIELDS, {"key"})
    signal = parse(rt, event)
    execution = event["execution"]
    if not isinstance(execution, str):
        raise ValidationException(f"execution: expected the name of an execution, got {execution!r}")
    return send(rt, execution, signal)._asdict()


def check_fields(
    event: Mapping[str, Json], required: AbstractSet[str], optional: AbstractSet[str] = frozenset()
) -> None:
    """Raise ValidationException if a field of `event` is missing or unknown."""
    fields = sorted(required | optional)
    if unknown := event.keys() - fields:
        raise ValidationException(f"expected the fields {fields}, got {sorted(unknown)}, too")
    if missing := required - event.keys():
        raise ValidationException(f"expected the fields {fields}, got none of {sorted(missing)}")


def parse(rt: Runtime, event: Mapping[str, Json]) -> Signal:
    """Return the signal in `event`, whoever sent it.

    Raises:
        ValidationException: a field is of another kind.
    """
    name, key, identity = event["signal"], event.get("key"), event["id"]
    if not is_signal_name(name):
        raise ValidationException(f"signal: expected {NAME_RULE}, got {name!r:.100}")
    if key is not None and not is_key(key):
        raise ValidationException(f"key: expected {KEY_RULE}, or nothing, got {key!r:.100}")
    if not (isinstance(identity, str) and 0 < len(identity) <= MAX_ID and is_utf8(identity)):
        raise ValidationException(f"id: expected a text of 1 to {MAX_ID} characters, got {identity!r:.100}")
    return Signal(name, _text(rt, event["value"]), identity, key or "")


def send(rt: Runtime, execution_name: str, signal: Signal) -> Delivered:
    """Store `signal` in the first slot without a result, and continue the Task that waits there.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
        SignalRefused: the execution has ended, no Task waits for such a signal, or too many are kept.
        UnumError: the signal may be stored or not; send it again with the same id.
    """
    execution = start_record(rt.store, rt.workflow.name, execution_name).name.execution
    _check_is_awaited(rt, execution, signal.name)
    mailbox = Mailbox(execution, signal.name, signal.key)
    enter_mailbox(rt, mailbox)
    found, is_new = store_signal(rt, mailbox, signal)
    wait = wait_to_continue(rt, found, is_new=is_new)
    if wait is None:
        return Delivered(is_new, is_awaited=False)
    continue_wait(rt, wait, found.digest)
    return Delivered(is_new, is_awaited=True)


def _check_is_awaited(rt: Runtime, execution: Execution, name: str) -> None:
    """Raise SignalRefused unless a wait for signal `name` may follow in `execution`."""
    if (end := end_of(rt.store, rt.workflow.name, execution)) is not None:
        raise SignalRefused(f"execution {execution.name!r} has ended ({end[0]}), so nothing waits for {name!r}")
    if name in signal_names(rt.workflow):
        return
    digest = runs_on(rt.store, rt.workflow.name, execution.name).digest
    if digest not in (None, rt.workflow.digest):
        try:
            known = read_definition(rt.store, rt.workflow.name, digest)
        except DefinitionNotStored:
            return
        if name in signal_names(known):
            return
    waits = ", ".join(sorted(signal_names(rt.workflow))) or "none"
    raise SignalRefused(f"signal: no Task of workflow {rt.workflow.name!r} waits for {name!r}; signals of it: {waits}")


def continue_wait(rt: Runtime, wait: Item, slot: str) -> None:
    """Send the waiting Task's event, or let the intake send it if this role may not."""
    event, address = event_of(wait)
    event = replace(event, job={SLOT: slot})
    try:
        nudge(rt, event, address)
    except RouteGone as denied:
        from unum_runtime.protocol.delivery.hand_over import hand_over_event  # noqa: PLC0415 - after a deployment only

        hand_over_event(rt, event, address, denied)


def signal_names(workflow: Workflow) -> set[str]:
    """Return the names of the signals that Tasks of `workflow` wait for."""
    return {name for task in workflow.tasks if (name := signal_of(task.resource)) is not None}


def _text(rt: Runtime, value: Json) -> str:
    """Return `value` as JSON text.

    Raises:
        ValidationException: it is too large, or no JSON.
    """
    try:
        text = dumps(value)
    except NotSerializable as error:
        raise ValidationException(f"value: {error.cause}") from error
    size = len(text.encode())
    if rt.large is None and size > MAX_OUTCOME_BYTES:
        raise ValidationException(f"value: expected at most {MAX_OUTCOME_BYTES} bytes, got {size}{WITHOUT_BUCKET}")
    return text
