"""When a delivery runs its next invocation itself: enough time, and an event that certainly fits."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.envelope import Envelope, Results, Value
from unum_runtime.model.naming import Scope
from unum_runtime.model.states import Task
from unum_runtime.protocol.delivery.fusion import Fusion, fits
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.large_items import LargeItems
from unum_runtime.store.memory import MemoryObjects, MemoryStore


def event(**task: Any) -> tuple[Runtime, Envelope, Task]:
    platform = Platform.of(chain("A", "B", B=task), A=lambda event: event, B=lambda event: event)
    platform.start()
    (sent,) = platform.sent
    state = platform.workflow.states["B"]
    assert isinstance(state, Task)
    return platform.runtime(), sent, state


@pytest.mark.parametrize(
    ("task", "needed_ms"),
    [
        ({}, 7_500),
        ({"TimeoutSeconds": 2}, 3_000),
        ({"TimeoutSeconds": 60}, 7_500),
        ({"TimeoutSecondsPath": "$"}, 7_500),
    ],
)
def test_a_task_needs_its_time_limit_or_most_of_a_delivery(task: dict[str, Any], needed_ms: int) -> None:
    _, sent, state = event(**task)
    for address, remaining_ms, fuses in (("F:1", 0, True), ("F:1", -1, False), ("F:2", 0, False)):
        fusion = Fusion("F:1", lambda more=remaining_ms: needed_ms + more, 10_000)  # type: ignore[misc]  # bound now
        assert fusion(address, sent, state) is fuses


def sized(sent: Envelope, size: int, **variables: Any) -> Envelope:
    return sent.with_input(Value(Success("x" * (size - 2)), 0, variables))


def test_an_event_fits_up_to_the_size_of_an_outcome_with_its_variables() -> None:
    rt, sent, _ = event()
    assert fits(rt, sized(sent, MAX_OUTCOME_BYTES))
    assert not fits(rt, sized(sent, MAX_OUTCOME_BYTES + 1))
    with_variables = len('{"v":"é"}'.encode())
    assert fits(rt, sized(sent, MAX_OUTCOME_BYTES - with_variables, v="é"))
    assert not fits(rt, sized(sent, MAX_OUTCOME_BYTES - with_variables + 1, v="é"))


def test_an_event_of_any_size_fits_a_bucket_and_one_without_a_value_fits_always() -> None:
    rt, sent, _ = event()
    large = replace(rt, store=LargeItems(MemoryStore(), MemoryObjects(), "w"))
    assert fits(large, sized(sent, MAX_OUTCOME_BYTES + 1))
    assert fits(rt, sent.with_input(Results(Scope(sent.name.execution, (), "M", 1, 0, 2))))
