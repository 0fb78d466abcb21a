"""Memoized results of a workflow, as operators see them; see `unum_runtime.features.memo.remembered`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from unum_client.deliveries import to_datetime
from unum_runtime.features.memo import remembered
from unum_runtime.json_text import parse_json
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.operator_requests import IS_DONE

Send: TypeAlias = Callable[[dict[str, Json]], Any]
"""Function that sends a request to the control function and returns the answer."""

DEFAULT_PAGE = 100


@dataclass(frozen=True, kw_only=True)
class RememberedResult:
    """Memoized result.

    Attributes:
        key: name of the result, 64 hexadecimal digits.
        states: names of the Tasks that share it.
        of: begin of the JSON text of the event, or of the key values, that it belongs to.
        by: workflow and invocation that computed it.
        at: time at which it was stored; None for results of releases that did not say so.
        until: time at which it expires; None as for `at`.
        size: size of its JSON text in bytes; None in lists for values in the payload bucket.
        value: the result itself; None in lists.
    """

    key: str
    states: tuple[str, ...]
    of: str
    by: str
    at: datetime | None
    until: datetime | None
    size: int | None
    value: Json = None


@dataclass(frozen=True, kw_only=True)
class RememberedPage:
    """Page of a list of memoized results.

    Attributes:
        results: the results, in the order of their names.
        token: token of the next page; None on the last page.
    """

    results: tuple[RememberedResult, ...]
    token: str | None


def list_results(send: Send, state: str | None = None, *, limit: int = 0, token: str | None = None) -> RememberedPage:
    """Return a page of memoized results of the deployed definition's Tasks, in an order of their own.

    Args:
        send: sender of requests.
        state: name of a Task with `memoize`; None for all of them.
        limit: page size up to 1,000; 0 for 100.
        token: token of the previous page; None for the first page.

    Raises:
        ClientError: `state` shares no results, page size out of range, or `token` of another list.
        InvokeError: no answer; call again.
    """
    asked = {name: value for name, value in (("state", state), ("before", token)) if value is not None}
    answer = send(remembered.request(remembered.LIST, limit=limit or DEFAULT_PAGE, **asked))
    return RememberedPage(results=tuple(map(_parse, answer["results"])), token=answer.get("before"))


def show_result(send: Send, state: str, key: str) -> RememberedResult:
    """Return the memoized result of the Task `state` with the name `key`, with its value.

    Raises:
        ResultNotRemembered: there is none, or it was forgotten.
        ClientError: `state` shares no results, or `key` is no name of a result.
        InvokeError: no answer, or the value exceeds one; call again.
    """
    return _parse(send(remembered.request(remembered.SHOW, state=state, key=key)))


def forget_results(send: Send, state: str, key: str | None = None) -> int:
    """Forget the memoized result of the Task `state` with the name `key`, or all its results; return their number.

    Tasks that share the results forget them too. Executions that have read a result keep it, and those that compute it
    meanwhile store it again. Large values stay in the payload bucket until its lifecycle deletes them.

    Args:
        send: sender of requests.
        state: name of a Task with `memoize`.
        key: name of a result, as lists have it; None for all.

    Raises:
        ClientError: `state` shares no results, or `key` is no name of a result.
        InvokeError: unknown what was forgotten; call again.
    """
    asked = {} if key is None else {"key": key}
    forgotten: int = 0
    while True:
        answer = send(remembered.request(remembered.FORGET, state=state, **asked))
        forgotten += int(answer["forgotten"])
        if answer.get(IS_DONE, True):
            return forgotten


def _parse(answer: dict[str, Any]) -> RememberedResult:
    return RememberedResult(
        key=answer["key"],
        states=tuple(answer["states"]),
        of=answer["of"],
        by=answer["by"],
        at=_time(answer["at_ms"]),
        until=_time(answer["until_ms"]),
        size=answer["bytes"],
        value=parse_json(answer["value"]) if "value" in answer else None,
    )


def _time(ms: int | None) -> datetime | None:
    return None if ms is None else to_datetime(ms)
