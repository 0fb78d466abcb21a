"""Deletions that are cut off anywhere, and late events of what was deleted; planted mistakes are found."""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.simulation.control_scenarios import FAILING
from tests.simulation.definitions import Graph
from tests.simulation.deletions import NAME, Cut, Deleting
from tests.simulation.graphs import GRAPHS
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import (
    ExecutionDoesNotExist,
    ExecutionNotDeletable,
    RefusedDelivery,
    StoreError,
    TimeIsShort,
)
from unum_runtime.model.checkpoint import Failure, Item
from unum_runtime.model.ir import Collection as When
from unum_runtime.model.naming import Key, checkpoint_key, start_key
from unum_runtime.protocol.control.deletions import delete
from unum_runtime.protocol.control.deletions.delete import QUIET_MS
from unum_runtime.protocol.control.forks import forking
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork, found
from unum_runtime.protocol.control.redrives import redrive as control_redrive
from unum_runtime.protocol.control.redrives.entry import note_copies
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.control.walk import is_cursor
from unum_runtime.protocol.history.start_records import start_record
from unum_simulator.memory_store import MemoryStore

CASES = [
    "chain",
    "map",
    "nested maps",
    "map in a loop",
    "loop in a map",
    "limited map",
    "failing branches",
    "failing map in a branch",
    "leased map",
    "large result",
    "wait in a branch",
    "retry of a parallel",
    "wavefront",
    "results in packs",
    "packs in parts",
    "region of two sources",
    "region of two sinks",
    "wave",
]


def ended(graph: Graph) -> Deleting:
    """An execution that has ended, or was stopped in a Wait."""
    platform = Deleting.of_graph(graph)
    platform.start(NAME, graph.input)
    platform.deliver_all()
    if platform.is_running():
        stop(platform.runtime(), platform.execution(), Failure("Stop", None))
    return platform


def check_deleted(platform: Deleting) -> None:
    """Delete for good, deliver everything once more, and expect that nothing comes of it."""
    platform.delete_for_good()
    assert [*platform.rest()] == []
    before = platform.calls.total()
    platform.deliver_late()
    assert [*platform.rest()] == []
    assert platform.calls.total() == before
    with pytest.raises(ExecutionDoesNotExist, match="was deleted"):
        start_record(platform.memory, "w", NAME)


@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("graph", CASES)
def test_nothing_is_left_and_late_events_bring_nothing_back(graph: str, when: When) -> None:
    platform = ended(GRAPHS[graph])
    platform.collection = when
    check_deleted(platform)


@pytest.mark.parametrize("graph", ["chain", "nested maps", "map in a loop", "failing map in a branch"])
def test_a_deletion_that_is_cut_at_any_call_is_finished_by_the_next(graph: str) -> None:
    for calls in range(200):
        platform = ended(GRAPHS[graph])
        try:
            platform.delete(calls)
        except Cut:
            platform.deliver_late()
            check_deleted(platform)
        else:
            assert calls > 3
            return
    pytest.fail("the deletion never ended")


def test_an_answer_tells_what_remains_and_until_when() -> None:
    platform = ended(GRAPHS["shared results"])
    deletion = platform.delete()
    now_ms, week_ms = platform.clock.ms, 7 * 24 * 3_600_000
    assert deletion.again_ms == deletion.deleted_ms + QUIET_MS
    assert {each.until_ms for each in deletion.remains} == {
        now_ms + week_ms,
        deletion.again_ms,
        now_ms + week_ms * 8 // 7,
    }
    assert any("memoize" in each.what for each in deletion.remains)


def test_what_runs_is_not_deleted() -> None:
    platform = Deleting.of_graph(GRAPHS["chain"])
    platform.start(NAME, 1)
    before = dict(platform.memory._items)
    with pytest.raises(ExecutionNotDeletable, match="execution 'e' runs: stop it first, or wait for its end"):
        platform.delete()
    assert platform.memory._items == before
    with pytest.raises(ExecutionDoesNotExist, match="never started"):
        delete.delete(platform.runtime(), "other")


def test_delivery_during_the_deletion_of_its_execution_leaves_nothing() -> None:
    platform = Deleting.of_graph(GRAPHS["nested maps"])

    def stop_and_delete() -> None:
        stop(platform.runtime(), platform.execution(), Failure("Stop", None))
        assert platform.delete().again_ms is not None

    platform.start(NAME, GRAPHS["nested maps"].input)
    while not platform.sent[0].name.frames:
        platform.deliver(platform.sent.pop(0))
    platform.meanwhile = stop_and_delete
    with suppress(RefusedDelivery):
        platform.deliver(platform.sent.pop(0))
    platform.deliver_all()
    assert [*platform.rest()] != []  # the result that came too late, until somebody deletes again
    check_deleted(platform)


def test_a_redrive_and_a_deletion_exclude_each_other() -> None:
    platform = ended(FAILING["branch"])
    redrive(platform.runtime(), NAME)
    with pytest.raises(ExecutionNotDeletable):
        platform.delete()
    other = ended(FAILING["branch"])
    other.delete()
    with pytest.raises(ExecutionDoesNotExist):
        redrive(other.runtime(), NAME)


@pytest.mark.parametrize("graph", ["branch", "inner branch", "second step of a branch"])
def test_copies_of_a_redrive_that_died_anywhere_are_deleted(graph: str) -> None:
    for calls in range(200):
        platform = ended(FAILING[graph])
        if not dies(platform, calls, lambda platform=platform: redrive(platform.runtime(), NAME)):  # type: ignore[misc]
            assert calls > 10
            return
        if not platform.is_running():
            platform.delete_for_good()
            assert [*left(platform)] == []
    pytest.fail("the redrive never ended")


@pytest.mark.parametrize("graph", ["map", "nested maps"])
def test_copies_of_a_fork_that_died_anywhere_are_deleted(graph: str) -> None:
    request = ForkRequest(execution=NAME, name="f", node={"map": "C", "nested maps": "Sum"}[graph])
    for calls in range(200):
        platform = ended(GRAPHS[graph])
        has_died = dies(platform, calls, lambda platform=platform: fork(platform.runtime(), request))  # type: ignore[misc]
        begun = found(platform.store, "w", "f")
        if begun is not None and has_died:
            stop(platform.runtime(), begun.name.execution, Failure("Stop", None))
            platform.delete_for_good()
            platform.delete_for_good(name="f")
            assert [*left(platform)] == []
        if not has_died:
            assert calls > 10
            return
    pytest.fail("the fork never ended")


def dies(platform: Deleting, calls: int, request: Callable[[], object]) -> bool:
    """Send a request whose sandbox dies after so many store operations; return True if it has died."""
    platform.items.left = calls
    try:
        request()
    except Cut:
        return True
    finally:
        platform.items.left = None
    return False


def left(platform: Deleting) -> Iterator[Key]:
    """Yield what is left but for cursors, which have no data and expire soon."""
    return (key for key, _ in platform.rest() if not is_cursor(key) and key.partition != start_key("w", "f").partition)


def test_a_redrive_that_is_faster_keeps_its_execution() -> None:
    platform = ended(FAILING["branch"])
    query = platform.memory.query

    def redrive_then(partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        platform.memory.query = query
        found = query(partition, newest=newest)
        redrive(platform.runtime(), NAME)
        return found

    platform.memory.query = redrive_then
    with pytest.raises(ExecutionNotDeletable, match="was redriven just now"):
        platform.delete()
    platform.deliver_all()
    assert not platform.is_running()


def test_two_thousand_branches_are_deleted_in_parts() -> None:
    platform = Deleting.of_graph(GRAPHS["map"])
    wide: Any = {"a": lambda *_: [*range(2_000)], "b": lambda event, _: event, "c": lambda *_: "x" * 100}
    platform.functions = wide
    platform.start(NAME, 1)
    platform.deliver_all()
    requests = 0
    while True:
        begun, requests = platform.items.made, requests + 1
        try:
            platform.delete(remaining_ms=lambda begun=begun: 60_000 + 20 - (platform.items.made - begun))  # type: ignore[misc]
        except TimeIsShort:
            assert requests < 10
        else:
            break
    assert requests > 1
    platform.clock.ms += QUIET_MS
    platform.delete()
    assert [*platform.rest()] == []


def without_markers(patch: pytest.MonkeyPatch) -> None:
    def drop(work: Any, key: Key, _item: Item) -> None:
        work.items.inner._items.pop(key, None)

    patch.setattr(delete._Work, "_mark", drop)


def without_a_start_record(patch: pytest.MonkeyPatch) -> None:
    replace = MemoryStore.replace

    def erase_starts(self: MemoryStore, key: Key, item: Item, *, expires_at_s: int) -> None:
        if key == start_key("w", NAME):
            self._items.pop(key, None)
        else:
            replace(self, key, item, expires_at_s=expires_at_s)

    patch.setattr(MemoryStore, "replace", erase_starts)


def without_the_next_step(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delete, "_take_step", lambda rt, name: (checkpoint_key("w", name), {"at": rt.clock.now_ms()}))


def from_the_top(patch: pytest.MonkeyPatch) -> None:
    inside = delete._Work._delete_inside

    def mark_first(self: delete._Work, name: Any, item: Item) -> None:
        if not name.frames:
            key = Key(f"w/{NAME}:{name.execution.started_ms:x}", f"{name.step:09d}")
            self._mark(key, {"at": item["at"]})
        inside(self, name, item)

    patch.setattr(delete._Work, "_delete_inside", mark_first)


def at_once(patch: pytest.MonkeyPatch) -> None:
    mark = delete._Work._mark
    patch.setattr(delete._Work, "_mark", lambda self, key, item: mark(self, key, {"at": item["at"]}))


def without_sets(patch: pytest.MonkeyPatch) -> None:
    erase = MemoryStore.erase

    def erase_items(self: MemoryStore, partition: str, *, keep: Collection[str] = ()) -> int:
        return 0 if partition.endswith("/done") else erase(self, partition, keep=keep)

    patch.setattr(MemoryStore, "erase", erase_items)


def without_objects(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delete._Work, "_delete_objects", lambda *_: None)


def without_notes(patch: pytest.MonkeyPatch) -> None:
    for module in (control_redrive, forking):
        patch.setattr(module, "note_copies", lambda *_: None)


def notes_of_another_scope(patch: pytest.MonkeyPatch) -> None:
    for module in (control_redrive, forking):
        patch.setattr(
            module,
            "note_copies",
            lambda rt, name, scope: note_copies(rt, name, replace(scope, generation=scope.generation + 1)),
        )


def every_dead_redrive() -> None:
    test_copies_of_a_redrive_that_died_anywhere_are_deleted("inner branch")


def every_dead_fork() -> None:
    test_copies_of_a_fork_that_died_anywhere_are_deleted("map")


def every_cut() -> None:
    test_a_deletion_that_is_cut_at_any_call_is_finished_by_the_next("nested maps")


MISTAKES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], None]]] = {
    "no markers": (without_markers, lambda: check_deleted(ended(GRAPHS["chain"]))),
    "no start record": (without_a_start_record, lambda: check_deleted(ended(GRAPHS["chain"]))),
    "the next step is free": (without_the_next_step, test_a_redrive_that_is_faster_keeps_its_execution),
    "from the top": (from_the_top, every_cut),
    "sizes are dropped at once": (
        at_once,
        test_delivery_during_the_deletion_of_its_execution_leaves_nothing,
    ),
    "sets stay": (without_sets, lambda: check_deleted(ended(GRAPHS["map"]))),
    "copies of a redrive are not noted": (without_notes, every_dead_redrive),
    "copies of a fork are not noted": (without_notes, every_dead_fork),
    "another scope of a redrive is noted": (notes_of_another_scope, every_dead_redrive),
    "another scope of a fork is noted": (notes_of_another_scope, every_dead_fork),
    "objects stay": (without_objects, lambda: check_deleted(ended(GRAPHS["large result"]))),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, check = MISTAKES[mistake]
    patch(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, StoreError, ExecutionDoesNotExist)):
        check()
