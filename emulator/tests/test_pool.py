"""Choice of the process for an invocation."""

import concurrent.futures
from typing import Any

import pytest

SLEEPING = """
    import os, time

    def handler(seconds, context):
        time.sleep(seconds)
        return os.getpid()
"""


@pytest.mark.parametrize(("seconds", "processes"), [(0.01, 1), (2.0, 2)])
def test_second_caller_waits_for_a_short_invocation_but_not_for_a_long_one(
    cloud: Any, seconds: float, processes: int
) -> None:
    name = cloud.function(SLEEPING, Timeout=20)
    cloud.invoke(name, 0)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: cloud.invoke(name, seconds)[0], range(2)))
    assert len(set(found)) == processes


def test_every_waiting_invocation_gets_a_free_process(cloud: Any) -> None:
    name = cloud.function(SLEEPING, Timeout=20)
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda _: cloud.invoke(name, 0.05)[0], range(64)))
    assert len(found) == 64
