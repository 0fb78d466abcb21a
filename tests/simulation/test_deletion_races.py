"""Deletions beside running and late deliveries: all ways of small graphs, random ones of generated workflows."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.simulation import deletion_search
from tests.simulation.deletion_search import (
    Fault,
    deletions_during_deliveries,
    deliveries_during_deletions,
    random_run,
)
from tests.simulation.graphs import GRAPHS
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Key
from unum_runtime.protocol.control import delete
from unum_runtime.protocol.delivery import deletion
from unum_runtime.protocol.fanout.deletion_marks import ShardMarks
from unum_runtime.store.memory import MemoryStore

SMALL = [
    "chain",
    "map",
    "unguarded map",
    "uncommitted tasks in a map",
    "limited map",
    "leased map",
    "results in packs",
    "packs in parts",
    "region of two sources",
    "region of two sinks",
    "wave",
    "failing branches",
    "large result",
    "wait in a branch",
]
LARGER = [
    "nested maps",
    "failing map in a branch",
    "map in a loop",
    "loop in a map",
    "retry of a parallel",
    "wavefront",
]
FEW, MANY = 150, 3_000


@pytest.mark.parametrize("graph", SMALL)
def test_deletion_at_any_call_of_a_delivery_leaves_marks_alone(graph: str) -> None:
    assert deletions_during_deliveries(GRAPHS[graph]) > 2


@pytest.mark.parametrize("graph", SMALL)
def test_late_delivery_at_any_call_of_a_deletion_is_refused(graph: str) -> None:
    assert deliveries_during_deletions(GRAPHS[graph], step=3) > 2


@pytest.mark.long
@pytest.mark.parametrize("collection", list(Collection))
@pytest.mark.parametrize("graph", SMALL + LARGER)
def test_all_ways(graph: str, collection: Collection) -> None:
    assert deletions_during_deliveries(GRAPHS[graph], collection) > 2
    assert deliveries_during_deletions(GRAPHS[graph], collection) > 2


def test_random_deletions_of_generated_workflows() -> None:
    for seed in range(FEW):
        random_run(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, MANY, FEW))
def test_many_random_deletions(first: int) -> None:
    for seed in range(first, first + FEW):
        random_run(FEW + seed)


def fan_outs_without_marks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ShardMarks, "put", lambda *_: None)


def next_steps_without_marks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ShardMarks, "_mark_next", lambda *_: None)


def packs_without_marks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ShardMarks, "_pack_keys", lambda *_: iter(()))


def faster_commits_without_marks(patch: pytest.MonkeyPatch) -> None:
    own = MemoryStore.create

    def create(self: MemoryStore, key: Key, item: Any, *, expires_at_s: int) -> Any:
        winner = own(self, key, item, expires_at_s=expires_at_s)
        return None if delete.is_deleted(item) and "@" in key.partition else winner

    patch.setattr(MemoryStore, "create", create)


def errors_without_a_question(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deletion, "was_deleted", lambda *_: False)


def no_time_for_what_runs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delete, "QUIET_MS", 0)
    patch.setattr(deletion_search, "QUIET_MS", 0)


def sets_without_items_stay(patch: pytest.MonkeyPatch) -> None:
    scope = delete._Work._delete_scope

    def skip(self: delete._Work, each: Any) -> None:
        partitions = [delete.shard_partition("w", each, shard) for shard in range(each.shards)]
        if any(map(self.items.query, partitions)) or not self.is_final:
            scope(self, each)

    patch.setattr(delete._Work, "_delete_scope", skip)


MISTAKES: Mapping[str, tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], object]]] = {
    "fan-outs have no marks": (
        fan_outs_without_marks,
        lambda: deletions_during_deliveries(GRAPHS["unguarded map"]),
    ),
    "next steps have no marks": (
        next_steps_without_marks,
        lambda: deletions_during_deliveries(GRAPHS["unguarded map"]),
    ),
    "packs have no marks": (packs_without_marks, lambda: [random_run(seed) for seed in range(600)]),
    "commits during the deletion are taken for marks": (
        faster_commits_without_marks,
        lambda: deliveries_during_deletions(GRAPHS["unguarded map"]),
    ),
    "nobody asks why a delivery failed": (
        errors_without_a_question,
        lambda: [deletions_during_deliveries(GRAPHS[graph]) for graph in SMALL],
    ),
    "the last deletion comes at once": (
        no_time_for_what_runs,
        lambda: deletions_during_deliveries(GRAPHS["map"]),
    ),
    "sets without items stay": (sets_without_items_stay, lambda: deletions_during_deliveries(GRAPHS["map"])),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, search = MISTAKES[mistake]
    plant(monkeypatch)
    with pytest.raises(Fault):
        search()
