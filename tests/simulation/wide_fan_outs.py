"""Fan-outs that are so wide, for deliveries that begin two branches, that parts have events of their own."""

from tests.simulation.definitions import Graph, choice, machine, map_, task, varying
from tests.simulation.recovery_scenarios import fails
from unum_compiler.options import FunctionOptions
from unum_runtime.model.states import Guard

MOST_BEGUN = 2

_IN_PLACE = machine(
    Which=choice(({"Variable": "$", "NumericEquals": 2}, "Bad"), default="B"),
    B=task("b"),
    Bad={"Type": "Fail", "Error": "Bad"},
)
"""A branch that fails without a Task for the item 2."""

_CAUGHT = [{"ErrorEquals": ["States.ALL"], "Next": "D"}]
_TASKS = dict.fromkeys("bcd", varying)

PARTED: dict[str, Graph] = {
    "map in parts": Graph(machine(M=map_(machine(B=task("b")), "C"), C=task("c")), _TASKS, [1, 2, 3]),
    "map in parts of parts": Graph(machine(M=map_(machine(B=task("b")))), _TASKS, [1, 2, 3, 4, 5]),
    "wide window": Graph(machine(M=map_(machine(B=task("b")), MaxConcurrency=3)), _TASKS, [1, 2, 3, 4]),
    "many narrow maps": Graph(machine(M=map_(machine(N=map_(machine(B=task("b")))))), {"b": varying}, [[1, 2], [3, 4]]),
    "part that fails": Graph(
        machine(M=map_(_IN_PLACE, "C", Catch=_CAUGHT), C=task("c"), D=task("d")), _TASKS, [1, 2, 3]
    ),
    "map in parts that is retried": Graph(
        machine(
            M=map_(machine(B=task("b")), Retry=[{"ErrorEquals": ["States.ALL"], "MaxAttempts": 1}]),
        ),
        {"b": fails(lambda event, context: event == 2 and context.run == 0)},
        [1, 2, 3],
    ),
    "packs in parts": Graph(machine(M=map_(machine(B=task("b")))), _TASKS, [1, 2, 3], small_results=True),
}
"""For deliveries that begin `MOST_BEGUN` branches."""

_SECOND_FAILS = fails(lambda event, context: event == 2 and context.run == 0)
_RETRIED = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 1}]
_UNGUARDED = dict.fromkeys("be", FunctionOptions(guard=Guard.COMMIT))

LANES: dict[str, Graph] = {
    "lane": Graph(machine(M=map_(machine(B=task("b")), MaxConcurrency=1)), {"b": varying}, [1, 2, 3]),
    "lane that fails": Graph(
        machine(M=map_(_IN_PLACE, "C", MaxConcurrency=1, Catch=_CAUGHT), C=task("c"), D=task("d")), _TASKS, [1, 2]
    ),
    "lane of two tasks that fails": Graph(
        machine(
            M=map_(machine(B=task("b", "E", ResultPath=None), E=task("e")), MaxConcurrency=1, Retry=_RETRIED),
        ),
        {"b": varying, "e": _SECOND_FAILS},
        [1, 2],
    ),
    "lanes that fail": Graph(
        machine(M=map_(machine(B=task("b")), "C", MaxConcurrency=2, Catch=_CAUGHT), C=task("c"), D=task("d")),
        _TASKS | {"b": fails(lambda event, _context: event == 3)},
        [1, 2, 3, 4],
    ),
    "lanes in a lane": Graph(
        machine(M=map_(machine(N=map_(machine(B=task("b")), MaxConcurrency=1)), MaxConcurrency=1)),
        {"b": varying},
        [[1, 2], [3, 4]],
    ),
    "lane of packs that fails": Graph(
        machine(M=map_(machine(B=task("b")), MaxConcurrency=1, Retry=_RETRIED)),
        {"b": _SECOND_FAILS},
        [1, 2, 3],
        small_results=True,
    ),
    "unguarded lanes that fail": Graph(
        machine(
            M=map_(machine(B=task("b", "E", ResultPath=None), E=task("e")), MaxConcurrency=2, Retry=_RETRIED),
        ),
        {"b": varying, "e": _SECOND_FAILS},
        [1, 2, 3, 4],
        options=_UNGUARDED,
    ),
    "unguarded lane of packs that fails": Graph(
        machine(M=map_(machine(B=task("b")), MaxConcurrency=1, Retry=_RETRIED)),
        {"b": _SECOND_FAILS},
        [1, 2, 3],
        small_results=True,
        options=_UNGUARDED,
    ),
    "lane that tolerates failures": Graph(
        machine(
            M=map_(machine(B=task("b")), MaxConcurrency=1, ToleratedFailureCount=1)
            | {
                "ItemProcessor": machine(B=task("b"))
                | {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
            },
        ),
        {"b": fails(lambda event, _context: event == 2)},
        [1, 2, 3],
    ),
}
"""Branches that others begin, and that settle the fan-out."""
