"""Memory of sweeps: what an earlier sweep found, so that the next one reads each ended execution no second time.

Starts are looked at in their order. The memory is a place, the horizon, with the executions up to it that ran when they
were looked at. It loses none if it is lost, old, or written by two sweeps at the same time: each state of it is whole,
and without one all starts are looked at again.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.list_index import FIRST
from unum_runtime.model.naming import Key, sweep_partition
from unum_runtime.protocol.runtime import Runtime

if TYPE_CHECKING:
    from unum_runtime.model.checkpoint import Item

MOST = 3_000
"""Running executions in one item; names have at most 80 characters. The horizon stays before those that do not fit."""


DAY_MS = 86_400_000


class Memory(NamedTuple):
    """State of the search, as of some sweep.

    Attributes:
        horizon: place up to which all starts were looked at.
        running: places up to `horizon` of executions that may still run, ascending.
    """

    horizon: str = FIRST
    running: tuple[str, ...] = ()

    def after(self, looked_from: str, looked_to: str, running: Iterable[str]) -> "Memory":
        """Return the state after looking at everything after `looked_from` up to `looked_to`, found `running`."""
        # A gap before `looked_from` was seen by nobody, or did not fit, so the horizon must not pass it.
        horizon = max(self.horizon, looked_to) if looked_from <= self.horizon else self.horizon
        kept = {place for place in self.running if not looked_from < place <= looked_to}
        places = sorted(place for place in kept.union(running) if place <= horizon)
        if len(places) > MOST:
            places = places[:MOST]
            horizon = places[-1]
        return Memory(horizon, tuple(places))


def recall(rt: Runtime) -> Memory:
    """Return the last stored state; an empty one without it.

    Raises:
        StoreError: the store could not be read.
    """
    for item in rt.store.query(sweep_partition(rt.workflow.name), newest=1).values():
        with suppress(KeyError, TypeError, ValueError):
            return Memory(str(item["horizon"]), tuple(parse_json(str(item["running"]))))
    return Memory()


def has_sweeps(rt: Runtime) -> bool:
    """Return True if a sweep has looked at the workflow within a day.

    Raises:
        StoreError: the store could not be read.
    """
    newest = rt.store.query(sweep_partition(rt.workflow.name), newest=1)
    return any(key.sort > f"{rt.clock.now_ms() - DAY_MS:013d}" for key in newest)


def remember(rt: Runtime, memory: Memory) -> None:
    """Store the state.

    Raises:
        StoreError: it may be stored or not.
    """
    key = Key(sweep_partition(rt.workflow.name), f"{rt.clock.now_ms():013d}")
    item: Item = {"horizon": memory.horizon, "running": to_text(memory.running)}
    rt.store.create(key, item, expires_at_s=rt.expires_at_s())
