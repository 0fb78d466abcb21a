"""Requests to pause a workflow and to resume it: a switch for new starts. Executions that exist go on."""

from collections.abc import Mapping

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.operator_requests import ValidationException, check_version
from unum_runtime.protocol.control.operator_requests import is_request as is_control_request
from unum_runtime.protocol.delivery.pause import SINCE, Pause, newest_record, pause_partition
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store

KEPT_S = 10 * 365 * 86_400
"""Lifetime of records. A resumption is younger than the pause that it ends, so it also expires later."""

PAUSE, RESUME = "pause", "resume"
"""Values of a request's ``control`` field, beside those of `Control`."""

MAX_REASON = 1_000
"""Longest reason, in characters: every start that is refused repeats it."""


def request(control: str, **content: Json) -> dict[str, Json]:
    """Return the event of a request; to pause, with a ``reason``."""
    return {MARK: WIRE_VERSION, "control": control, **content}


def is_request(event: Json) -> bool:
    """Return True if `event` asks to pause or to resume the workflow."""
    return is_control_request(event) and event["control"] in (PAUSE, RESUME)


def answer(rt: Runtime, event: Mapping[str, Json]) -> Json:
    """Carry out the request in `event`.

    Returns:
        As ``pause``, for a request to pause the pause that holds from now on, of this or an earlier request; for a
        request to resume the one that it has ended, or None.

    Raises:
        ValidationException: malformed; the text names the field.
        StoreError: the workflow may be paused or not; repeat the request.
    """
    check_version(event)
    fields = {MARK, "control"} | ({"reason"} if event["control"] == PAUSE else set())
    if event.keys() != fields:
        raise ValidationException(f"{event['control']}: expected the fields {sorted(fields)}, got {sorted(event)}")
    found = _resume(rt) if event["control"] == RESUME else _pause(rt, _checked_reason(event["reason"]))
    return {"pause": None if found is None else found.to_json()}


def resumed_ms(store: Store, workflow: str) -> int:
    """Return when the workflow was resumed, in milliseconds since 1970; 0 if it is paused or never was.

    Raises:
        StoreError: the store did not answer.
    """
    _, record = newest_record(store, workflow)
    return int(record.get(SINCE, 0)) if Pause.from_json(record) is None else 0


def _pause(rt: Runtime, reason: str) -> Pause:
    made = Pause(rt.clock.now_ms(), reason)
    while True:
        number, record = newest_record(rt.store, rt.workflow.name)
        found = Pause.from_json(record)
        # The first reason stays: it is why starts have been refused since then.
        if found is not None:
            return found
        if _record(rt, number + 1, made.to_json()):
            rt.log("paused", reason=reason)
            return made


def _resume(rt: Runtime) -> Pause | None:
    while True:
        number, record = newest_record(rt.store, rt.workflow.name)
        found = Pause.from_json(record)
        if found is None or _record(rt, number + 1, resumption(rt.clock.now_ms())):
            return found


def resumption(now_ms: int) -> Item:
    """Return the record that ends a pause."""
    return {SINCE: now_ms}


def _record(rt: Runtime, number: int, record: Item) -> bool:
    """Store `record` as the newest one; return False if another request was faster."""
    key = Key(pause_partition(rt.workflow.name), f"{number:09d}")
    return rt.store.create(key, record, expires_at_s=rt.clock.now_ms() // 1000 + KEPT_S) is None


def _checked_reason(reason: Json) -> str:
    # A lone surrogate is valid JSON, and no store takes it.
    if isinstance(reason, str) and 0 < len(reason) <= MAX_REASON and reason.encode(errors="replace").decode() == reason:
        return reason
    raise ValidationException(f"reason: expected a text of 1 to {MAX_REASON} characters, got {reason!r:.100}")
