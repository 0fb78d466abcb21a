"""Forks in a simulation: their requests, and checks of what they copy."""

from dataclasses import replace
from typing import Any

from unum_runtime.model.checkpoint import TOMBSTONE, Item, Phase
from unum_runtime.model.deletion_notes import copies_partition
from unum_runtime.model.naming import Execution, Key, Name, execution_partition
from unum_runtime.protocol.control.forks.fork import ForkRequest
from unum_runtime.protocol.control.operator_requests import Control
from unum_simulator.invariants import Broken, Invariant
from unum_simulator.observed import Author
from unum_simulator.world import Event, Record, World

TAKEN = frozenset(
    {
        "state",
        "phase",
        "at",
        "ms",
        "attempt",
        "value",
        "error",
        "cause",
        "to",
        "until",
        "caught_error",
        "caught_cause",
    }
)
"""Fields of a copy that must be the original's."""


def fork_request(world: World, asked: ForkRequest) -> Event:
    """Return an operator's request for a fork."""
    content: dict[str, Any] = {"node": asked.node, "name": asked.name, "visit": asked.visit}
    if asked.value is not None:
        content["input"] = asked.value.value
    return world.request(Control.FORK, asked.execution, **content)


def record_of_fork(world: World, key: Key, item: Item) -> Record:
    """Return the record of what a fork request stores: a note, a copy from its origin, or the entry of its own steps.

    Raises:
        Broken: it is none of them.
    """
    fork, origin, asked = world.identity, world.own.origin, world.own.fork
    if origin is None or asked is None:
        raise Broken(Invariant.OWN_HISTORY, f"{key}: a fork writes to {fork}, which was started by itself")
    if key.partition == copies_partition(world.scenario.workflow.name, fork):
        _check_note(world, key, item, origin)
        return Record(Author(None, (), None), item)
    original = world.records.get(_moved(world, key, fork, origin))
    if original is not None and _is_copy(item, original.item):
        is_after = world.own.entry is not None and _top_step(world, key) >= world.own.entry.step
        if is_after or (_top_step(world, key) and item["state"] == asked.node and asked.visit == 1):
            raise Broken(Invariant.OWN_HISTORY, f"{key}: is copied from {origin}, but belongs to the fork's own steps")
        return Record(_renamed(original.author, fork), original.item)
    is_entry = key.partition == execution_partition(world.scenario.workflow.name, fork)
    if not is_entry or item["phase"] != Phase.ENTERED:
        raise Broken(Invariant.OWN_HISTORY, f"{key}: a fork commits {item}, which {origin} did not commit")
    if item["state"] != asked.node or (asked.value is not None and item["value"] != asked.value.text):
        raise Broken(Invariant.OWN_HISTORY, f"{key}: expected the entry that {asked} requests, got {item}")
    world.note(entry=Name(fork, (), int(key.sort)))
    return Record(Author(None, (), None), item)


def _check_note(world: World, key: Key, item: Item, origin: Execution) -> None:
    """Raise Broken unless the step of `origin` has opened the fan-out that a fork notes before it copies that."""
    step = key.sort.partition(".")[0]
    original = world.records.get(Key(execution_partition(world.scenario.workflow.name, origin), step))
    if original is None or original.item.get("opens") != item["opens"]:
        raise Broken(Invariant.OWN_HISTORY, f"{key}: a fork notes {item}, which step {step} of {origin} did not open")


def _is_copy(item: Item, original: Item) -> bool:
    """Return True if `item` has the outcome of `original`, or what collection left of it."""
    left, copied = ({name: value for name, value in each.items() if name in TAKEN} for each in (original, item))
    return copied == left or (TOMBSTONE in item and copied.items() <= left.items())


def _moved(world: World, key: Key, fork: Execution, origin: Execution) -> Key:
    """Return the origin's key for a key of its fork."""
    own, other = (execution_partition(world.scenario.workflow.name, each) for each in (fork, origin))
    return key._replace(partition=key.partition.replace(own, other, 1))


def _top_step(world: World, key: Key) -> int:
    """Return the step of the top level to which a key belongs; 0 for one inside a fan-out."""
    return int(key.sort) if key.partition == execution_partition(world.scenario.workflow.name, world.identity) else 0


def _renamed(author: Author, fork: Execution) -> Author:
    return replace(author, name=author.name and replace(author.name, execution=fork))
