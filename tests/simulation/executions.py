"""Workflows for worlds of several executions: each result says whose it is and what it was made of."""

from typing import Any

from tests.simulation.definitions import Graph, machine, map_, task
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.forks.fork import ForkRequest
from unum_simulator import Context, Faults, Scenario
from unum_simulator.invariants import STAMP, stamps

FIRST = "execution"
"""Name of a scenario's first execution."""


def stamped(event: Json, context: Context) -> Json:
    """Return a value that no other run returns, with the stamps of what it was made of."""
    made_of = [{STAMP: stamp} for stamp in dict.fromkeys(stamps(event))]
    return {STAMP: f"{context.unum.invocation} {context.unum.state} run {context.run}", "of": made_of}


def _two(event: Json, context: Context) -> Json:
    return [stamped(event, context), stamped(event, context)]


def _fails_at_first(event: Json, context: Context) -> Json:
    """Fail the second branch until a redrive has entered the Map anew."""
    step = int(context.unum.invocation.split("@")[1].split(".")[0])
    if step <= 2 and "[1]" in context.unum.invocation:
        raise RuntimeError("not yet")
    return stamped(event, context)


CHAIN = Graph(machine(A=task("a", "B"), B=task("b", "C"), C=task("c")), dict.fromkeys("abc", stamped))
MAP = Graph(
    machine(A=task("a", "M"), M=map_(machine(P=task("p")), "C"), C=task("c")), {"a": _two, "p": stamped, "c": stamped}
)
FAILING = Graph(
    machine(A=task("a", "M"), M=map_(machine(P=task("p")), "C"), C=task("c")),
    {"a": _two, "p": _fails_at_first, "c": stamped},
)


def of(graph: Graph, faults: Faults, *forks: ForkRequest, **fields: Any) -> Scenario:
    """`graph` with requests for forks, which operators may make."""
    return Scenario(
        workflow=graph.workflow(), functions=graph.functions, input=graph.input, faults=faults, forks=forks, **fields
    )


def fork_at(node: str, value: Json = None, name: str = "fork") -> ForkRequest:
    """A request for a fork of the first execution, with another input if `value` is not None."""
    return ForkRequest(execution=FIRST, name=name, node=node, value=None if value is None else Success(value))
