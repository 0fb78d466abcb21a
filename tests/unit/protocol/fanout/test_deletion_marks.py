"""Marks that a deletion leaves in fan-outs whose Tasks commit without a look at the store."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.protocol.map_platform import mapped
from tests.unit.protocol.platform import Platform
from unum_compiler.options import FunctionOptions
from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import (
    SHARD_SIZE,
    Execution,
    Key,
    Name,
    Scope,
    aside_key,
    checkpoint_key,
    pack_key,
    shard_partition,
)
from unum_runtime.model.pack import ENDS
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.deletions.deletion_marks import OPENS, ShardMarks, marker, unguarded_fan_outs
from unum_runtime.protocol.planning.existing_start import is_deleted

SCOPE = Scope(Execution("e", 1), (), "M", 1, 0, 3)
UNGUARDED = {"B": FunctionOptions(guard=Guard.COMMIT)}
DELETED_MS = 7


def platform(*, small_results: bool = False) -> Platform:
    made = Platform.of(mapped("B"), UNGUARDED, B=lambda event: event)
    made.workflow = replace(made.workflow, small_results=small_results or None)
    return made


def marks_of(made: Platform, definitions: Mapping[str, Workflow | None] | None = None) -> tuple[ShardMarks, list[int]]:
    """Return the marks of the fan-out, and a list that grows by each question for the time that is left."""
    asked: list[int] = []
    known = {made.workflow.digest: made.workflow} if definitions is None else definitions
    rt = made.runtime()
    return ShardMarks(rt, made.memory, known, SCOPE, DELETED_MS, lambda _: asked.append(1)), asked


def step(index: int, number: int) -> Key:
    return checkpoint_key("w", Name(SCOPE.execution, SCOPE.branch(index), number))


def store_items(made: Platform, items: Mapping[Key, Item]) -> dict[Key, Item]:
    for key, item in items.items():
        made.memory.create(key, item, expires_at_s=10**10)
    return made.memory.query(shard_partition("w", SCOPE, 0))


def found(made: Platform) -> dict[Key, Item]:
    return made.memory.query(shard_partition("w", SCOPE, 0))


def test_each_step_and_the_next_of_each_branch_are_marked() -> None:
    made = platform()
    marks, asked = marks_of(made)
    opened: Any = "a fan-out"
    marks.put(0, store_items(made, {step(0, 0): {"value": "1"}, step(0, 1): {"value": "2", OPENS: opened}}))
    mark = marker(DELETED_MS)
    assert found(made) == {
        step(0, 0): mark,
        step(0, 1): {**mark, OPENS: opened},
        **dict.fromkeys([step(0, 2), step(1, 0), step(2, 0)], mark),
    }
    assert len(asked) == 5, "for each branch and each step that is replaced"


def test_marks_are_left_as_they_are() -> None:
    made = platform()
    mark = marker(3)
    before = store_items(made, {step(index, 1): mark for index in range(3)})
    marks, asked = marks_of(made)
    marks.put(0, before)
    assert (found(made), len(asked)) == (before, 3)


def test_the_last_step_of_a_branch_tells_whether_the_next_is_marked() -> None:
    made = platform()
    before = store_items(made, {step(0, 0): {"value": "1"}, step(0, 1): marker(3), step(1, 0): marker(3)})
    marks_of(made)[0].put(0, before)
    assert [key for key in found(made) if key.sort.startswith("000000000.")] == [step(0, 0), step(0, 1)]


def test_what_a_faster_delivery_has_committed_is_marked_too() -> None:
    made = platform()
    store_items(made, {step(0, number): {"value": str(number)} for number in range(3)})
    marks_of(made)[0].put(0, {})  # of a list that was read before
    assert [is_deleted(item) for key, item in found(made).items() if key.sort.startswith("000000000.")] == [True] * 4


def test_no_next_step_is_marked_twice() -> None:
    made = platform()
    store_items(made, {step(0, 0): marker(3)})
    marks_of(made)[0].put(0, {})
    assert found(made)[step(0, 0)] == marker(3)
    assert step(0, 1) not in found(made)


def test_packs_that_are_or_may_be_and_what_is_set_aside_are_marked() -> None:
    made = platform(small_results=True)
    own, other = (pack_key("w", SCOPE, 0, digest) for digest in (made.workflow.digest, "former"))
    before = store_items(
        made, {other: {ENDS[0]: "0 1 2 3", "v0": "secret"}, aside_key(step(1, 0)): {"value": "secret"}}
    )
    marks_of(made)[0].put(0, before)
    left = found(made)
    assert "secret" not in str(left)
    for pack in (own, other):
        assert is_deleted(left[pack])
        assert all(left[pack][end] == "-" for end in ENDS)
    for index in range(3):
        assert is_deleted(left[step(index, 0)])
        assert is_deleted(left[aside_key(step(index, 0))])


def test_each_item_is_replaced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = platform(small_results=True)
    pack = pack_key("w", SCOPE, 0, made.workflow.digest)
    before = store_items(made, {pack: {ENDS[0]: "+"}, step(1, 0): {"value": "1"}, step(2, 0): marker(3)})
    replaced: list[Key] = []
    keep = made.memory.replace

    def watched(key: Key, item: Item, *, expires_at_s: int) -> None:
        replaced.append(key)
        keep(key, item, expires_at_s=expires_at_s)

    monkeypatch.setattr(made.memory, "replace", watched)
    marks_of(made)[0].put(0, before)
    assert sorted(replaced) == sorted([aside_key(step(0, 0)), aside_key(step(1, 1)), pack, step(1, 0)])


def test_a_marked_pack_is_left_as_it_is() -> None:
    made = platform(small_results=True)
    marks_of(made)[0].put(0, {})
    before = found(made)
    made.clock.pass_seconds(5)
    marks, _ = marks_of(made)
    marks.deleted_ms += 5
    marks.put(0, before)
    assert found(made) == before


@pytest.mark.parametrize("kind", ["plain", "packs", "unknown", "packs beside another"])
def test_outcomes_set_aside_are_marked_where_packs_may_be(kind: str) -> None:
    made, packs = platform(), platform(small_results=True).workflow
    plain = made.workflow
    definitions: dict[str, dict[str, Workflow | None]] = {
        "plain": {"p": plain},
        "packs": {"s": packs},
        "unknown": {"p": plain, "u": None},
        "packs beside another": {"p": plain, "s": packs},
    }
    marks_of(made, definitions[kind])[0].put(0, {})
    assert (aside_key(step(0, 0)) in found(made)) is (kind != "plain")
    assert any("pack" in key.sort or ENDS[0] in item for key, item in found(made).items()) is ("packs" in kind)


def test_only_the_branches_of_a_shard_are_marked() -> None:
    made = platform()
    wide = replace(SCOPE, size=SHARD_SIZE + 2)
    marks = ShardMarks(made.runtime(), made.memory, {}, wide, DELETED_MS, lambda _: None)
    marks.put(1, {})
    keys = [key for shard in range(2) for key in made.memory.query(shard_partition("w", wide, shard))]
    assert [key.sort.partition(".")[0] for key in keys] == [f"{index:09d}" for index in (SHARD_SIZE, SHARD_SIZE + 1)]


def test_fan_outs_around_unguarded_tasks_need_marks() -> None:
    inner = mapped("B")
    definition = {
        "StartAt": "O",
        "States": {
            "O": {"Type": "Map", "ItemProcessor": inner, "Next": "G"},
            "G": {"Type": "Map", "ItemProcessor": {"StartAt": "A", "States": {"A": TASK}}, "Next": "C"},
            "C": {**TASK, "Resource": "B"},
        },
    }
    workflow = Platform.of(definition, UNGUARDED, A=lambda n: n, B=lambda n: n).workflow
    assert unguarded_fan_outs({"d": workflow}) == frozenset({"M", "O"})
    assert unguarded_fan_outs({"d": platform_of_guarded().workflow}) == frozenset()
    assert unguarded_fan_outs({"d": workflow, "unknown": None}) is None
    assert unguarded_fan_outs({}) == frozenset()


def platform_of_guarded() -> Platform:
    return Platform.of(mapped("B"), B=lambda event: event)


TASK: dict[str, Any] = {"Type": "Task", "Resource": "A", "End": True}
