"""Reads of a branch about its neighbour: the commits before their meeting exist and lead to it."""

from dataclasses import replace

import pytest

from tests.unit.protocol.platform import Platform, exactly
from unum_compiler import graph as g
from unum_constructs import Definition
from unum_runtime.errors import InconsistentHistory, StoreError
from unum_runtime.model.checkpoint import TOMBSTONE, Success
from unum_runtime.model.envelope import Envelope, Neighbours
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Name, checkpoint_key
from unum_runtime.protocol.fanout.neighbours import read_neighbours, record_previous
from unum_runtime.protocol.planning.plan import Invoke

FLOW = g.map(g.task("encode") >> g.task("meet").meets_previous(), items=g.out)


def met(second_s: int = 0) -> tuple[Platform, Envelope]:
    """Return a platform with two branches that have committed, and the event of the second one's meeting."""
    functions = {"encode": lambda n: n * 10, "meet": lambda both: both}
    platform = Platform(Definition.from_graph(FLOW).compile("w", None), functions)
    platform.start("e", [1, 2])
    first, second = platform.sent
    platform.deliver(first)
    platform.clock.pass_seconds(second_s)
    platform.deliver(second)
    (event,) = [each for each in platform.sent if each.state == "meet" and each.name.frames[-1].index == 1]
    return platform, event


def before(event: Envelope, index: int) -> Name:
    """Return the commit of branch `index` before the meeting."""
    *outer, frame = event.name.frames
    return Name(event.name.execution, (*outer, replace(frame, index=index)), event.name.step - 1)


def test_branch_gets_commits_of_its_own_and_of_the_previous_branch() -> None:
    platform, event = met(second_s=3)
    found = read_neighbours(platform.runtime(), event)
    assert (found.value, found.entered_ms) == ([10, 20], platform.clock.ms)


def test_the_first_branch_has_nobody_before_it() -> None:
    platform, event = met(second_s=3)
    first = replace(event, name=before(event, 0).following)
    found = read_neighbours(platform.runtime(), first)
    assert (found.value, found.entered_ms) == ([None, 10], platform.clock.ms - 3_000)


@pytest.mark.parametrize("index", [0, 1])
def test_a_commit_that_is_gone_is_named(index: int) -> None:
    platform, event = met()
    name = before(event, index)
    del platform.memory._items[checkpoint_key("w", name)]
    said = f"{name}: the checkpoint before 'meet' is missing; has it expired?"
    with pytest.raises(StoreError, match=exactly(said)):
        read_neighbours(platform.runtime(), event)


def test_a_commit_that_leads_elsewhere_is_named() -> None:
    platform, event = met()
    said = f"^{before(event, 0)}: expected that 'other' follows, found JoinNeighbour".replace("[", r"\[")
    with pytest.raises(InconsistentHistory, match=said):
        read_neighbours(platform.runtime(), replace(event, state="other"))
    assert Success([10, 20]) == read_neighbours(platform.runtime(), event).given


def test_a_commit_that_leads_to_no_join_is_named() -> None:
    platform, event = met()
    key = checkpoint_key("w", before(event, 0))
    item, expires_at_s = platform.memory._items[key]
    failed = {name: text for name, text in item.items() if name != "value"} | {"error": '"E"', "cause": "null"}
    platform.memory._items[key] = failed, expires_at_s
    with pytest.raises(InconsistentHistory, match="found BranchFailed"):
        read_neighbours(platform.runtime(), event)


def test_nothing_is_left_of_meetings_in_a_fan_out_that_failed_before_them() -> None:
    def fails_for_three(n: int) -> int:
        if n == 3:
            raise ValueError
        return n

    functions = {"encode": fails_for_three, "meet": lambda both: both}
    platform = Platform(Definition.from_graph(FLOW).compile("w", None), functions, collection=Collection.EAGER)
    platform.start("e", [1, 2, 3])
    platform.deliver_all()
    assert str(platform.ending()).count("ValueError")
    scopes = {key for key in platform.memory._sets if "meet" in key.sort}
    assert [key for key in scopes if TOMBSTONE not in platform.memory.read([key]).get(key, {TOMBSTONE: 1})] == []
    branches = [key for key in platform.memory._items if "[" in key.partition or "@" in key.partition]
    assert branches
    assert [key for key in branches if TOMBSTONE not in platform.memory.read([key])[key]] == []


def test_an_arrival_told_again_sends_the_join_whose_own_branch_has_arrived() -> None:
    platform, event = met()
    join = Invoke(event.name, "meet", Neighbours())
    assert record_previous(platform.runtime(), join) == [join]
    later = replace(join, name=replace(event.name, step=9))
    assert record_previous(platform.runtime(), later) == []
