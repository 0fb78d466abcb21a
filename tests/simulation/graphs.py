"""Small workflows of every shape, with functions that return something else on every run."""

from tests.simulation.definitions import Graph, choice, machine, map_, parallel, pass_, task, varying
from tests.simulation.neighbour_scenarios import MEETINGS, QUORUMS
from tests.simulation.pack_scenarios import PACKED
from tests.simulation.recovery_scenarios import RECOVERING
from tests.simulation.region_scenarios import REGIONS
from tests.simulation.wave_scenarios import WAVES
from tests.simulation.wide_fan_outs import LANES, PARTED
from unum_compiler.options import FunctionOptions
from unum_runtime.model.states import Guard, Json
from unum_simulator.scenario import Context


def three_then_five(_event: Json, context: Context) -> Json:
    """Three items at first, five on every later run."""
    return list(range(5 if context.run else 3))


def two_then_three(_event: Json, context: Context) -> Json:
    """Two items at first, three on every later run."""
    return list(range(3 if context.run else 2))


def _count(event: Json, _context: Context) -> Json:
    return {**event, "round": event["round"] + 1}


def _product(event: Json, _context: Context) -> Json:
    return event[0] * 10 + event[1]


def _pairs(event: Json, _context: Context) -> Json:
    return [[event, other] for other in range(1, 4)]


def _same(event: Json, _context: Context) -> Json:
    return event


def _nested(rows: Json) -> Graph:
    definition = machine(Rows=map_(machine(Columns=map_(machine(Cell=task("cell")))), "Sum"), Sum=task("sum"))
    return Graph(definition, {"cell": varying, "sum": varying}, rows)


_LOOP = machine(
    Work=task("work", "Again"),
    Again=choice(({"Variable": "$.round", "NumericLessThan": 3}, "Work"), default="Done"),
    Done={"Type": "Succeed"},
)

GRAPHS: dict[str, Graph] = {
    "chain": Graph(machine(A=task("a", "B"), B=task("b", "C"), C=task("c")), dict.fromkeys("abc", varying)),
    "diamond": Graph(
        machine(
            A=task("a", "P"),
            P=parallel(machine(B=task("b")), machine(C=task("c")), following="D"),
            D=task("d"),
        ),
        dict.fromkeys("abcd", varying),
    ),
    "map": Graph(
        machine(A=task("a", "M"), M=map_(machine(B=task("b")), "C"), C=task("c")),
        {"a": two_then_three, "b": varying, "c": varying},
    ),
    "map without join": Graph(
        machine(A=task("a", "M"), M=map_(machine(B=task("b")))), {"a": two_then_three, "b": varying}
    ),
    "nested maps": Graph(
        machine(
            A=task("a", "Rows"),
            Rows=map_(machine(Pairs=task("pairs", "Columns"), Columns=map_(machine(Cell=task("product")))), "Sum"),
            Sum=task("same"),
        ),
        {"a": lambda _event, _context: [1, 2, 3], "pairs": _pairs, "product": _product, "same": _same},
    ),
    "nested maps in place": _nested([[1, 2], [3]]),
    "nested maps of one row": _nested([[1, 2]]),
    "nested maps of one column": _nested([[1], [2]]),
    "map in a loop": Graph(
        machine(
            Split=task("split", "Each"),
            Each=map_(machine(Work=task("work")), "More", ItemsPath="$.items", ResultPath="$.done"),
            More=choice(({"Variable": "$.round", "NumericLessThan": 2}, "Split"), default="Done"),
            Done={"Type": "Succeed"},
        ),
        {
            "split": lambda event, context: {"round": event["round"] + 1, "items": [context.run, event["round"]]},
            "work": varying,
        },
        {"round": 0},
    ),
    "loop in a map": Graph(
        machine(Each=map_(_LOOP, "Sum"), Sum=task("sum")),
        {"work": _count, "sum": varying},
        [{"round": 1, "of": "one"}, {"round": 2, "of": "other"}],
    ),
    "conditional ends": Graph(
        machine(
            A=task("a", "M"),
            M=map_(
                machine(
                    B=task("b", "Which"),
                    Which=choice(({"Variable": "$.big", "BooleanEquals": True}, "Big"), default="Small"),
                    Big=task("big"),
                    Small={"Type": "Succeed"},
                ),
                "C",
            ),
            C=task("c"),
        ),
        {
            "a": two_then_three,
            "b": lambda event, context: {"big": (event + context.run) % 2 == 0},
            "big": varying,
            "c": varying,
        },
    ),
    "empty map": Graph(
        machine(A=task("a", "M"), M=map_(machine(B=task("b")), "C"), C=task("c")),
        {"a": lambda _event, context: [1] * min(context.run, 1), "b": varying, "c": varying},
    ),
    "one function at both ends": Graph(
        machine(
            A=task("a", "P"),
            P=parallel(machine(B=task("b", "BEnd"), BEnd=task("end")), machine(CEnd=task("end")), following="D"),
            D=task("d"),
        ),
        {"a": varying, "b": varying, "end": varying, "d": varying},
    ),
    "limited map": Graph(
        machine(A=task("a", "M"), M=map_(machine(B=task("b")), "C", MaxConcurrency=1), C=task("c")),
        {"a": two_then_three, "b": varying, "c": varying},
    ),
    "limited map without join": Graph(
        machine(A=task("a", "M"), M=map_(machine(B=task("b")), MaxConcurrency=2)),
        {"a": three_then_five, "b": varying},
    ),
    "branches without tasks": Graph(
        machine(
            P=parallel(machine(B=pass_(Result="quick")), machine(C=task("c")), machine(E=pass_()), following="D"),
            D=task("d"),
        ),
        {"c": varying, "d": varying},
    ),
    "fan-out first": Graph(
        machine(P=parallel(machine(B=task("b")), machine(C=task("c")))), {"b": varying, "c": varying}
    ),
    "prefixes": Graph(
        machine(P=parallel(machine(F1=task("F1")), machine(F10=task("F10")), following="F100"), F100=task("F100")),
        dict.fromkeys(["F1", "F10", "F100"], varying),
    ),
    "failing branches": Graph(
        machine(
            A=task("a", "P"),
            P=parallel(
                machine(B=task("b", "Odd"), Odd={"Type": "Fail", "Error": "Odd"}),
                machine(C=task("c", "Even"), Even={"Type": "Fail", "Error": "Even"}),
                machine(E=task("e", "F"), F=task("f")),
                following="D",
            ),
            D=task("d"),
        ),
        dict.fromkeys("abcdef", varying),
    ),
    "failing map in a branch": Graph(
        machine(
            P=parallel(
                machine(M=map_(machine(B=task("b")), "C"), C=task("c")),
                machine(E=task("e")),
                InputPath="$",
            ),
        ),
        {"b": lambda event, context: {"ok": 1 // (event - context.run)}, "c": varying, "e": varying},
        [1, 2],
    ),
    "two fan-outs in a row": Graph(
        machine(
            M=map_(machine(B=task("b")), "N", ResultPath="$.m", ItemsPath="$.items"),
            N=map_(machine(C=task("c")), "D", ItemsPath="$.m"),
            D=task("d"),
        ),
        {"b": varying, "c": varying, "d": varying},
        {"items": [1, 2]},
    ),
    "condition after a map": Graph(
        machine(
            A=task("a", "M"),
            M=map_(machine(B=task("b")), "Which"),
            Which=choice(({"Variable": "$[0].run", "NumericEquals": 0}, "C"), default="D"),
            C=task("c"),
            D={"Type": "Fail", "Error": "Other"},
        ),
        {"a": two_then_three, "b": varying, "c": varying},
    ),
    "times": Graph(
        machine(
            A=task("a", "M"),
            M=map_(machine(B=task("b")), "Now"),
            Now=pass_("C", Parameters={"at.$": "$$.State.EnteredTime", "results.$": "$"}),
            C=task("c"),
        ),
        {"a": two_then_three, "b": varying, "c": lambda event, _context: event["at"]},
    ),
    "own time": Graph(
        machine(A=task("a", "B"), B=task("b", Parameters={"at.$": "$$.State.EnteredTime"})),
        {"a": varying, "b": lambda event, _context: event["at"]},
    ),
    "runaway loop": Graph(
        machine(
            A=task("a", "B"),
            B=task("b", "Ever"),
            Ever=choice(({"Variable": "$", "IsPresent": True}, "A"), default="Never"),
            Never={"Type": "Succeed"},
        ),
        dict.fromkeys("ab", varying),
        hop_budget=4,
    ),
    "loop over a map beyond its budget": Graph(
        machine(
            A=task("a", "M"),
            M=map_(machine(B=task("b")), "Ever", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "Never"}]),
            Ever=choice(({"Variable": "$", "IsPresent": True}, "A"), default="Never"),
            Never={"Type": "Succeed"},
        ),
        {"a": lambda _event, _context: [1, 2], "b": varying},
        # Rounds open their Map at steps 2 and 4, with two branches of one step: 2 * 2, then 4 * 2.
        invocation_budget=4,
    ),
    "three then five": Graph(
        machine(
            First=task("first", "A"),
            A=task("a", "M"),
            M=map_(machine(B=task("b")), "C"),
            C=task("c"),
        ),
        {"first": varying, "a": three_then_five, "b": varying, "c": _same},
    ),
    "leased task": Graph(machine(A=task("a")), {"a": varying}, options={"a": FunctionOptions(guard=Guard.LEASE)}),
    "leased chain": Graph(
        machine(A=task("a", "B"), B=task("b")),
        dict.fromkeys("ab", varying),
        options=dict.fromkeys("ab", FunctionOptions(guard=Guard.LEASE)),
    ),
    "leased task before another": Graph(
        machine(A=task("a", "B"), B=task("b")),
        dict.fromkeys("ab", varying),
        options={"a": FunctionOptions(guard=Guard.LEASE)},
    ),
    "leased map": Graph(
        machine(A=task("a", "M"), M=map_(machine(B=task("b")), "C"), C=task("c")),
        {"a": two_then_three, "b": varying, "c": varying},
        options=dict.fromkeys("abc", FunctionOptions(guard=Guard.LEASE)),
    ),
    "unguarded map": Graph(
        machine(A=task("a", "M"), M=map_(machine(B=task("b")), "C"), C=task("c")),
        {"a": two_then_three, "b": varying, "c": varying},
        options=dict.fromkeys("abc", FunctionOptions(guard=Guard.COMMIT)),
    ),
    "uncommitted tasks": Graph(
        machine(A=task("a", "B"), B=task("b", "C"), C=task("c", "D"), D=task("d")),
        {**dict.fromkeys("abd", varying), "c": lambda event, _context: {"ok": 1 // (event["run"] - 1)}},
        options=dict.fromkeys("bc", FunctionOptions(checkpoint=False)),
    ),
    "uncommitted tasks in a map": Graph(
        machine(A=task("a", "M"), M=map_(machine(B=task("b", "C"), C=task("c")))),
        {"a": two_then_three, "b": varying, "c": varying},
        options={"b": FunctionOptions(checkpoint=False)},
    ),
    "shared results": Graph(
        machine(A=task("a", "M"), M=map_(machine(B=task("b")), "C"), C=task("c")),
        {"a": lambda _event, _context: [1, 1], "b": varying, "c": varying},
        options={"b": FunctionOptions(memoize=True)},
    ),
    "three rounds": Graph(_LOOP, {"work": _count}, {"round": 0}),
    "large result": Graph(
        machine(A=task("a", "B"), B=task("b")), {"a": lambda _event, _context: "x" * 500_000, "b": varying}
    ),
    "growing results": Graph(
        machine(A=task("a", "Twice"), Twice=pass_(Parameters={"one.$": "$", "other.$": "$"})),
        {"a": lambda _event, _context: "x" * 150_000},
    ),
    **RECOVERING,
    **PACKED,
    **PARTED,
    **LANES,
    **QUORUMS,
    **MEETINGS,
    **REGIONS,
    **WAVES,
}
"""Every shape by name."""
