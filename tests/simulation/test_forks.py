"""Forks and redrives at any moment, cut off anywhere, repeated and racing: none mixes histories."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.simulation.executions import CHAIN, FAILING, FIRST, MAP, fork_at, of
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import ExecutionDoesNotExist
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.naming import Execution, Scope
from unum_runtime.protocol.control import nudge
from unum_runtime.protocol.control.forks import fork, forking
from unum_runtime.protocol.control.forks.fork import ForkRequest
from unum_runtime.protocol.control.redrives import redrive
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Faults, Invariant, Violation, explore, search
from unum_simulator.scenario import BEGUN_MS

ONE = Faults(crashes=0, duplicates=0, forks=1)
CUT_OFF = Faults(crashes=1, duplicates=0, forks=1)
TWICE = Faults(crashes=0, duplicates=0, forks=2)
STOPPED = Faults(crashes=0, duplicates=0, forks=1, stops=1)
NUDGED = Faults(crashes=0, duplicates=0, forks=1, nudges=1)
NUDGED_AND_CUT_OFF = Faults(crashes=1, duplicates=0, forks=1, nudges=1)
REDRIVEN = Faults(crashes=0, duplicates=0, forks=1, redrives=1)
WIDE = Faults(
    crashes=2,
    duplicates=1,
    throttles=1,
    stops=1,
    nudges=1,
    redrives=2,
    forks=3,
    skews=1,
    repeats=1,
    splits=1,
    concurrency=3,
)
MAX_STATES = 1_500

FORKS = [fork_at("C"), fork_at("B"), fork_at("B", 7)]


@pytest.mark.parametrize("asked", FORKS, ids=["last", "middle", "with an input"])
@pytest.mark.parametrize("faults", [ONE, CUT_OFF, STOPPED, NUDGED], ids=["plain", "cut off", "stopped", "nudged"])
def test_every_way_of_a_fork(asked: ForkRequest, faults: Faults) -> None:
    assert explore(of(CHAIN, faults, asked)).is_complete


@pytest.mark.parametrize("node", ["M", "C"])
def test_every_way_of_a_fork_around_a_map(node: str) -> None:
    assert explore(of(MAP, ONE, fork_at(node))).is_complete
    assert explore(of(MAP, CUT_OFF, fork_at(node)), max_states=MAX_STATES).states


@pytest.mark.parametrize(
    "other", [fork_at("C"), fork_at("B"), fork_at("C", 7)], ids=["same", "other node", "other input"]
)
def test_two_forks_of_one_name(other: ForkRequest) -> None:
    assert explore(of(CHAIN, TWICE, fork_at("C"), other)).is_complete


def test_a_fork_and_a_start_of_one_name() -> None:
    assert explore(of(CHAIN, ONE, fork_at("C"), starts=(("fork", 1),))).is_complete


@pytest.mark.parametrize("node", ["M", "C"])
def test_a_fork_beside_a_redrive(node: str) -> None:
    assert explore(of(FAILING, REDRIVEN, fork_at(node)), max_states=MAX_STATES).states


@pytest.mark.parametrize("graph", [CHAIN, MAP, FAILING], ids=["chain", "map", "failing"])
def test_by_chance(graph: Any) -> None:
    forks = [fork_at("C"), fork_at("C", 7, name="other"), fork_at("A" if graph is CHAIN else "M")]
    assert search(of(graph, WIDE, *forks, starts=((FIRST, 2), ("other", 3)), tick_ms=1), range(12)).ends == 12


def copies_another_execution(patch: pytest.MonkeyPatch) -> None:
    """A fork takes the steps of an execution that is called other, where that has come as far."""

    def mixed(rt: Runtime, steps: list[Checkpoint], execution: Execution) -> None:
        others: dict[int, Checkpoint] = {}
        with suppress(ExecutionDoesNotExist):
            others = {step.name.step: step for step in from_start(rt.store, rt.workflow.name, "other")}
        copy(rt, [others.get(step.name.step, step) for step in steps], execution)

    copy = forking._copy
    patch.setattr(forking, "_copy", mixed)


def copies_later_steps(patch: pytest.MonkeyPatch) -> None:
    """A fork takes the original's result of the node that it begins with."""

    def more(rt: Runtime, steps: list[Checkpoint], execution: Execution) -> None:
        copy(rt, from_start(rt.store, rt.workflow.name, FIRST)[1 : len(steps) + 2], execution)

    copy = forking._copy
    patch.setattr(forking, "_copy", more)


def begins_before_it_has_copied(patch: pytest.MonkeyPatch) -> None:
    """A fork that was cut off is no fork: whoever comes next continues from its copies."""
    patch.setattr(nudge, "unfinished", lambda _steps: None)


def records_a_start(patch: pytest.MonkeyPatch) -> None:
    """A fork writes the start record of an ordinary execution."""
    create = fork.create
    patch.setattr(fork, "create", lambda rt, record: create(rt, replace(record, fork=None)))


def notes_another_scope(patch: pytest.MonkeyPatch) -> None:
    """A fork notes copies of another round of the fan-out than it makes, so that a deletion would not find them."""
    note = forking.note_copies
    patch.setattr(
        forking, "note_copies", lambda rt, name, scope: note(rt, name, replace(scope, iteration=scope.iteration + 1))
    )


def redrives_with_results_of_another(patch: pytest.MonkeyPatch) -> None:
    """A redrive keeps the successful branches of an execution that is called other, if it has any."""

    def mixed(store: Any, workflow: str, scope: Scope, shard: int) -> Any:
        other = branches(store, workflow, replace(scope, execution=Execution("other", BEGUN_MS)), shard)
        renamed = [
            [replace(step, name=replace(step.name, execution=scope.execution)) for step in steps] for steps in other
        ]
        return renamed if any(renamed) else branches(store, workflow, scope, shard)

    branches = redrive.branches_of_shard
    patch.setattr(redrive, "branches_of_shard", mixed)


def redrives_with_results_in_another_order(patch: pytest.MonkeyPatch) -> None:
    """A redrive keeps the successful branches, but not their places."""
    branches = redrive.branches_of_shard
    patch.setattr(redrive, "branches_of_shard", lambda *arguments: list(branches(*arguments))[::-1])


REDRIVE = Faults(crashes=0, duplicates=0, redrives=1)


@pytest.mark.parametrize(
    ("mistake", "graph", "faults", "breaks"),
    [
        (copies_another_execution, CHAIN, ONE, Invariant.OWN_HISTORY),
        (copies_another_execution, MAP, ONE, Invariant.OWN_HISTORY),
        (copies_later_steps, CHAIN, ONE, Invariant.OWN_HISTORY),
        (notes_another_scope, MAP, ONE, Invariant.OWN_HISTORY),
        (begins_before_it_has_copied, CHAIN, NUDGED_AND_CUT_OFF, Invariant.SAME_VIEW),
        (records_a_start, CHAIN, NUDGED_AND_CUT_OFF, Invariant.SAME_VIEW),
        (redrives_with_results_of_another, FAILING, REDRIVE, Invariant.CONSISTENT),
        (redrives_with_results_in_another_order, FAILING, REDRIVE, Invariant.NO_RERUN),
    ],
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], Any],
    graph: Any,
    faults: Faults,
    breaks: Invariant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        search(of(graph, faults, fork_at("C"), starts=(("other", 2),)), range(200))
    assert found.value.invariant is breaks
