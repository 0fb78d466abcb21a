"""Recorded executions end in the same way whatever the platform does to them in between."""

import copy
import os
from typing import Any

import pytest

from tests.golden import adapter
from tests.golden.recordings import cases, judge, needed
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import FanOut, Task, Wait
from unum_simulator.faults import Faults
from unum_simulator.simulation import simulate

SEEDS = int(os.environ.get("UNUM_SEEDS", "50"))
"""Ways through each case."""

FEW_SEEDS = 5
"""Enough where a case has one event: then only its start can be disturbed."""

FAULTS = Faults(crashes=1, duplicates=1, throttles=1, jumps=1)
JUDGED = ("lambda", "pure")

pytestmark = needed


def judged() -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in cases("executions.jsonl") if case["class"] in JUDGED]


def has_events(workflow: Workflow) -> bool:
    fan_outs = [state for state in workflow.states.values() if isinstance(state, FanOut)]
    return any(isinstance(state, Task | Wait) for state in workflow.states.values()) or any(
        not state.pure for state in fan_outs
    )


def ending(workflow: Workflow, case: dict[str, Any], seed: int) -> dict[str, Any]:
    functions = adapter.answering(workflow, judge().TaskPlayer(case), case)
    simulation = simulate(workflow, functions, case["input"], faults=FAULTS, seed=seed, runs=1)
    return adapter.described(simulation.ending)


@pytest.mark.parametrize("case", judged())
def test_execution_ends_as_recorded(case: dict[str, Any]) -> None:
    undisturbed = adapter.run(copy.deepcopy(case["definition"]), case["input"], judge().TaskPlayer(case), case)
    if not judge().compare(case, undisturbed)["ok"]:
        pytest.skip("ends otherwise without faults too")
    workflow = adapter.compiled(copy.deepcopy(case["definition"]))
    seeds = range(SEEDS if has_events(workflow) else FEW_SEEDS)
    endings = {seed: ending(workflow, case, seed) for seed in seeds}
    assert {seed: found for seed, found in endings.items() if not judge().compare(case, found)["ok"]} == {}
