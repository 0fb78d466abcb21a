"""How long something takes, undisturbed."""

import time
from collections.abc import Callable

ROUNDS = 30
VISITS = 200


def microseconds(visit: Callable[[], object], visits: int = VISITS) -> float:
    """The time of one call of `visit`, in µs: the mean of the fastest of several rounds."""
    visit()
    return min(_round(visit, visits) for _ in range(ROUNDS)) / visits / 1000


def _round(visit: Callable[[], object], visits: int) -> int:
    began = time.perf_counter_ns()
    for _ in range(visits):
        visit()
    return time.perf_counter_ns() - began
