"""Searches of graphs: short ones for the tests, and as long as asked for `search.py`."""

from dataclasses import replace
from typing import Any

from tests.simulation.graphs import GRAPHS
from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Task
from unum_simulator import Faults, Scenario

HOUR_S = 3600

CRASH = Faults(crashes=1, duplicates=0)
DUPLICATE = Faults(crashes=0, duplicates=1)
BOTH = Faults(crashes=1, duplicates=1)
HARSH = Faults(crashes=3, duplicates=3, throttles=2, losses=1, jumps=2, concurrency=3)
STOP = Faults(crashes=0, duplicates=0, stops=1)
STOPS = Faults(crashes=2, duplicates=2, throttles=1, losses=1, jumps=1, stops=2, concurrency=3)
LATE = Faults(crashes=1, duplicates=4, jumps=4, jump_s=(3 * HOUR_S, 5 * HOUR_S), concurrency=1)

RANDOM: dict[str, dict[str, Any]] = {
    "everything": {"faults": HARSH, "tick_ms": 1},
    "eager": {"faults": HARSH, "tick_ms": 1, "collection": Collection.EAGER},
    "in one function": {"faults": HARSH, "tick_ms": 1, "in_one_function": True},
    "stopped in one function": {"faults": STOPS, "tick_ms": 1, "in_one_function": True},
    "stopped": {"faults": STOPS, "tick_ms": 1},
    "stopped, eager": {"faults": STOPS, "tick_ms": 1, "collection": Collection.EAGER},
    "late": {
        "faults": LATE,
        "tick_ms": 1,
        "by_client": True,
        "retention_s": 15 * HOUR_S,
        "result_retention_s": 60 * HOUR_S,
    },
}
"""Fields of a scenario, for random searches."""


def scenario(graph: str, *, in_one_function: bool = False, **fields: Any) -> Scenario:
    """`graph` with its own functions and input, or with all of its Tasks in one function, as far as they are fused."""
    found = GRAPHS[graph]
    given = Scenario(workflow=found.workflow(), functions=found.functions, input=found.input, **fields)
    return fused(given) if in_one_function else given


def fused(given: Scenario) -> Scenario:
    """`given` with all Tasks in one function."""
    states = {
        name: replace(state, function="one") if isinstance(state, Task) else state
        for name, state in given.workflow.states.items()
    }
    handlers = {task.name: given.handler(task.name) for task in given.workflow.tasks}
    return replace(given, workflow=replace(given.workflow, states=states), functions=handlers)
