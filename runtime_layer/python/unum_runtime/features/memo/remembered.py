"""Requests about memoized results: list those of a workflow, show one, forget one or all of a Task.

Results are shared by executions and belong to none, so no deletion of an execution reaches them. A forgotten result is
replaced by an expired item. An execution that had read it keeps it, and one that computes it meanwhile stores it again.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import ClientError
from unum_runtime.features.memo.memo import ABOUT, AT, BY, UNTIL
from unum_runtime.features.memo.memo_keys import PARTS, memo_group, memo_key, memo_owner, memo_partition
from unum_runtime.model.checkpoint import REFERENCE, Item
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.control.control_aliases import FORGET, LIST, SHOW
from unum_runtime.protocol.control.operator_requests import IS_DONE, ValidationException, check_version
from unum_runtime.protocol.control.operator_requests import is_request as is_control_request
from unum_runtime.protocol.requests.answers import MAX_BYTES
from unum_runtime.protocol.runtime import Runtime

if TYPE_CHECKING:
    from unum_runtime.store.erasable import ErasableStore

MAX_PAGE = 1_000
"""Most results in the answer to one request."""

EXPIRED_S = 3_600
"""Age of the expiry of a forgotten result, in seconds: no clock is as late as that."""

AFTER_ALL = "g"
"""Text after all names of results, which are hexadecimal digits."""

_FIELDS = {LIST: {"limit", "state", "before"}, SHOW: {"state", "key"}, FORGET: {"state", "key"}}
_REQUIRED = {LIST: {"limit"}, SHOW: {"state", "key"}, FORGET: {"state"}}


class ResultNotRemembered(ClientError):
    """No memoized result of that name."""


@dataclass(frozen=True)
class _Group:
    """Results that some Tasks share.

    Attributes:
        owner: workflow in whose partitions they lie; empty for those that all workflows share.
        name: name of the group.
        states: names of the Tasks.
    """

    owner: str
    name: str
    states: tuple[str, ...]


Found: TypeAlias = tuple[_Group, Key, Item]


def request(control: str, **content: Json) -> dict[str, Json]:
    """Return the event of a request; its fields are those of `_FIELDS`."""
    return {MARK: WIRE_VERSION, "control": control, **content}


def is_request(event: Json) -> bool:
    """Return True if `event` is about memoized results."""
    return is_control_request(event) and event["control"] in _FIELDS


def answer(rt: Runtime, event: Mapping[str, Json]) -> Json:
    """Carry out the request in `event`.

    Returns:
        For a list ``results``, and ``before`` for the next page, absent on the last one. For a single result its facts
        and its ``value`` as JSON text. For a request to forget the number of forgotten results as ``forgotten``, with
        `IS_DONE` False if the same request has to be repeated for the rest.

    Raises:
        ValidationException: malformed, or the Task shares no results; the text names the field.
        ResultNotRemembered: there is no such result.
        StoreError: no answer; repeat the request.
    """
    check_version(event)
    control = event["control"]
    fields = event.keys() - {MARK, "control"}
    if not _REQUIRED[control] <= fields <= _FIELDS[control]:
        raise ValidationException(f"{control}: expected the fields {sorted(_FIELDS[control])}, got {sorted(fields)}")
    return _ANSWERS[control](rt, event)


def _list(rt: Runtime, event: Mapping[str, Json]) -> Json:
    limit, before = event["limit"], event.get("before", "")
    if type(limit) is not int or not 1 <= limit <= MAX_PAGE:
        raise ValidationException(f"limit: expected a number from 1 to {MAX_PAGE}, got {limit!r}")
    group, _, name = before.partition("/") if isinstance(before, str) else ("", "", "")
    if before and not (group and _is_name(name)):
        raise ValidationException(f"before: expected what the last page had, got {before!r}")
    found = _page(rt, [each for each in _groups(rt, event.get("state")) if each.name >= group], group, name, limit)
    shown = [_facts(*each) for each in found]
    if len(found) < limit:
        return {"results": shown}
    last, key, _ = found[-1]
    return {"results": shown, "before": f"{last.name}/{key.sort}"}


def _page(rt: Runtime, groups: list[_Group], first: str, before: str, limit: int) -> list[Found]:
    """List up to `limit` results of `groups`; group `first` continues before the name `before`."""
    found: list[Found] = []
    for group in groups:
        begin = before if group.name == first else AFTER_ALL
        found += [(group, *each) for each in _results(rt, group, begin, limit - len(found))]
    return found


def _results(rt: Runtime, group: _Group, before: str, limit: int) -> Iterator[tuple[Key, Item]]:
    """Yield at most `limit` results of `group` with names before `before`, last name first, without large values."""
    store = cast("ErasableStore", rt.store if rt.large is None else rt.large.store)
    for part in reversed(PARTS):
        if limit < 1:
            return
        if part <= before[0]:
            page = store.page(memo_partition(group.owner, group.name, part), before=before, limit=limit)
            limit -= len(page)
            yield from page.items()


def _show(rt: Runtime, event: Mapping[str, Json]) -> Json:
    task = _task(rt, event["state"])
    key = _key(rt, task, event["key"])
    item = rt.store.read([key]).get(key)
    if item is None or "value" not in item:  # the latter after a forgetting, by a clock that is late
        raise ResultNotRemembered(f"state {task.name!r}: no result {key.sort} is remembered")
    if len(str(item["value"]).encode()) > MAX_BYTES:
        raise ClientError(f"state {task.name!r}: result {key.sort} exceeds an answer of {MAX_BYTES} bytes")
    return {**_facts(_group(rt, task), key, item), "value": item["value"]}


def _forget(rt: Runtime, event: Mapping[str, Json]) -> Json:
    task = _task(rt, event["state"])
    if "key" in event:
        key = _key(rt, task, event["key"])
        is_known = key in rt.store.read([key])
        if is_known:
            _replace(rt, key)
        return {"forgotten": int(is_known)}
    keys = [key for key, _ in _results(rt, _group(rt, task), AFTER_ALL, MAX_PAGE)]
    for count, key in enumerate(keys):
        if count and rt.remaining_ms() < _LEFT_MS:
            return {"forgotten": count, IS_DONE: False}
        _replace(rt, key)
    return {"forgotten": len(keys), IS_DONE: len(keys) < MAX_PAGE}


_LEFT_MS = 3_000
"""Time at which a request is left to its repetition, in milliseconds."""


def _replace(rt: Runtime, key: Key) -> None:
    store = cast("ErasableStore", rt.store if rt.large is None else rt.large.store)
    store.replace(key, {}, expires_at_s=rt.clock.now_ms() // 1000 - EXPIRED_S)


def _facts(group: _Group, key: Key, item: Item) -> dict[str, Json]:
    """Return what is known of a result; of a large value only that."""
    size = None if f"value{REFERENCE}" in item else len(str(item.get("value", "")).encode())
    return {
        "states": [*group.states],
        "key": key.sort,
        "of": item.get(ABOUT, ""),
        "by": item.get(BY, ""),
        "at_ms": item.get(AT),
        "until_ms": int(item[UNTIL]) * 1000 if UNTIL in item else None,
        "bytes": size,
    }


def _groups(rt: Runtime, state: Json) -> list[_Group]:
    """Return the groups of results of the Task `state`, or of all Tasks, ordered by name."""
    tasks = [each for each in rt.workflow.tasks if each.memoize] if state is None else [_task(rt, state)]
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for task in tasks:
        place = memo_group(task), memo_owner(rt.workflow.name, task)
        found[place] = (*found.get(place, ()), task.name)
    return [_Group(owner, name, states) for (name, owner), states in sorted(found.items())]


def _group(rt: Runtime, task: Task) -> _Group:
    return _Group(memo_owner(rt.workflow.name, task), memo_group(task), (task.name,))


def _task(rt: Runtime, state: Json) -> Task:
    """Return the Task `state` of the deployed definition.

    Raises:
        ValidationException: it is no Task that shares results.
    """
    task = rt.workflow.states.get(state) if isinstance(state, str) else None
    if not isinstance(task, Task) or not task.memoize:
        known = sorted(each.name for each in rt.workflow.tasks if each.memoize)
        raise ValidationException(f"state: expected a Task with memoize, one of {known}, got {state!r}")
    return task


def _key(rt: Runtime, task: Task, name: Json) -> Key:
    if not _is_name(name):
        raise ValidationException(f"key: expected the name of a result, {_DIGITS} hexadecimal digits, got {name!r}")
    return memo_key(rt.workflow.name, task, name)


_DIGITS = 64
"""Hexadecimal digits of a SHA-256."""


def _is_name(name: Json) -> bool:
    return isinstance(name, str) and len(name) == _DIGITS and set(name) <= set(PARTS)


_ANSWERS: Mapping[str, Callable[[Runtime, Mapping[str, Json]], Json]] = {LIST: _list, SHOW: _show, FORGET: _forget}
