"""Deletions beside running and late deliveries: all ways of small graphs, random ones of generated workflows."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.simulation import deletion_search
from tests.simulation.definitions import Graph
from tests.simulation.deletion_search import (
    Fault,
    Run,
    deletions_during_deliveries,
    deliveries_during_deletions,
    random_run,
    starts_during_deletions,
)
from tests.simulation.deletions import NAME
from tests.simulation.graphs import GRAPHS
from tests.simulation.signal_scenarios import GRAPHS as SIGNALS
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import StoreError
from unum_runtime.features.signals.mailbox import mailboxes_partition
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control import sweep
from unum_runtime.protocol.control.deletions import delete, deletion_marks
from unum_runtime.protocol.control.deletions.deletion_marks import CLOSED, ShardMarks, is_due
from unum_runtime.protocol.delivery import deletion, deliver, ingress
from unum_runtime.protocol.delivery.ingress import LATE_MS
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryStore

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

LARGE = "x" * 30
"""A value that the search's store keeps as an object."""


class Unguarded(Graph):
    """A graph whose Tasks commit without a look at the store."""

    def workflow(self) -> Workflow:
        """Return the compiled workflow with other guards."""
        compiled = super().workflow()
        tasks = {task.name: replace(task, guard=Guard.COMMIT) for task in compiled.tasks}
        return replace(compiled, states={**compiled.states, **tasks})


UNGUARDED = {
    **{
        name: Unguarded(**vars(GRAPHS[name]))
        for name in ("chain", "large result", "wait in a branch", "uncommitted tasks")
    },
    **{f"signal, {name}": Unguarded(**vars(SIGNALS[name])) for name in ("later", "keys", "branches")},
}


@pytest.mark.parametrize("graph", SMALL)
def test_deletion_at_any_call_of_a_delivery_leaves_marks_alone(graph: str) -> None:
    assert deletions_during_deliveries(GRAPHS[graph]) > 2


@pytest.mark.parametrize("graph", SMALL)
def test_late_delivery_at_any_call_of_a_deletion_is_refused(graph: str) -> None:
    assert deliveries_during_deletions(GRAPHS[graph], step=3) > 2


@pytest.mark.parametrize("graph", UNGUARDED)
def test_late_events_without_a_guard_leave_nothing(graph: str) -> None:
    assert deletions_during_deliveries(UNGUARDED[graph]) > 1
    assert deliveries_during_deletions(UNGUARDED[graph], step=3) > 1


def test_late_start_with_a_large_input_leaves_nothing() -> None:
    assert starts_during_deletions(GRAPHS["chain"], LARGE) > 2


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


def sweeps_find_no_deletion(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delete, "entry", lambda *_: {})


def sweeps_find_no_cut_deletion(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sweep, "is_due", lambda last, now_ms: CLOSED in last and is_due(last, now_ms))


def sweeps_delete_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deletion_marks, "QUIET_MS", 0)
    patch.setattr(delete, "QUIET_MS", 0)
    patch.setattr(deletion_search, "QUIET_MS", 1)


def sweeps_find_it_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delete, "PLACE", "other")


def objects_come_without_a_look(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LargeItems, "looking", lambda self: self)


def young_events_do_not_look(patch: pytest.MonkeyPatch) -> None:
    def is_old(rt: Runtime, envelope: Envelope) -> bool:
        return rt.clock.now_ms() - envelope.sent_s * 1000 >= LATE_MS

    patch.setattr(deliver, "may_be_late", is_old)


def waits_begin_without_a_look(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ingress, "SIGNAL", "none")


def slots_are_free_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delete._Work, "_delete_slot", lambda self, result: self._delete_partition(result.partition))


def keys_are_dropped_at_once(patch: pytest.MonkeyPatch) -> None:
    own = delete._Work._delete_mailboxes

    def drop(self: delete._Work) -> None:
        own(self)
        self._delete_partition(mailboxes_partition(self.workflow, self.execution))

    patch.setattr(delete._Work, "_delete_mailboxes", drop)


def cut_then_swept() -> None:
    """Cut the deletion at each of its calls; nobody but sweeps finishes it."""
    for calls in range(60):
        run = Run.of_graph(GRAPHS["map"])
        run.start(NAME, GRAPHS["map"].input)
        run.deliver_all()
        try:
            run.points.during(run.request_deletion, calls, cut)
        except StoreError:
            run.finish(lambda _: 0)
        else:
            return
    raise AssertionError("the deletion never ended")


def cut() -> None:
    raise StoreError("the sandbox died")


def test_sweep_finishes_a_deletion_that_was_cut_at_any_call() -> None:
    cut_then_swept()


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
    "sweeps find no deletion": (
        sweeps_find_no_deletion,
        lambda: deletions_during_deliveries(GRAPHS["map"]),
    ),
    "sweeps find no deletion that was cut": (sweeps_find_no_cut_deletion, cut_then_swept),
    "sweeps delete at once": (sweeps_delete_at_once, lambda: deletions_during_deliveries(GRAPHS["nested maps"])),
    "sweeps find it for ever": (sweeps_find_it_for_ever, lambda: deletions_during_deliveries(GRAPHS["chain"])),
    "objects come without a look": (
        objects_come_without_a_look,
        lambda: deletions_during_deliveries(UNGUARDED["large result"]),
    ),
    "starts write objects without a look": (
        objects_come_without_a_look,
        lambda: starts_during_deletions(GRAPHS["chain"], LARGE),
    ),
    "young events do not look": (
        young_events_do_not_look,
        lambda: deletions_during_deliveries(UNGUARDED["uncommitted tasks"]),
    ),
    "waits begin without a look": (
        waits_begin_without_a_look,
        lambda: deletions_during_deliveries(UNGUARDED["signal, later"]),
    ),
    "keys of signals are dropped at once": (
        keys_are_dropped_at_once,
        lambda: deletions_during_deliveries(UNGUARDED["signal, keys"]),
    ),
    "slots are free at once": (
        slots_are_free_at_once,
        lambda: deletions_during_deliveries(UNGUARDED["signal, branches"]),
    ),
    "sets without items stay": (sets_without_items_stay, lambda: deletions_during_deliveries(GRAPHS["map"])),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, search = MISTAKES[mistake]
    plant(monkeypatch)
    with pytest.raises(Fault):
        search()
