"""Fan-outs whose results lie in packs, or have no room there, or are kept elsewhere."""

from collections.abc import Mapping

from tests.simulation.definitions import Graph, choice, machine, map_, parallel, pass_, task, varying
from tests.simulation.recovery_scenarios import fails
from unum_runtime.model.pack import MAX_ENTRY_BYTES
from unum_runtime.model.states import Json
from unum_simulator import Context, Function

LARGE = "x" * MAX_ENTRY_BYTES


def large_or_small(event: Json, context: Context) -> Json:
    """Return results that fit into a pack on every other run, in another order per branch."""
    return [varying(event, context), LARGE if (_number(event) + context.run) % 2 else ""]


def large_at_first(event: Json, context: Context) -> Json:
    """Fits into a pack from the second run on."""
    return [varying(event, context), "" if context.run else LARGE]


def _number(event: Json) -> int:
    return event if isinstance(event, int) else 0


def _mapped(branch: Json, functions: Mapping[str, Function], items: Json = (1, 2, 3), **fields: Json) -> Graph:
    definition = machine(M=map_(branch, "C", **fields), C=task("c"))
    return Graph(definition, {"c": varying, **functions}, list(items), small_results=True)


TASK = machine(B=task("b"))

_WHICH = choice(({"Variable": "$.again", "BooleanEquals": True}, "D"), default="End")

PACKED: dict[str, Graph] = {
    "results in packs": _mapped(TASK, {"b": varying}, (1, 2)),
    "results of two sizes": _mapped(TASK, {"b": large_or_small}, (1, 2)),
    "results that are large at first": _mapped(TASK, {"b": large_at_first}, (1, 2)),
    "results in packs that fail": _mapped(
        TASK, {"b": fails(lambda event, context: event == 2 and context.run % 2 == 0)}, (1, 2)
    ),
    "results of two steps": _mapped(
        machine(A=task("a", "B"), B=task("b")), {"a": varying, "b": large_or_small}, (1, 2)
    ),
    "limited map in packs": _mapped(TASK, {"b": large_or_small}, MaxConcurrency=1),
    "tolerated failures in packs": _mapped(
        {**TASK, "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}},
        {"b": fails(lambda event, context: event == 2 and context.run % 2 == 0)},
        ToleratedFailureCount=1,
    ),
    "pure states behind results": _mapped(
        machine(
            B=task("b", "P"),
            P=pass_("Which"),
            Which=choice(({"Variable": "$.run", "NumericEquals": 0}, "Good"), default="Bad"),
            Good={"Type": "Succeed"},
            Bad={"Type": "Fail", "Error": "Bad"},
        ),
        {"b": varying},
        (1, 2),
    ),
    "branches that end elsewhere": Graph(
        machine(
            P=parallel(
                machine(A=task("a")),
                machine(B=task("b", "Which"), Which=_WHICH, D=task("d"), End={"Type": "Succeed"}),
                machine(E=task("e", "N"), N=map_(machine(F=task("f")), ItemsPath="$.items")),
                machine(Q=pass_()),
                following="C",
            ),
            C=task("c"),
        ),
        {
            **dict.fromkeys("abcdf", large_or_small),
            "b": lambda event, context: {"again": (event + context.run) % 2 == 0},
            "e": lambda _event, context: {"items": [1, 2 + context.run]},
        },
        small_results=True,
    ),
    "retry of a map in packs": _mapped(
        TASK,
        {"b": fails(lambda event, context: event == 2 and context.run == 0)},
        (1, 2),
        Retry=[{"ErrorEquals": ["States.ALL"], "MaxAttempts": 1}],
    ),
    "packs without a join": Graph(
        machine(M=map_(machine(B=task("b")), ResultPath="$.done", ItemsPath="$.items")),
        {"b": large_or_small},
        {"items": [1, 2]},
        small_results=True,
    ),
}
