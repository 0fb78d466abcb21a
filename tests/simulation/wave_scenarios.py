"""Waves: a Task waits for a result of the branch before; what only the Python graph can say."""

from dataclasses import replace

from tests.simulation.definitions import Graph, varying
from tests.simulation.recovery_scenarios import fails
from unum_compiler import graph as g
from unum_runtime.model.states import Json
from unum_simulator.scenario import Context

_FUNCTIONS = dict.fromkeys("abcd", varying)
_DISTRIBUTED = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
_ENCODE, _REBASE = g.task("a"), g.task("b").after_previous("b")
_ROW = _ENCODE >> _REBASE


def _index(context: Context) -> int:
    return int(context.unum.invocation.rpartition("[")[2].partition("]")[0])


def _first_run_of_the_second(_event: Json, context: Context) -> bool:
    return _index(context) == 1 and context.run == 0


def _second_before_redrive(_event: Json, context: Context) -> bool:
    return _index(context) == 1 and "@2." in context.unum.invocation


WAVES: dict[str, Graph] = {
    "wave": Graph(g.map(_ROW, items=g.out) >> g.task("c"), _FUNCTIONS, [1, 2]),
    "wave of three": Graph(g.map(_ROW, items=g.out), _FUNCTIONS, [1, 2, 3]),
    "wave of another step": Graph(
        g.map(_ENCODE >> g.task("b").after_previous("a"), items=g.out) >> g.task("c"), _FUNCTIONS, [1, 2]
    ),
    "wave of a later step": Graph(
        g.map(_ENCODE >> g.task("b").after_previous("c") >> g.task("c"), items=g.out), _FUNCTIONS, [1, 2]
    ),
    "wave of two steps": Graph(
        g.map(_ENCODE >> _REBASE >> g.task("c").after_previous("b") >> g.task("d"), items=g.out), _FUNCTIONS, [1, 2, 3]
    ),
    "wave in a lane": Graph(g.map(_ROW, items=g.out, at_once=1), _FUNCTIONS, [1, 2]),
    "wave in lanes": Graph(g.map(_ROW, items=g.out, at_once=2) >> g.task("c"), _FUNCTIONS, [1, 2, 3]),
    "wave in a distributed map": Graph(
        replace(g.map(_ROW, items=g.out, at_once=2), config={"ProcessorConfig": _DISTRIBUTED}) >> g.task("c"),
        _FUNCTIONS,
        [1, 2, 3],
    ),
    "wave around a map": Graph(
        g.map(
            _ENCODE >> g.map(g.task("c"), items=g.out) >> g.task("d") >> g.task("b").after_previous("a"), items=g.out
        ),
        {**_FUNCTIONS, "a": lambda _event, context: [1] * (1 + context.run % 2)},
        [1, 2],
    ),
    "wave in a map": Graph(g.map(g.map(_ROW, items=g.out), items=g.out), _FUNCTIONS, [[1, 2], [3, 4]]),
    "wave with a choice": Graph(
        g.map(
            _ENCODE >> g.choose((g.out == 1, g.task("c"))) >> g.task("d") >> g.task("b").after_previous("d"),
            items=g.out,
        ),
        {**_FUNCTIONS, "a": lambda event, _context: event},
        [1, 2],
    ),
    "wave that fails": Graph(g.map(_ROW, items=g.out), {**_FUNCTIONS, "b": fails(_second_before_redrive)}, [1, 2, 3]),
    "wave whose first step fails": Graph(
        g.map(_ROW, items=g.out), {**_FUNCTIONS, "a": fails(_second_before_redrive)}, [1, 2, 3]
    ),
    "wave that is retried": Graph(
        g.map(_ROW, items=g.out).retry(attempts=1),
        {**_FUNCTIONS, "b": fails(_first_run_of_the_second)},
        [1, 2],
    ),
    "retry in a wave": Graph(
        g.map(_ENCODE >> g.task("b").after_previous("b").retry(attempts=1), items=g.out),
        {**_FUNCTIONS, "b": fails(_first_run_of_the_second)},
        [1, 2, 3],
    ),
    "catch in a wave": Graph(
        g.map(_ENCODE.catch() >> g.task("b").after_previous("a").catch(then=g.task("c")), items=g.out),
        {**_FUNCTIONS, "a": fails(_first_run_of_the_second), "b": fails(_first_run_of_the_second)},
        [1, 2, 3],
    ),
    "wave with variables": Graph(
        g.map(_ENCODE.assign(seen=g.out) >> _REBASE >> g.task("c", input={"seen": g.var("seen")}), items=g.out),
        _FUNCTIONS,
        [1, 2],
    ),
    "wave with its time": Graph(
        g.map(_ENCODE >> g.task("b", input={"at": g.context["State"]["EnteredTime"]}).after_previous("a"), items=g.out),
        _FUNCTIONS,
        [1, 2],
    ),
    "wave with small results": Graph(g.map(_ROW, items=g.out), _FUNCTIONS, [1, 2, 3], small_results=True),
}
"""A Task that begins when its own branch reaches it and the branch before has a result."""
