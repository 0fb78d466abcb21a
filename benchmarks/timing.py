"""Timing of functions with little interference from other load."""

import gc
import time
from collections.abc import Callable, Mapping

ROUNDS = 30
VISITS = 200


def microseconds(
    visit: Callable[[], object], visits: int = VISITS, *, clock_ns: Callable[[], int] = time.perf_counter_ns
) -> float:
    """Return the time per call of `visit`, in µs: the mean of the fastest of several rounds."""
    visit()
    # Other load only adds time, so the fastest round is nearest to the function's own time.
    return min(_round(visit, visits, clock_ns) for _ in range(ROUNDS)) / visits / 1000


def cpu_microseconds(visit: Callable[[], object], visits: int = VISITS) -> float:
    """Return the processor time per call, in µs; waiting does not count."""
    return microseconds(visit, visits, clock_ns=time.process_time_ns)


def measure_in_turn(visits: Mapping[str, Callable[[], object]], times: int = VISITS) -> dict[str, float]:
    """Return the processor time per call of each function, with alternating rounds, so that other load affects all."""
    # The uncounted calls fill caches and import modules.
    for visit in visits.values():
        visit()
    gc.collect()
    gc.freeze()  # otherwise each collection would scan all earlier objects of this process
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
