"""A redrive and a fork of a hundred thousand branches, cut off at random calls, on real protocol code."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.protocol.control.test_copying import attempts, failed, made_twice
from tests.unit.protocol.map_platform import deliver_all, mapped, result
from unum_runtime.protocol.control.fork import ForkRequest, fork
from unum_runtime.protocol.control.redrive import redrive

WIDTH = 100_000


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("width", "options"), [(WIDTH, {}), (20_000, {"small_results": True})], ids=["items", "packs"])
def test_a_hundred_thousand_branches(width: int, options: dict[str, Any]) -> None:
    items, chosen = [*[0] * (width - 1), 1], random.Random(7)  # noqa: S311 - the same on every run
    platform = failed(mapped("B", after="C"), items, 1, **options)

    def cut_off(request: Callable[[], Any]) -> None:
        cuts = attempts(platform, request, iter(lambda: chosen.randrange(900, width // 3), None))
        assert len(cuts) > 3
        assert made_twice(cuts) == 0

    cut_off(lambda: redrive(platform.runtime(), "e"))
    deliver_all(platform)
    assert (result(platform), platform.calls) == (items, {"B": 1, "C": 1})
    platform.calls.clear()
    cut_off(lambda: fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C")))
    deliver_all(platform)
    assert (result(platform, "f"), platform.calls) == (items, {"C": 1})
