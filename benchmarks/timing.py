"""How long something takes, undisturbed."""

import gc
import time
from collections.abc import Callable, Mapping

ROUNDS = 30
VISITS = 200


def microseconds(
    visit: Callable[[], object], visits: int = VISITS, *, clock_ns: Callable[[], int] = time.perf_counter_ns
) -> float:
    """The time of one call of `visit`, in µs: the mean of the fastest of several rounds."""
    visit()
    return min(_round(visit, visits, clock_ns) for _ in range(ROUNDS)) / visits / 1000


def cpu_microseconds(visit: Callable[[], object], visits: int = VISITS) -> float:
    """The same, of the time that all threads of this process compute; waiting is not counted."""
    return microseconds(visit, visits, clock_ns=time.process_time_ns)


def in_turn(visits: Mapping[str, Callable[[], object]], times: int = VISITS) -> dict[str, float]:
    """The same of each of `visits`, whose rounds take turns, so that what else the machine does befalls all of them."""
    for visit in visits.values():
        visit()
    gc.collect()
    gc.freeze()  # else whatever this process has done before would be looked through again and again
    rounds = [
        {name: _round(visit, times, time.process_time_ns) for name, visit in visits.items()} for _ in range(ROUNDS)
    ]
    gc.unfreeze()
    return {name: min(each[name] for each in rounds) / times / 1000 for name in visits}


def _round(visit: Callable[[], object], visits: int, clock_ns: Callable[[], int]) -> int:
    began = clock_ns()
    for _ in range(visits):
        visit()
    return clock_ns() - began
