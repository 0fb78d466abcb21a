# ruff: noqa: T201 - a command prints
"""Search for a given time, with other seeds every time: `python -m tests.simulation.search --minutes 30`.

Prints how much was explored of each graph, and of workflows made of each seed; the first violation ends the search with
its trace.
"""

import argparse
import itertools
import random
import time
from collections.abc import Callable
from functools import partial

from tests.simulation.generated_workflows import by_seed, generated, small_sizes
from tests.simulation.graphs import GRAPHS
from tests.simulation.scenarios import BOTH, RANDOM, scenario
from tests.simulation.wide_worlds import WORLDS
from unum_simulator import Figures, Violation, explore, search

CHUNK = 20
"""Seeds of one graph at a time, so that every graph has its turn."""


def main() -> int:
    """Search, report, and tell the shell whether something was found."""
    options = _parser().parse_args()
    end_s = time.monotonic() + options.minutes * 60
    print(f"first seed {options.seed}")
    try:
        for graph in options.graphs if options.states else []:
            report(f"{graph}, every way", partial(explore, scenario(graph, faults=BOTH), max_states=options.states))
        for round_ in itertools.count():
            seeds = range(options.seed + round_ * CHUNK, options.seed + (round_ + 1) * CHUNK)
            for graph, (way, fields) in itertools.product(options.graphs, RANDOM.items()):
                if time.monotonic() > end_s:
                    print(f"nothing found in {round_} rounds of {CHUNK} runs for each graph and way")
                    return 0
                report(f"{graph}, {way}", partial(search, scenario(graph, **fields), seeds))
            for name, make in WORLDS.items():
                if time.monotonic() > end_s:
                    break
                report(f"wide, {name}", partial(search, make(), seeds))
            for seed in seeds:
                choose = by_seed(seed)
                with small_sizes(choose):
                    report(f"generated from seed {seed}", partial(search, generated(choose), seeds))
    except Violation as violation:
        print(violation)
    return 1


def report(name: str, find: Callable[[], Figures]) -> None:
    """Print the name of a search, search, and print what was explored; a violation follows the name of its search."""
    print(f"{name}: ", end="", flush=True)
    print(find(), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long to search")
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS), help="which graphs")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9), help="the first seed")
    parser.add_argument("--states", type=int, default=0, help="first, every way through so many states of each graph")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
