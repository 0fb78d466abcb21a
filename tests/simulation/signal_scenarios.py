"""Searches of signals."""

from typing import Any

from tests.simulation.definitions import Graph, machine, map_, task
from tests.simulation.executions import stamped
from tests.simulation.recovery_scenarios import Flaky, catch, retry
from unum_runtime.model.states import Json
from unum_runtime.protocol.runtime import CallbackPending
from unum_simulator import Context, Faults, Scenario

ONE = Faults(crashes=0, duplicates=0, signals=1)
TWO = Faults(crashes=0, duplicates=0, signals=2)
NEVER = Faults(crashes=0, duplicates=0)
CRASH = Faults(crashes=1, duplicates=0, signals=1)
DUPLICATE = Faults(crashes=0, duplicates=1, signals=1)
REPEATED = Faults(crashes=0, duplicates=0, repeats=1, signals=1)
LOST = Faults(crashes=0, duplicates=0, vanishes=1, signals=1)
GIVEN_UP = Faults(crashes=0, duplicates=0, give_ups=1, signals=1)
RESENT = Faults(crashes=0, duplicates=0, signals=2, concurrency=1)
RETRIED = Faults(crashes=0, duplicates=0, signals=1, concurrency=1)
WIDE = Faults(
    crashes=2, duplicates=2, throttles=2, stops=1, nudges=1, redrives=1, skews=1, repeats=1, splits=1, give_ups=1,
    signals=5, concurrency=3,
)  # fmt: skip


def waits(following: str | None = None, **fields: Json) -> Json:
    """A Task that waits for a signal."""
    return task("unum:signal:go", following, **fields)


def nothing(_event: Json, _context: Context) -> Any:
    return CallbackPending()


def flaky(_event: Json, context: Context) -> Json:
    """Fails in the first attempt of the Parallel around it."""
    if ".0[" in context.unum.invocation:
        raise Flaky("in the first attempt")
    return 1


FUNCTIONS = {"$services": nothing, "b": stamped, "flaky": flaky}
GRAPHS = {
    "for ever": Graph(machine(A=waits("B"), B=task("b")), FUNCTIONS),
    "timeout": Graph(machine(A=waits("B", TimeoutSeconds=60), B=task("b")), FUNCTIONS),
    "retry": Graph(
        machine(A=waits("B", TimeoutSeconds=60, Retry=retry("States.ALL"), Catch=catch("B")), B=task("b")), FUNCTIONS
    ),
    "later": Graph(machine(Z=task("b", "A"), A=waits("B"), B=task("b")), FUNCTIONS),
    "abandoned": Graph(
        machine(
            P={
                "Type": "Parallel",
                "Branches": [machine(A=waits()), machine(F=task("flaky"))],
                "Retry": retry("Flaky"),
                "Next": "B",
            },
            B=task("b"),
        ),
        FUNCTIONS,
    ),
    "twice": Graph(machine(A=waits("B"), B=task("b", "C"), C=waits("D"), D=task("b")), FUNCTIONS),
    "branches": Graph(
        machine(M=map_(machine(A=waits(TimeoutSeconds=60)), "B", ItemsPath="$.items"), B=task("b")),
        FUNCTIONS,
        {"items": [1, 2]},
    ),
    "keys": Graph(
        machine(M=map_(machine(A=waits(Parameters={"Key.$": "$"})), "B", ItemsPath="$.items"), B=task("b")),
        FUNCTIONS,
        {"items": ["x", "y"]},
    ),
}
KEYED = {"keys": (("go", "x"), ("go", "y"))}


def of(graph: str, faults: Faults, **fields: Any) -> Scenario:
    found, signals = GRAPHS[graph], KEYED.get(graph, (("go", ""),))
    return Scenario(
        workflow=found.workflow(),
        functions=found.functions,
        input=found.input,
        faults=faults,
        signals=signals,
        **fields,
    )
