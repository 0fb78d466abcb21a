"""Walks that die at any call: every part is done, in order, and little is done twice."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.unit.protocol.cut_store import CutStore, Died
from tests.unit.protocol.map_platform import deployed
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import TimeIsShort
from unum_runtime.json_text import to_text
from unum_runtime.model.naming import SHARD_SIZE, Execution, Key, Scope
from unum_runtime.protocol.control import walk as walk_module
from unum_runtime.protocol.control.walk import CURSOR_LIFE_S, MOST_PARTS, Tally, Trip, walk, walk_partition

EXECUTION = Execution("e", 1)
TRIP = Trip(EXECUTION, "nudge.3.0", is_once=False)
Place = tuple[str, int]


def scope(name: str, size: int) -> Scope:
    return Scope(EXECUTION, (), name, 1, 0, size)


@dataclass
class Drawn:
    """Scopes of chosen widths, some of whose branches have opened scopes; counts what is done where.

    Attributes:
        inner: scopes inside the branches of others, by name and branch.
        dies_before: number of the visit or leave before which the delivery dies; None for none.
        settled: parts after which the rest of their scope needs no visit.
    """

    inner: dict[str, dict[int, Scope]]
    dies_before: int | None = None
    settled: frozenset[Place] = frozenset()
    made: Counter[Place] = field(default_factory=Counter)
    left: dict[str, Tally] = field(default_factory=dict)
    order: list[Place] = field(default_factory=list)
    calls: int = 0

    def scope(self, node: Scope) -> Scope:
        return node

    def visit(self, node: Scope, shard: int, *, is_done: bool) -> tuple[Tally, dict[int, Scope] | None]:
        self._live()
        place = (node.state, shard)
        if not is_done:
            self.made[place] += 1
            self.order.append(place)
        tally = Tally(node.shard_size(shard), shard)
        if place in self.settled:
            return tally, None
        inner = self.inner.get(node.state, {})
        return tally, {index: inner[index] for index in sorted(inner) if index // SHARD_SIZE == shard}

    def leave(self, node: Scope, tally: Tally) -> None:
        self._live()
        self.left[node.state] = tally

    def _live(self) -> None:
        self.calls += 1
        if self.calls == self.dies_before:
            raise Died


def drawn(seed: int) -> tuple[Scope, Drawn, list[Scope]]:
    """A scope with scopes inside, three deep, of which some are wide."""
    chosen, inner, found = random.Random(seed), {}, []  # noqa: S311 - the same on every run

    def grow(name: str, depth: int) -> Scope:
        size = chosen.choice((1, 3, SHARD_SIZE, SHARD_SIZE + 5, 3 * SHARD_SIZE)) if depth < 2 else 2 * SHARD_SIZE
        branches = chosen.sample(range(size), min(size, 7)) if depth else ()
        here = scope(name, size)
        found.append(here)
        inner[name] = {index: grow(f"{name}.{index}", depth - 1) for index in branches}
        return here

    return grow("M", 2), Drawn(inner), found


def all_parts(scopes: list[Scope]) -> set[Place]:
    return {(each.state, shard) for each in scopes for shard in range(each.shards)}


def again(platform: Platform, tree: Drawn, root: Scope, trip: Trip = TRIP, most: int = 200) -> int:
    """Walk until a delivery is not cut off; each dies a little later than at its first call."""
    for number in range(most):
        tree.calls = 0
        try:
            walk(platform.runtime(), tree, root, trip)
        except (Died, TimeIsShort):
            continue
        return number
    raise AssertionError("no delivery comes further than the one before")


@pytest.fixture
def platform() -> Platform:
    return deployed(chain("A"))


@pytest.mark.parametrize("dies_before", [40, 57, 90])
@pytest.mark.parametrize("seed", range(12))
def test_every_part_is_done_whatever_dies(platform: Platform, seed: int, dies_before: int) -> None:
    root, tree, scopes = drawn(seed)
    tree.dies_before = dies_before
    deaths = again(platform, tree, root)
    assert tree.made.keys() == all_parts(scopes)
    assert {name: tally.branches for name, tally in tree.left.items()} == {each.state: each.size for each in scopes}
    assert max(tree.made.values()) <= deaths + 1
    assert sum(tree.made.values()) <= len(all_parts(scopes)) + deaths * MOST_PARTS
    assert list(dict.fromkeys(tree.order)) == whole(seed), "the order is that of a walk without deaths"


def whole(seed: int) -> list[Place]:
    root, tree, _ = drawn(seed)
    walk(deployed(chain("A")).runtime(), tree, root, TRIP)
    return tree.order


@pytest.mark.parametrize("is_made", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_walk_that_dies_at_any_call_of_the_store_is_resumed(seed: int, *, is_made: bool) -> None:
    number = 0
    while True:
        fresh = deployed(chain("A"))
        root, tree, scopes = drawn(seed)
        fresh.store = CutStore(fresh.memory, number, is_made=is_made)
        try:
            walk(fresh.runtime(), tree, root, TRIP)
        except Died:
            fresh.store = fresh.memory
            walk(fresh.runtime(), tree, root, TRIP)
            assert tree.made.keys() == all_parts(scopes)
            assert {name: tally.branches for name, tally in tree.left.items()} == {
                each.state: each.size for each in scopes
            }
        else:
            assert number > 3
            return
        number += 1


@pytest.mark.parametrize("seed", range(6))
def test_without_time_each_delivery_does_one_part(platform: Platform, seed: int) -> None:
    root, tree, scopes = drawn(seed)
    platform.options["remaining_ms"] = lambda: 1
    assert again(platform, tree, root) == len(all_parts(scopes)) - 1
    assert set(tree.made.values()) == {1}
    assert tree.left["M"].branches == root.size


def test_a_second_walk_in_the_same_millisecond_is_resumed_as_well(platform: Platform) -> None:
    root = scope("M", 4 * SHARD_SIZE)
    platform.options["remaining_ms"] = lambda: 1
    for _ in range(3):
        tree = Drawn({})
        assert again(platform, tree, root, most=9) == 3
        assert set(tree.made.values()) == {1}


def test_narrow_scopes_have_no_cursors(platform: Platform) -> None:
    inner = {index: scope(f"M.{index}", 3) for index in range(3)}
    platform.store = cut = CutStore(platform.memory)
    walk(platform.runtime(), Drawn({"M": inner}), scope("M", 3), TRIP)
    assert cut.calls == {"query": 1}


def test_a_finished_walk_begins_anew_or_is_over(platform: Platform) -> None:
    root = scope("M", 3 * SHARD_SIZE)
    for trip, parts in ((TRIP, 3), (TRIP._replace(purpose="check", is_once=True), 0)):
        assert walk(platform.runtime(), Drawn({}), root, trip) == Tally(root.size, 2)
        tree = Drawn({})
        assert walk(platform.runtime(), tree, root, trip) == Tally(root.size, 2)
        assert sum(tree.made.values()) == parts


def test_a_cursor_says_where_the_walk_is_and_lives_for_whole_seconds(platform: Platform) -> None:
    root = scope("M", 20 * SHARD_SIZE)
    tree = Drawn({}, dies_before=4)
    platform.clock.ms += 999
    with pytest.raises(Died):
        walk(platform.runtime(), tree, root, TRIP)
    items = platform.memory.query(walk_partition("w", EXECUTION, TRIP.purpose))
    places = [[[shard, 0, shard * SHARD_SIZE, shard - 1]] for shard in (1, 2, 3)]
    now_ms = platform.clock.ms
    assert [*items.values()] == [{"at": now_ms, "begun": now_ms, "levels": to_text(levels)} for levels in places]
    assert {platform.memory._items[key][1] for key in items} == {now_ms // 1000 + CURSOR_LIFE_S}
    assert {type(platform.memory._items[key][1]) for key in items} == {int}
    walk(platform.runtime(), Drawn({}), root, TRIP)
    *_, last = platform.memory.query(walk_partition("w", EXECUTION, TRIP.purpose)).values()
    assert last["levels"] == to_text([[0, 0, 20 * SHARD_SIZE, 19]])


def test_walks_of_other_purposes_and_executions_do_their_own_parts(platform: Platform) -> None:
    root = scope("M", 3 * SHARD_SIZE)
    with pytest.raises(Died):
        walk(platform.runtime(), Drawn({}, dies_before=3), root, TRIP)
    for other in (TRIP._replace(purpose="nudge.3.60000"), TRIP._replace(execution=Execution("e", 2))):
        tree = Drawn({})
        walk(platform.runtime(), tree, root, other)
        assert sum(tree.made.values()) == 3


def test_an_old_cursor_is_not_resumed(platform: Platform) -> None:
    root = scope("M", 3 * SHARD_SIZE)
    with pytest.raises(Died):
        walk(platform.runtime(), Drawn({}, dies_before=3), root, TRIP)
    platform.clock.pass_seconds(CURSOR_LIFE_S)
    tree = Drawn({})
    walk(platform.runtime(), tree, root, TRIP)
    assert sum(tree.made.values()) == 3


def test_a_settled_scope_is_left_without_its_rest(platform: Platform) -> None:
    inner = {5: scope("M.5", 2 * SHARD_SIZE), 9: scope("M.9", 1)}
    tree = Drawn({"M": inner}, settled=frozenset({("M.5", 0)}))
    walk(platform.runtime(), tree, scope("M", SHARD_SIZE + 1), TRIP)
    assert tree.order == [("M", 0), ("M.5", 0), ("M.9", 0), ("M", 1)]
    assert tree.left.keys() == {"M", "M.9"}


def test_a_scope_that_is_over_meanwhile_is_passed(platform: Platform) -> None:
    inner = {5: scope("M.5", 3 * SHARD_SIZE), 9: scope("M.9", 2 * SHARD_SIZE)}
    with pytest.raises(Died):
        walk(platform.runtime(), Drawn({"M": inner}, dies_before=4), scope("M", SHARD_SIZE + 1), TRIP)
    tree = Drawn({"M": {9: inner[9]}})
    walk(platform.runtime(), tree, scope("M", SHARD_SIZE + 1), TRIP)
    assert tree.order == [("M.9", 0), ("M.9", 1), ("M", 1)]


def test_parts_behind_a_scope_that_is_over_meanwhile_are_done(platform: Platform) -> None:
    inner = {5: scope("M.5", 3 * SHARD_SIZE)}
    with pytest.raises(Died):
        walk(platform.runtime(), Drawn({"M": inner}, dies_before=4), scope("M", SHARD_SIZE + 1), TRIP)
    tree = Drawn({})
    walk(platform.runtime(), tree, scope("M", SHARD_SIZE + 1), TRIP)
    assert tree.order == [("M", 1)]


def test_settled_scope_leaves_the_parts_behind_it_to_be_done(platform: Platform) -> None:
    inner = {5: scope("M.5", SHARD_SIZE), 9: scope("M.9", 1)}
    deep = {3: scope("M.5.3", 3 * SHARD_SIZE)}
    with pytest.raises(Died):
        walk(platform.runtime(), Drawn({"M": inner, "M.5": deep}, dies_before=5), scope("M", SHARD_SIZE + 1), TRIP)
    tree = Drawn({"M": inner, "M.5": deep}, settled=frozenset({("M.5", 0)}))
    walk(platform.runtime(), tree, scope("M", SHARD_SIZE + 1), TRIP)
    assert tree.order == [("M.9", 0), ("M", 1)]


def test_cursor_is_stored_after_as_many_branches_as_a_wide_part_has(platform: Platform) -> None:
    inner = {0: scope("M.0", SHARD_SIZE // 2 - 8), 1: scope("M.1", 1)}
    platform.store = cut = CutStore(platform.memory)
    walk(platform.runtime(), Drawn({"M": inner}), scope("M", SHARD_SIZE // 2 - 8), TRIP)
    assert cut.calls == {"query": 1}
    inner = {0: scope("M.0", SHARD_SIZE // 2), 1: scope("M.1", 1)}
    walk(platform.runtime(), Drawn({"M": inner}), scope("M", SHARD_SIZE // 2), TRIP)
    assert cut.calls == {"query": 2, "create": 2}, "the cursor, and the end"


def test_walk_begins_later_than_the_one_before(platform: Platform) -> None:
    for _ in range(3):
        walk(platform.runtime(), Drawn({}), scope("M", 2 * SHARD_SIZE), TRIP)
    begun = {
        int(item["begun"]) for item in platform.memory.query(walk_partition("w", EXECUTION, TRIP.purpose)).values()
    }
    assert begun == {platform.clock.ms + number for number in range(3)}


def test_two_deliveries_of_one_walk_disturb_nothing(platform: Platform) -> None:
    root, tree, scopes = drawn(4)

    class Twice(Drawn):
        def visit(self, node: Scope, shard: int, *, is_done: bool) -> tuple[Tally, dict[int, Scope] | None]:
            if len(self.order) == 4 and not other.order:
                walk(platform.runtime(), other, root, TRIP)
            return super().visit(node, shard, is_done=is_done)

    other, own = Drawn(tree.inner), Twice(tree.inner)
    walk(platform.runtime(), own, root, TRIP)
    assert own.made.keys() | other.made.keys() == own.made.keys() == all_parts(scopes)
    assert own.left["M"] == other.left["M"] or not other.left


def cursor_before_its_part(patch: pytest.MonkeyPatch) -> None:
    """Store a cursor that names the part after the current one."""
    key = walk_module.walk_key

    def further(partition: str, begun_ms: int, path: list[int]) -> Key:
        return key(partition, begun_ms, [*path[:-1], path[-1] + 1] if path else path)

    patch.setattr(walk_module, "walk_key", further)
    stored = walk_module.to_text

    def ahead(levels: list[list[int]]) -> str:
        *around, (shard, place, *tally) = levels
        return stored([*around, [shard + 1, place, *tally]])

    patch.setattr(walk_module, "to_text", ahead)


def passes_scopes_inside(patch: pytest.MonkeyPatch) -> None:
    """The cursor of a scope inside is taken for one of the scope around."""
    recall = walk_module._Walk._recall

    def outermost(self: walk_module._Walk[Scope], trip: Trip) -> None:
        recall(self, trip)
        self._stored = (
            [(shard + 1, 0, tally) for shard, _, tally in self._stored[:1]] if self._stored[1:] else self._stored
        )

    patch.setattr(walk_module._Walk, "_recall", outermost)


def one_cursor_for_all(patch: pytest.MonkeyPatch) -> None:
    """Cursors of one purpose serve for another."""
    partition = walk_module.walk_partition
    patch.setattr(walk_module, "walk_partition", lambda workflow, execution, _: partition(workflow, execution, "any"))


def one_cursor_for_all_times(patch: pytest.MonkeyPatch) -> None:
    """A cursor lives for as long as its execution."""
    patch.setattr(walk_module, "CURSOR_LIFE_S", 7 * 24 * 3600)


def forgets_the_tally(patch: pytest.MonkeyPatch) -> None:
    """A resumed walk counts from nothing."""
    patch.setattr(Tally, "plus", lambda _before, found: found)


@pytest.mark.parametrize(
    ("mistake", "finds"),
    [
        (cursor_before_its_part, lambda: test_every_part_is_done_whatever_dies(deployed(chain("A")), 2, 40)),
        (passes_scopes_inside, lambda: test_every_part_is_done_whatever_dies(deployed(chain("A")), 2, 40)),
        (forgets_the_tally, lambda: test_every_part_is_done_whatever_dies(deployed(chain("A")), 2, 40)),
        (
            one_cursor_for_all,
            lambda: test_walks_of_other_purposes_and_executions_do_their_own_parts(deployed(chain("A"))),
        ),
        (one_cursor_for_all_times, lambda: test_an_old_cursor_is_not_resumed(deployed(chain("A")))),
    ],
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], None], finds: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    finds()
    mistake(monkeypatch)
    with pytest.raises(AssertionError):
        finds()
