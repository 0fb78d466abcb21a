"""Regions: named nodes that wait for the results of others; what only the Python graph can say."""

from tests.simulation.definitions import Graph, varying
from tests.simulation.recovery_scenarios import fails
from unum_compiler import graph as g
from unum_runtime.model.states import Json
from unum_simulator.scenario import Context

_PAPER = {
    "a": g.task("a"),
    "b": g.task("b").after("a"),
    "c": g.task("c").after("a"),
    "d": g.task("d").after("b", "c"),
    "e": g.task("e").after("c"),
    "f": g.task("f").after("d", "e"),
}
"""The graph in the garbage collection of the paper: a fan-in of nodes that have fanned out."""

_CELLS = {f"c{row}{column}": (row, column) for row in range(3) for column in range(3)}


def _cell(row: int, column: int) -> g.Piece:
    before = [f"c{row - 1}{column}"] * (row > 0) + [f"c{row}{column - 1}"] * (column > 0)
    node = g.task(f"c{row}{column}")
    return node.after(*before) if before else node


_BOTH = {"left": g.task("a"), "right": g.task("b"), "both": g.task("c").after("left", "right")}
_FUNCTIONS = dict.fromkeys("abcdef", varying)


def _first_run(_event: Json, context: Context) -> bool:
    return context.run == 0


def _odd_run(_event: Json, context: Context) -> bool:
    return context.run % 2 == 0


def _before_redrive(_event: Json, context: Context) -> bool:
    return "@2." in context.unum.invocation


def _with(name: str, node: g.Piece) -> g.Piece:
    return g.dag({**_PAPER, name: node})


REGIONS: dict[str, Graph] = {
    "region": Graph(g.dag(_PAPER), _FUNCTIONS),
    "region of two sources": Graph(g.dag(_BOTH), _FUNCTIONS),
    "region of two sinks": Graph(
        g.dag({"a": g.task("a"), "b": g.task("b").after("a"), "c": g.task("c").after("a")}) >> g.task("d"), _FUNCTIONS
    ),
    "region in a chain": Graph(g.task("a") >> g.dag(_BOTH) >> g.task("d"), _FUNCTIONS),
    "wavefront": Graph(g.dag({name: _cell(*at) for name, at in _CELLS.items()}), dict.fromkeys(_CELLS, varying)),
    "region in a map": Graph(g.map(g.dag(_BOTH), items=g.out) >> g.task("d"), _FUNCTIONS, [1, 2]),
    "region of longer nodes": Graph(
        g.dag(
            {
                "left": g.task("a") >> g.task("b"),
                "right": g.shape({"by": "right"}),
                "both": (g.task("c") >> g.task("d")).after("left", "right"),
                "last": g.shape(g.out["both"]).after("both"),
            }
        ),
        _FUNCTIONS,
    ),
    "map in a region": Graph(
        g.dag(
            {
                "items": g.task("a"),
                "each": g.map(g.task("b"), items=g.out["items"]).after("items"),
                "sum": g.task("c").after("items", "each"),
            }
        ),
        {**_FUNCTIONS, "a": lambda _event, context: [1] * (1 + context.run % 2)},
    ),
    "region that fails": Graph(_with("d", g.task("d").after("b", "c")), {**_FUNCTIONS, "d": fails(_before_redrive)}),
    "region whose failure is caught": Graph(g.dag(_BOTH).catch(then=g.task("d")), {**_FUNCTIONS, "b": fails(_odd_run)}),
    "region that is retried": Graph(g.dag(_BOTH).retry(attempts=1), {**_FUNCTIONS, "c": fails(_first_run)}),
    "retry in a region": Graph(
        g.dag({**_BOTH, "right": g.task("b").retry(attempts=1)}), {**_FUNCTIONS, "b": fails(_first_run)}
    ),
    "catch in a region": Graph(
        g.dag({**_BOTH, "right": g.task("b").catch(then=g.task("d"))}), {**_FUNCTIONS, "b": fails(_first_run)}
    ),
    "region with variables": Graph(
        g.let(start=g.out)
        >> g.dag({**_BOTH, "both": (g.task("c") >> g.task("d", input={"at": g.var("start")})).after("left", "right")}),
        _FUNCTIONS,
    ),
    "region with its time": Graph(
        g.dag({**_BOTH, "both": g.task("c", input={"at": g.context["State"]["EnteredTime"]}).after("left", "right")}),
        _FUNCTIONS,
    ),
    "region with a wait": Graph(
        g.dag({**_BOTH, "both": (g.wait(5) >> g.task("c")).after("left", "right")}), _FUNCTIONS
    ),
}
"""Nodes that begin when all their sources have ended."""
