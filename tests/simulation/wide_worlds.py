"""Worlds with everything in them: several executions, forks, redrives, task tokens, given up events."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.simulation.definitions import Graph, machine, map_, task
from tests.simulation.executions import CHAIN, FAILING, FIRST, MAP, fork_at, of, stamped
from tests.simulation.recovery_scenarios import retry, wait
from tests.simulation.scenarios import HOUR_S
from tests.simulation.test_task_tokens import asked, asks
from unum_runtime.model.ir import Collection
from unum_simulator import Faults, Scenario

WIDE = Faults(
    crashes=2, duplicates=2, throttles=2, stops=1, nudges=1, redrives=2, forks=3, skews=2, repeats=1, splits=1,
    freezes=1, give_ups=2, answers=4, heartbeats=1, jumps=2, jump_s=(200, 5 * HOUR_S, 7 * HOUR_S), concurrency=3,
)  # fmt: skip
AGAIN = Faults(
    crashes=1, duplicates=2, skews=1, repeats=1, give_ups=1, jumps=2, jump_s=(7 * HOUR_S, 8 * 24 * HOUR_S), restarts=1,
)  # fmt: skip

TOKENS = Graph(
    machine(
        A=task("a", "M"),
        M=map_(machine(P=asks("Q", TimeoutSeconds=60, Retry=retry("States.ALL")), Q=task("q")), "W"),
        W=wait(5, "C"),
        C=task("c"),
    ),
    {"A": MAP.functions["a"], "P": asked, "Q": stamped, "C": stamped},
)

GRAPHS = {"chain": (CHAIN, "B"), "map": (MAP, "M"), "failing": (FAILING, "M"), "tokens": (TOKENS, "M")}


def world(graph: str, **fields: Any) -> Scenario:
    """Return a world with all faults for the executions of one workflow."""
    found, node = GRAPHS[graph]
    forks = [fork_at("C"), fork_at("C", 7, name="other"), fork_at(node)]
    starts = ((FIRST, 2), ("other", 3))
    return of(found, WIDE, *forks, **{"starts": starts, "tick_ms": 1, **fields})


WORLDS: dict[str, Callable[[], Scenario]] = {
    **{graph: partial(world, graph) for graph in GRAPHS},
    **{f"{graph}, eager": partial(world, graph, collection=Collection.EAGER) for graph in GRAPHS},
    "started by a client": partial(world, "map", starts=(("other", 3),), by_client=True),
    "started again": partial(of, MAP, AGAIN, tick_ms=1),
}
"""Makers of scenarios, for random searches."""
