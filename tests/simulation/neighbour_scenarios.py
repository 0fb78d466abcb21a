"""Fan-outs that go on before all branches have ended, and branches that meet: what only the Python graph can say."""

from tests.simulation.definitions import Graph, varying
from tests.simulation.recovery_scenarios import fails
from unum_compiler import graph as g

_THREE = g.parallel(g.task("a"), g.task("b"), g.task("c"))
_EACH = g.map(g.task("a"), items=g.out)
_IN_A_LANE = g.map(g.task("a"), items=g.out, at_once=1)
_MEETING = g.task("a") >> g.task("b").meets_previous()
_FUNCTIONS = dict.fromkeys("abcd", varying)
_SECOND_FAILS = _FUNCTIONS | {"a": fails(lambda event, _context: event == 2)}

QUORUMS: dict[str, Graph] = {
    "first of two": Graph(g.parallel(g.task("a"), g.task("b")).quorum(1), _FUNCTIONS),
    "quorum of three": Graph(_THREE.quorum(2) >> g.task("d"), _FUNCTIONS),
    "quorum with a failure": Graph(_EACH.quorum(2) >> g.task("d"), _SECOND_FAILS, [1, 2, 3]),
    "quorum that fails": Graph(_EACH.quorum(2).catch(then=g.task("c")) >> g.task("d"), _SECOND_FAILS, [1, 2, 2]),
    "quorum that is retried": Graph(
        _EACH.quorum(2).retry(attempts=1),
        {"a": fails(lambda event, context: event == 2 and context.run == 0)},
        [1, 2],
    ),
    "quorum of a lane": Graph(_IN_A_LANE.quorum(2) >> g.task("d"), _SECOND_FAILS, [1, 2, 3, 4]),
    "quorum of a lane that fails": Graph(_IN_A_LANE.quorum(2).catch(then=g.task("c")), _SECOND_FAILS, [1, 2, 2, 4]),
}
"""A number of branches that have succeeded is enough."""

MEETINGS: dict[str, Graph] = {
    "meeting": Graph(g.map(_MEETING, items=g.out) >> g.task("c"), _FUNCTIONS, [1, 2]),
    "meetings": Graph(g.map(_MEETING, items=g.out), _FUNCTIONS, [1, 2, 3]),
    "meetings in lanes": Graph(g.map(_MEETING, items=g.out, at_once=2) >> g.task("c"), _FUNCTIONS, [1, 2, 3]),
}
"""A Task in each branch that waits for the branch before."""
