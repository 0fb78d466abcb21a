"""Searches of signals by key."""

from typing import Any

from tests.simulation.definitions import Graph, machine, map_, task
from tests.simulation.recovery_scenarios import catch, retry
from tests.simulation.signal_scenarios import FUNCTIONS, waits
from unum_runtime.model.states import Json
from unum_simulator import Faults, Scenario

KEY: dict[str, Json] = {"Parameters": {"Key": "x"}}
GRAPHS = {
    "for ever": Graph(machine(A=waits(**KEY)), FUNCTIONS),
    "later": Graph(machine(Z=task("b", "A"), A=waits(**KEY)), FUNCTIONS),
    "timeout": Graph(machine(A=waits("B", TimeoutSeconds=60, **KEY, Catch=catch("B")), B=task("b")), FUNCTIONS),
    "retry": Graph(machine(A=waits(TimeoutSeconds=60, **KEY, Retry=retry("States.ALL"))), FUNCTIONS),
    "twice": Graph(machine(A=waits("C", **KEY), C=waits(**KEY)), FUNCTIONS),
    "branches": Graph(machine(M=map_(machine(A=waits(**KEY)), ItemsPath="$.items")), FUNCTIONS, {"items": [1, 2]}),
}


def of(graph: str, faults: Faults, *, others: int = 0, **fields: Any) -> Scenario:
    """A search in which signals go to all executions: the first one, and `others`."""
    found = GRAPHS[graph]
    return Scenario(
        workflow=found.workflow(),
        functions=found.functions,
        input=found.input,
        faults=faults,
        signals=(("go", "x"),),
        by_key=True,
        starts=tuple((f"other-{number}", found.input) for number in range(others)),
        **fields,
    )
