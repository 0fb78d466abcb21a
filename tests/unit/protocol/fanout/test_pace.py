"""A wide fan-out begins 1,000 branches, and each that ends begins another; small ones cost nothing more."""

from collections import Counter
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform
from unum_runtime.model.checkpoint import Status, Success
from unum_runtime.model.states import AT_ONCE
from unum_simulator.memory_store import MemoryStore


class Counting(MemoryStore):
    """A store that counts its calls."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock)
        self.calls: Counter[str] = Counter()

    def __getattribute__(self, name: str) -> Any:
        if name in ("create", "read", "query", "add"):
            super().__getattribute__("calls")[name] += 1
        return super().__getattribute__(name)


def platform(**fields: Any) -> Platform:
    processor = {"StartAt": "T", "States": {"T": {"Type": "Task", "Resource": "T", "End": True}}}
    states = {"M": {"Type": "Map", "ItemProcessor": processor, "End": True, **fields}}
    made = Platform.of({"StartAt": "M", "States": states}, T=lambda item: item + 1)
    made.memory = made.store = Counting(made.clock)
    return made


def test_wide_fan_out_runs_a_thousand_branches_at_once() -> None:
    width, flow = AT_ONCE + 300, platform()
    flow.start("e", [*range(width)])
    most = len(flow.sent)
    assert most == AT_ONCE
    while flow.sent:
        most = max(most, len(flow.sent))
        flow.deliver(flow.sent.pop(0))
    assert (most, flow.calls["T"]) == (AT_ONCE, width)
    ending = flow.ending()
    assert ending is not None
    assert (ending.status, ending.outcome) == (Status.SUCCEEDED, Success([*range(1, width + 1)]))


def test_zero_lifts_the_limit() -> None:
    flow = platform(MaxConcurrency=0)
    flow.options["most_begun"] = 10_000
    flow.start("e", [*range(AT_ONCE + 300)])
    assert len(flow.sent) == AT_ONCE + 300


@pytest.mark.parametrize("width", [1, 3, 200])
def test_small_fan_out_makes_no_call_more_than_without_a_limit(width: int) -> None:
    calls = []
    for fields in ({}, {"MaxConcurrency": 0}):
        flow = platform(**fields)
        flow.start("e", [*range(width)])
        assert len(flow.sent) == width
        flow.deliver_all()
        ending = flow.ending()
        assert ending is not None
        calls.append(dict(flow.store.calls))
    assert calls[0] == calls[1]
