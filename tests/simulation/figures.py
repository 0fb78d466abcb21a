# ruff: noqa: T201 - a command prints
"""The table of docs/guarantees.md: what the exhaustive searches see; ``python tests/simulation/figures.py``."""

from collections.abc import Iterator

from tests.simulation.scenarios import BOTH, CRASH, DUPLICATE, STOP, scenario
from unum_simulator import Faults, explore

EITHER = {"crash": CRASH, "duplicate": DUPLICATE}
ROWS: dict[str, dict[str, Faults]] = {
    "chain": {"crash, duplicate": BOTH, "stop": STOP},
    "leased chain": {"crash, duplicate": BOTH},
    "uncommitted tasks": {"crash, duplicate": BOTH, "stop": STOP},
    "diamond": EITHER | {"stop": STOP},
    "map": EITHER | {"stop": STOP},
    "limited map": EITHER | {"stop": STOP},
    "loop in a map": EITHER | {"stop": STOP},
    "nested maps of one row": {"duplicate": DUPLICATE, "stop": STOP},
    "nested maps of one column": {"crash": CRASH},
    "prefixes": EITHER,
    "retry of a task": {"crash, duplicate": BOTH, "stop": STOP},
    "retry exhausted then catch": EITHER,
    "polled task": EITHER | {"stop": STOP},
    "job": EITHER | {"stop": STOP},
    "retry of a job": EITHER,
    "two waits": EITHER,
    "wait in a branch": EITHER | {"stop": STOP},
    "timeout during a wait": EITHER,
    "retry of one branch": EITHER | {"stop": STOP},
    "catch of a scope": {"crash": CRASH, "stop": STOP},
    "region of two sources": EITHER | {"stop": STOP},
    "region": {"crash": CRASH, "stop": STOP},
    "wavefront": {"stop": STOP},
}
"""Graphs, as in ``graphs.py``, with what may happen once to each."""


def lines() -> Iterator[str]:
    """The table, in Markdown."""
    yield "| graph | once each | states | moves | seconds |"
    yield "|---|---|---|---|---|"
    for graph, ways in ROWS.items():
        for faults, chosen in ways.items():
            found = explore(scenario(graph, faults=chosen))
            yield f"| {graph} | {faults} | {found.states:,} | {found.moves:,} | {found.seconds:.1f} |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
