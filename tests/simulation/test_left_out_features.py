"""Whatever the protocol does with a workflow, it loads nothing that the workflow's layer leaves out."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.simulation import signal_scenarios
from tests.simulation.definitions import Graph
from tests.simulation.generated_workflows import by_seed, generated, small_sizes
from tests.simulation.graphs import GRAPHS
from tests.simulation.left_out import leave_out_unused
from tests.simulation.neighbour_scenarios import MEETINGS, QUORUMS
from tests.simulation.pack_scenarios import PACKED
from tests.simulation.recovery_scenarios import RECOVERING
from tests.simulation.region_scenarios import REGIONS
from tests.simulation.scenarios import HARSH
from tests.simulation.wave_scenarios import WAVES
from unum_constructs.layer import features
from unum_runtime.model.ir import Collection
from unum_simulator import Scenario, Violation, search

SEEDS = range(150)
"""Numbers of generated workflows, which have every feature of the protocol and all faults."""

MISSING = "ModuleNotFoundError"

NAMED = {**GRAPHS, **MEETINGS, **QUORUMS, **PACKED, **RECOVERING, **REGIONS, **WAVES}


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_workflow_needs_its_layer_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = by_seed(seed)
    with small_sizes(choose):
        scenario = generated(choose)
        leave_out_unused(monkeypatch, scenario)
        with no_missing_module():
            search(scenario, range(2))


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("collection", Collection)
def test_named_workflow_needs_its_layer_alone(
    name: str, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = scenario_of(NAMED[name], collection)
    leave_out_unused(monkeypatch, scenario)
    with no_missing_module():
        search(scenario, range(3))


@pytest.mark.parametrize("name", signal_scenarios.GRAPHS)
def test_waits_for_signals_need_their_layer_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = signal_scenarios.of(name, signal_scenarios.WIDE)
    leave_out_unused(monkeypatch, scenario)
    with no_missing_module():
        search(scenario, range(10))


@contextmanager
def no_missing_module() -> Iterator[None]:
    """Fail if a delivery lacks a module; what else may be wrong with a scenario, other tests find."""
    try:
        yield
    except Violation as violation:
        if MISSING in str(violation):
            raise


def scenario_of(graph: Graph, collection: Collection) -> Scenario:
    return Scenario(
        workflow=graph.workflow(),
        functions=graph.functions,
        input=graph.input,
        faults=HARSH,
        collection=collection,
    )


@pytest.mark.parametrize(
    ("folder", "graph"),
    [
        ("features/timers", RECOVERING["retry of a leased task"]),
        ("features/eager_collection", next(iter(GRAPHS.values()))),
        ("features/waves", next(iter(WAVES.values()))),
        ("features/regions", next(iter(REGIONS.values()))),
        ("features/task_tokens", signal_scenarios.GRAPHS["for ever"]),
    ],
)
def test_folder_that_is_left_out_and_needed_is_found(
    folder: str, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "USED_BY", {**features.USED_BY, folder: lambda _facts: False})
    scenario = scenario_of(graph, Collection.EAGER)
    leave_out_unused(monkeypatch, scenario)
    with pytest.raises(Violation, match=f"{MISSING}.*{folder.replace('/', '.')}"):
        search(scenario, range(20))
