"""Workflows that begin with a Map, and what becomes of their executions."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.unit.protocol.platform import Function, Platform, chain
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.envelope import Envelope

Options = dict[str, FunctionOptions]


@dataclass
class Later:
    """Keeps what has to wait."""

    kept: list[tuple[Envelope, int]] = field(default_factory=list)

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        self.kept += [(Envelope.from_json(json.loads(payload)), due_ms) for _, payload, due_ms in events]


class Mortal:
    """A store whose user dies before one of its writes."""

    def __init__(self, store: Any, writes: int) -> None:
        self._store, self._left = store, writes

    def __getattr__(self, name: str) -> Any:
        if name in ("create", "add"):
            self._left -= 1
            if self._left < 0:
                raise ConnectionError(name)
        return getattr(self._store, name)


def mapped(*branch: str, after: str | None = None, **fields: Any) -> dict[str, Any]:
    """A Map over its input, whose branches run `branch` in a row, before the Task `after`."""
    return around(chain(*branch), after=after, **fields)


def around(branch: dict[str, Any], after: str | None = None, **fields: Any) -> dict[str, Any]:
    """A Map over its input, whose branches run the machine `branch`, before the Task `after`."""
    continuation = {"End": True} if after is None else {"Next": after}
    states: dict[str, Any] = {"M": {"Type": "Map", "ItemProcessor": branch, **continuation, **fields}}
    if after is not None:
        states[after] = {"Type": "Task", "Resource": after, "End": True}
    return {"StartAt": "M", "States": states}


def deployed(definition: dict[str, Any], options: Options | None = None, **functions: Function) -> Platform:
    """A platform whose functions return what they are called with, unless they are given."""
    keys = dict.fromkeys(_functions(definition))
    platform = Platform.of(definition, options, **{key: functions.get(key, lambda event: event) for key in keys})
    platform.options["timer"] = Later()
    return platform


def lose(platform: Platform, state: str, *indexes: int) -> None:
    """Deliver everything but the first event for `state` in each of the branches `indexes`, or in none, at the top."""
    left = [*(indexes or [None])]
    while platform.sent:
        event = platform.sent.pop(0)
        index = event.name.frames[-1].index if event.name.frames else None
        if event.state == state and index in left:
            left.remove(index)
        else:
            deliver(platform, event)


def deliver(platform: Platform, event: Envelope) -> None:
    """Deliver an event; one that is refused is not delivered again."""
    with suppress(RefusedDelivery):
        platform.deliver(event)


def deliver_all(platform: Platform) -> None:
    """Deliver every event that was sent and all that follow; time passes when nothing else is left."""
    later = platform.options["timer"].kept
    while platform.sent or later:
        if not platform.sent:
            event, platform.clock.ms = later.pop(0)
            platform.sent.append(event)
        deliver(platform, platform.sent.pop(0))


def result(platform: Platform, name: str = "e") -> Any:
    """Return a successful execution's result."""
    ending = platform.ending(name)
    assert ending is not None
    assert isinstance(ending.outcome, Success), ending
    return ending.outcome.value


def _functions(definition: dict[str, Any]) -> list[str]:
    found = []
    for state in definition["States"].values():
        found += [state["Resource"]] if state["Type"] == "Task" and ":" not in state["Resource"] else []
        for inner in (state.get("ItemProcessor"), *state.get("Branches", ())):
            found += _functions(inner) if inner else []
    return found
