"""Status events in simulations: events put on the bus, and events required at the end."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unum_runtime.features.status_events.announcements import announce_noted
from unum_runtime.features.status_events.status_events import StatusEvents
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Checkpoint, Status
from unum_runtime.model.list_index import SHARDS
from unum_runtime.model.naming import Key, announcements_partition
from unum_runtime.model.states import Json
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS, Invoker, NoTimer, Runtime
from unum_simulator.invariants import Broken, Invariant
from unum_simulator.recorded_calls import Operation

if TYPE_CHECKING:
    from unum_simulator.simulated_deliveries import Ports
    from unum_simulator.world import Delivery, World


def statuses(delivery: "Delivery", ports: "Ports") -> StatusEvents:
    """Return the sender of status events of a delivery; nothing repeats a request of an operator."""
    return StatusEvents(put=lambda entry, _: ports.announce(entry), notes_first=delivery.event.control is not None)


def is_unchecked(world: "World", operation: Operation) -> bool:
    """Return True for the write of a note, which is no part of an execution."""
    key, name = operation.positional[0], world.scenario.workflow.name
    return isinstance(key, Key) and key.partition in {announcements_partition(name, each) for each in range(SHARDS)}


def check_event(world: "World", entry: dict[str, Any]) -> None:
    """Raise Broken unless `entry` tells what is committed."""
    detail = parse_json(entry["Detail"])
    known = [*_changes(world, detail["name"])]
    if _facts(detail) not in known:
        raise Broken(Invariant.ANNOUNCED, f"{detail} was put, but only {known} is committed")


def check_announced(world: "World") -> None:
    """Raise Broken unless each change of a status has exactly one event, however often it was put."""
    if not world.scenario.announces:
        return
    world = world.copy()  # the search goes on from the world before the sweep
    announce_noted(_sweeping(world), StatusEvents(put=lambda entry, _: world.store.announce(entry)))
    details = [parse_json(parse_json(text)["Detail"]) for text in world.store.announced]
    for execution in world.observed:
        found = sorted(_status_of(each) for each in details if each["startDate"] == execution.started_ms)
        expected = sorted(map(repr, _changes(world, execution.name)))
        if found != expected:
            raise Broken(Invariant.ANNOUNCED, f"{execution}: expected one event for each of {expected}, got {found}")
    ids = [each["id"] for each in details]
    if len({*ids}) < len(ids):
        raise Broken(Invariant.ANNOUNCED, f"two events have one id: {details}")


Facts = tuple[str, int | None, int, int | None]
"""Status, time of an end, number of redrives until then, and time of the last one."""


def _facts(detail: Json) -> Facts:
    return detail["status"], detail["stopDate"], detail["redriveCount"], detail["redriveDate"]


def _status_of(detail: Json) -> str:
    return repr(_facts(detail))


def _changes(world: "World", name: str) -> Iterator[Facts]:
    """Yield what is true of each committed change, from the steps alone."""
    before: Checkpoint | None = None
    count, redriven_ms = 0, None
    for step in from_start(world.view, world.scenario.workflow.name, name):
        if before is not None and before.ending is not None:
            count, redriven_ms = count + 1, step.committed_ms
        if step.ending is not None:
            yield str(step.ending.status), step.committed_ms, count, redriven_ms
        elif before is None or before.ending is not None:
            yield str(Status.RUNNING), None, count, redriven_ms
        before = step


def _sweeping(world: "World") -> Runtime:
    """Return the runtime of a sweep without faults."""
    invoker: Invoker = world  # type: ignore[assignment]  # sends nothing
    scenario = world.scenario
    rt = Runtime(
        workflow=scenario.workflow,
        store=world.view,
        invoker=invoker,
        clock=world.clock,
        call=lambda *_: None,
        hosts=frozenset(),
        routes={},
        retention_s=scenario.retention_s,
        timer=NoTimer(),
    )
    return replace(rt, remaining_ms=lambda: MAX_DELIVERY_MS)
