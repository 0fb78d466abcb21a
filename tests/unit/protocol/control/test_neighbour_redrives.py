"""Redrives and nudges of neighbour joins: kept commits count as arrivals at the joins of the next branches."""

from collections import Counter
from typing import Any

import pytest

from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.job_platform import SERVICES, Watching
from tests.unit.protocol.platform import Platform
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Ending, Status, Success
from unum_runtime.model.envelope import Neighbours
from unum_runtime.model.naming import SHARD_SIZE
from unum_runtime.model.states import Pattern
from unum_runtime.protocol.control.nudge import nudge
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.history.pending import Opened, part_of, pending_after

JOIN = g.task("encode") >> g.task("meet").meets_previous()
TWO_JOINS = JOIN >> g.task("again").meets_previous()


def deployed(branch: g.Piece, at_once: int | None) -> Platform:
    functions: dict[str, Any] = {"encode": lambda n: n * 10, "meet": lambda both: both[1], "again": lambda both: both}
    flow = g.map(branch, items=g.out) if at_once is None else g.map(branch, items=g.out, at_once=at_once)
    return Platform(Definition.from_graph(flow).compile("w", None), functions)


def deliver(platform: Platform, *order: str) -> None:
    for step in order:
        event = next(each for each in platform.sent if f"{each.state}{each.name.frames[-1].index}" == step)
        platform.sent.remove(event)
        platform.deliver(event)


def failed(platform: Platform, items: list[int], place: Any, *order: str) -> None:
    """Deliver `order`, in which the last Task fails for the input `place`; forget all events."""
    state = order[-1].rstrip("0123456789")
    mended = platform.functions[state]

    def fail(event: Any) -> Any:
        if event == place:
            raise ValueError(event)
        return mended(event)

    platform.functions[state] = fail
    platform.start("e", items)
    deliver(platform, *order)
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.FAILED
    platform.functions[state] = mended
    platform.sent.clear()
    platform.calls.clear()


@pytest.mark.parametrize("at_once", [None, 2])
@pytest.mark.parametrize(
    ("place", "order", "calls"),
    [
        # The join of branch 0 is kept, and branch 1 has not arrived at its own.
        (2, ("encode0", "meet0", "encode1"), Counter(encode=2, meet=2)),
        # Branch 0 has arrived, and its join has not committed.
        (2, ("encode0", "encode1"), Counter(encode=2, meet=3)),
        # Branch 1 has arrived, and branch 0 has not.
        (1, ("encode1", "encode0"), Counter(encode=2, meet=3)),
    ],
)
def test_redrive_runs_joins_of_kept_and_repeated_branches(
    place: int, order: tuple[str, ...], calls: Counter[str], at_once: int | None
) -> None:
    platform = deployed(JOIN, at_once)
    failed(platform, [1, 2, 3], place, *order)
    redrive(platform.runtime(), "e")
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success([10, 20, 30]))
    assert platform.calls == calls


@pytest.mark.parametrize("at_once", [None, 1])
def test_redrive_starts_a_branch_after_kept_joins(at_once: int | None) -> None:
    platform = deployed(JOIN, at_once)
    platform.functions["encode"] = lambda n: n if n != 3 else 1 / 0
    platform.start("e", [1, 2, 3, 4])
    platform.deliver_all()
    platform.functions["encode"] = lambda n: n
    redrive(platform.runtime(), "e")
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success([1, 2, 3, 4]))


@pytest.mark.parametrize(
    ("state", "index", "order"),
    [
        ("encode", 1, ("encode0", "meet0", "again0")),  # branch 0 has passed both joins
        ("meet", 1, ("encode0", "meet0", "again0", "encode1")),  # branch 1 has arrived at the first of them
        ("again", 1, ("encode0", "meet0", "again0", "encode1", "meet1")),  # and at the second
    ],
)
def test_redrive_repeats_arrivals_at_every_join(state: str, index: int, order: tuple[str, ...]) -> None:
    platform = deployed(TWO_JOINS, None)
    place = {"encode": 2, "meet": [10, 20], "again": [10, 20]}[state]
    failed(platform, [1, 2, 3], place, *order, f"{state}{index}")
    redrive(platform.runtime(), "e")
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success([[None, 10], [10, 20], [20, 30]]))


def test_redrive_repeats_the_arrival_across_shards() -> None:
    platform = deployed(JOIN, None)
    items, last = [*range(SHARD_SIZE + 1)], SHARD_SIZE
    order = [f"{state}{index}" for index in range(last) for state in ("encode", "meet")]
    failed(platform, items, last, *order, f"encode{last}")
    redrive(platform.runtime(), "e")
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success([10 * item for item in items]))
    assert platform.calls == Counter(encode=1, meet=1)


def test_nudge_repeats_the_arrival_of_a_committed_join() -> None:
    platform = deployed(JOIN, None)
    platform.start("e", [1, 2])
    deliver(platform, "encode0", "meet0")
    platform.memory._sets.clear()  # as if branch 0 had died before it told branch 1, and its event were lost
    nudge(platform.runtime(), "e")
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success([10, 20]))
    assert platform.calls == Counter(encode=2, meet=2)


def test_nudge_repeats_the_arrival_of_a_join_that_waits_for_its_job() -> None:
    workflow = Definition.from_graph(g.map(g.task("A") >> g.task("Job").meets_previous(), items=g.out)).compile(
        "w", None
    )
    data = {**workflow.states["Job"].data, "ResultPath": "$[1]"}
    job = replace(workflow.task("Job"), pattern=Pattern.SYNC, function=SERVICES, data=data)
    platform = Watching(
        replace(workflow, states={**workflow.states, "Job": job}),
        {"A": lambda n: n * 10, SERVICES: lambda event: event},
    )
    platform.options["timer"] = platform
    platform.start("e", [1, 2])
    deliver(platform, "A0", "Job0")
    platform.memory._sets.clear()
    nudge(platform.runtime(), "e")
    platform.deliver_all()
    platform.pass_time(600)
    assert platform.ending() == Ending(Status.SUCCEEDED, Success([[None, "job 1"], [10, "job 2"]]))


def test_nudge_repeats_no_arrival_at_a_join_of_a_branch_that_arrived() -> None:
    platform = deployed(JOIN, None)
    platform.start("e", [1, 2, 3])
    deliver(platform, "encode0", "encode1", "meet0", "meet1")
    last = next(step for step in reversed(platform.steps()) if not step.name.frames)
    opened = pending_after(platform.runtime(), last)
    assert isinstance(opened, Opened)
    (join,) = part_of(platform.runtime(), opened, 0).ended.joins
    assert (join.name.frames[-1].index, join.state, join.input) == (2, "meet", Neighbours())


def test_nudge_of_a_fan_out_without_joins_writes_no_arrival() -> None:
    platform = deployed(g.task("encode") >> g.task("meet"), None)
    platform.functions["meet"] = lambda n: n
    platform.start("e", [1, 2])
    deliver(platform, "encode0", "meet0")
    counting = CountingStore(platform.memory)
    platform.store = counting
    nudge(platform.runtime(), "e")
    assert counting.calls["add"] == 1  # the completed branch
