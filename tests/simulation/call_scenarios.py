"""Searches of calls: programs that call a Task with equal and other keys, beside an execution."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.simulation.definitions import Graph, machine, task
from tests.simulation.recovery_scenarios import Flaky, retry
from unum_compiler.options import FunctionOptions
from unum_runtime.model.states import Json
from unum_runtime.model.variants import called
from unum_simulator import Context, Faults, Scenario

EQUAL: tuple[Json, ...] = ({"n": 1, "x": 1}, {"n": 1, "x": 2})
"""Arguments with the same key, but others beside it."""

HOUR_S = 3_600

ONE = Faults(crashes=0, duplicates=0, calls=1)
TWO = Faults(crashes=0, duplicates=0, calls=2)
CRASH = Faults(crashes=1, duplicates=0, calls=1)
DUPLICATE = Faults(crashes=0, duplicates=1, calls=1)
THROTTLED = Faults(crashes=0, duplicates=0, throttles=1, calls=1)
LOST = Faults(crashes=0, duplicates=0, vanishes=1, calls=1)
GIVEN_UP = Faults(crashes=0, duplicates=0, give_ups=1, calls=1)
STOPPED = Faults(crashes=0, duplicates=0, stops=1, calls=1)
FORGOTTEN = Faults(crashes=0, duplicates=0, calls=2, forgets=1, concurrency=1)
EXPIRED = Faults(crashes=0, duplicates=0, calls=2, jumps=1, jump_s=(2 * HOUR_S,), concurrency=1)
WIDE = Faults(
    crashes=2, duplicates=2, throttles=2, stops=1, nudges=1, skews=1, repeats=1, splits=1, give_ups=1, vanishes=1,
    calls=5, forgets=1, jumps=2, jump_s=(61, 2 * HOUR_S), concurrency=3,
)  # fmt: skip


def unique(event: Json, context: Context) -> Json:
    """Return a value that no other run of user code returns."""
    return {"of": event, "by": f"{context.unum.invocation} {context.unum.state} run {context.run}"}


def at_the_second_try(event: Json, context: Context) -> Json:
    if context.unum.attempt == 0:
        raise Flaky("at first")
    return unique(event, context)


def never(event: Json, context: Context) -> Json:
    raise ValueError(unique(event, context))


FUNCTIONS: dict[str, Callable[[Json, Context], Json]] = {"plain": unique, "retry": at_the_second_try, "failing": never}


def of(
    faults: Faults,
    kind: str = "plain",
    calls: tuple[Json, ...] = EQUAL,
    *,
    lifetime_s: int | None = None,
    **fields: Any,
) -> Scenario:
    """Programs call the Task A of a workflow; `kind` says what its user code does."""
    machine_ = machine(A=task("a", **({"Retry": retry("Flaky")} if kind == "retry" else {})))
    graph = Graph(machine_, {"a": FUNCTIONS[kind]}, options={"a": FunctionOptions(memoize=True)})
    workflow = graph.workflow()
    own = replace(workflow.task("A"), memo_key=(("n",),), memo_lifetime_s=lifetime_s)
    variant = called(replace(workflow, states={**workflow.states, "A": own}), "A")
    return Scenario(workflow=variant, functions=graph.functions, faults=faults, calls=calls, **fields)
