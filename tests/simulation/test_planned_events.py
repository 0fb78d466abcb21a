"""The failure handler plans given up events again: each keeps its attempt, whatever is stored of other attempts."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulation import signal_scenarios, test_task_tokens
from tests.simulation.definitions import Graph
from tests.simulation.recovery_scenarios import RECOVERING
from tests.simulation.scenarios import HOUR_S
from unum_runtime.cold_start.records import replace
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.control import take_over
from unum_runtime.protocol.delivery import run_task
from unum_simulator import Faults, Invariant, Scenario, Violation, search

WIDE = Faults(
    crashes=2, duplicates=2, throttles=2, nudges=1, redrives=1, splits=1, give_ups=4, answers=3, signals=3, jumps=2,
    jump_s=(900, 7 * HOUR_S), concurrency=3,
)  # fmt: skip
GRAPHS: dict[str, Graph] = {
    **{name: RECOVERING[name] for name in ("retry of a job", "jobs of branches")},
    **{f"token, {name}": test_task_tokens.GRAPHS[name] for name in ("retry", "failing", "heartbeat")},
    **{f"signal, {name}": signal_scenarios.GRAPHS[name] for name in ("retry", "branches")},
}
SEEDS = 12


def of(graph: str, **fields: Any) -> Scenario:
    found = GRAPHS[graph]
    signals = (("go", ""),) if graph.startswith("signal") else ()
    return Scenario(
        workflow=found.workflow(),
        functions=found.functions,
        input=found.input,
        faults=WIDE,
        signals=signals,
        tick_ms=1,
        **fields,
    )


@pytest.mark.parametrize("collection", Collection)
@pytest.mark.parametrize("graph", GRAPHS)
def test_planned_events_keep_their_attempts(graph: str, collection: Collection) -> None:
    seeds = range(5 * SEEDS if graph.startswith("signal") else SEEDS)
    assert search(of(graph, collection=collection), seeds).ends == len(seeds)


def takes_late_events_for_the_last_attempt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(take_over, "_last_started", lambda _effect: None)


def forgets_attempts(patch: pytest.MonkeyPatch) -> None:
    """An event whose attempt has not begun becomes one of the first attempt."""
    patch.setattr(take_over, "_last_started", lambda _effect: None)
    of_event = take_over.TakeOver.of
    patch.setattr(take_over.TakeOver, "of", lambda event, address: replace(of_event(event, address), retries=()))


@pytest.mark.parametrize(
    ("mistake", "graph"),
    [
        (takes_late_events_for_the_last_attempt, "retry of a job"),
        (takes_late_events_for_the_last_attempt, "token, failing"),
        (forgets_attempts, "retry of a job"),
        (forgets_attempts, "token, retry"),
    ],
)
def test_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], None], graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        search(of(graph), range(5 * SEEDS))
    assert found.value.invariant is Invariant.CONSISTENT


def test_failure_of_a_try_without_a_slot_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A late delivery takes a signal, although the failure of its try was committed."""
    monkeypatch.setattr(run_task, "_take_slot", run_task._in_slot)
    with pytest.raises(Violation) as found:
        search(of("signal, branches", collection=Collection.EAGER), range(5 * SEEDS))
    assert found.value.invariant is Invariant.CONSISTENT
