"""Redrives of waves: what has ended is handed to the next branches again; forks over regions and waves."""

from collections import Counter
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_runtime.errors import ExecutionNotRedrivable, NodeNotForkable
from unum_runtime.model.checkpoint import Ending, Status, Success
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.redrives.redrive import redrive

NODES = {"a": g.task("a"), "b": g.task("b").after("a"), "c": g.task("c").after("a"), "d": g.task("d").after("b", "c")}
WAVE = g.map(g.task("encode") >> g.task("rebase").after_previous("rebase"), items=g.out)
FLOW = g.task("first") >> g.dag(NODES) >> g.task("split") >> WAVE >> g.task("last")


def add(both: Any) -> Any:
    return both["own"] + (both["previous"] or 0)


def deployed(flow: g.Piece = WAVE) -> Platform:
    functions: dict[str, Any] = dict.fromkeys(("first", *"abcd", "last"), lambda event: event)
    functions |= {"split": lambda _event: [1, 2, 3], "encode": lambda n: n * 10, "rebase": add}
    return Platform(Definition.from_graph(flow).compile("w", None), functions)


def failed(state: str, place: Any, *order: str) -> Platform:
    """Return a platform on which `state` has failed for the input `place`, after the Tasks in `order`."""
    platform = deployed()
    mended = platform.functions[state]

    def fail(event: Any) -> Any:
        if event == place:
            raise ValueError(event)
        return mended(event)

    platform.functions[state] = fail
    platform.start("e", [1, 2, 3])
    for step in order:
        event = next(each for each in platform.sent if f"{each.state}{each.name.frames[-1].index}" == step)
        platform.deliver(event)
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.FAILED
    platform.functions[state] = mended
    platform.sent.clear()
    platform.calls.clear()
    return platform


@pytest.mark.parametrize(
    ("state", "place", "order", "calls"),
    [
        # The result of branch 0 is there, and branch 1 has not arrived.
        ("encode", 2, ("encode0", "rebase0", "encode2", "encode1"), Counter(encode=1, rebase=2)),
        # Branch 2 has arrived, and the result of branch 1 is not there.
        (
            "rebase",
            {"own": 20, "previous": 10},
            ("encode0", "rebase0", "encode2", "encode1", "rebase1"),
            Counter(rebase=2),
        ),
        # Branch 1 has arrived and branch 0 has not even run.
        ("encode", 1, ("encode2", "encode1", "encode0"), Counter(encode=1, rebase=3)),
    ],
)
def test_only_what_has_not_ended_runs_again(
    state: str, place: Any, order: tuple[str, ...], calls: Counter[str]
) -> None:
    platform = failed(state, place, *order)
    redrive(platform.runtime(), "e")
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success([10, 30, 60]))
    assert platform.calls == calls


def test_a_redrive_on_another_definition_is_refused() -> None:
    old, new = failed("encode", 2, "encode0", "rebase0", "encode1"), deployed(g.map(g.task("encode"), items=g.out))
    new.clock, new.memory, new.store = old.clock, old.memory, old.memory
    with pytest.raises(ExecutionNotRedrivable, match="in a scope whose branches join their neighbours"):
        redrive(new.runtime(), "e", old=old.workflow)


def forked(node: str) -> tuple[Any, Counter[str]]:
    """Return the result of a fork at `node`, and how often each function has run for it."""
    platform = deployed(FLOW)
    platform.run("e", 7)
    platform.calls.clear()
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node=node))
    platform.deliver_all()
    ending = platform.ending("f")
    return ending and ending.outcome, platform.calls


@pytest.mark.parametrize(
    ("node", "again"),
    [
        ("dag", ["a", "b", "c", "d", "split", *["encode", "rebase"] * 3, "last"]),
        ("split", ["split", *["encode", "rebase"] * 3, "last"]),
        ("map", [*["encode", "rebase"] * 3, "last"]),
        ("last", ["last"]),
    ],
)
def test_a_fork_runs_regions_and_waves_from_its_node_on(node: str, again: list[str]) -> None:
    assert forked(node) == (Success([10, 30, 60]), Counter(again))


@pytest.mark.parametrize(("node", "around"), [("b", "dag"), ("d", "dag"), ("rebase", "map")])
def test_a_fork_begins_at_no_node_of_a_region_and_no_task_of_a_wave(node: str, around: str) -> None:
    with pytest.raises(NodeNotForkable, match=f"state '{node}': is inside '{around}'; fork at that, as a whole"):
        forked(node)


def test_nothing_is_left_of_arrivals_in_a_wave_that_has_ended() -> None:
    platform = deployed(FLOW)
    platform.collection = Collection.EAGER
    ending = platform.run("e", 7)
    assert ending is not None
    assert ending.outcome == Success([10, 30, 60])
    assert [members for members, _ in platform.memory._sets.values() if members] == []
