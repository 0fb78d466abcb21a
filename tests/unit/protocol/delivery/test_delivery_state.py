"""State of a delivery: facts about its event, and visited scopes."""

from typing import Any

import pytest

from tests.unit.protocol.planning.plan_records import left
from unum_client.deliveries import parse
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import Execution, Frame, Name, Scope
from unum_runtime.protocol.delivery.delivery_state import DeliveredEvent, DeliveryState
from unum_runtime.protocol.planning.plan import CompleteBranch

E = Execution("e", 0)
AT_MS = 200_000


def event(**fields: Any) -> Envelope:
    common = {"workflow": "w", "digest": "d", "name": Name(E, (), 1), "state": "A", "routes": {}}
    return Envelope(**{**common, "input": Value(Success(1), 0, {}), "sent_s": 100, **fields})


def recorded(given: Envelope, entered_ms: int = 100_000, *, is_fused: bool = False) -> Any:
    arrival = Arrival(100_300, "request")
    return parse(DeliveredEvent(given, entered_ms).record(arrival, AT_MS, is_fused=is_fused), AT_MS)


@pytest.mark.parametrize(
    ("entered_ms", "sent_ms"),
    [(99_000, 100_000), (100_000, 100_000), (100_400, 100_400), (100_999, 100_999), (101_000, 100_000)],
)
def test_event_was_sent_when_its_state_was_entered_within_the_named_second(entered_ms: int, sent_ms: int) -> None:
    assert recorded(event(), entered_ms).sent_ms == sent_ms


def test_a_delayed_event_counts_as_sent_when_it_is_due() -> None:
    assert recorded(event(due_ms=100_123)).sent_ms == 100_123


@pytest.mark.parametrize(("is_fused", "began_ms"), [(False, 100_300), (True, 100_400)])
def test_a_fused_step_began_when_its_state_was_entered(*, is_fused: bool, began_ms: int) -> None:
    assert recorded(event(), 100_400, is_fused=is_fused).began_ms == began_ms


@pytest.mark.parametrize(
    ("fields", "since_ms"),
    [
        ({}, None),
        ({"begun_ms": 50_000}, 50_000),
        ({"job": {"since": 60_000, "handle": 1}}, 60_000),
        ({"job": {"is_over": True}, "begun_ms": 50_000}, 50_000),
    ],
)
def test_attempt_began_with_its_job_or_the_delivery_of_its_token(fields: dict[str, Any], since_ms: int | None) -> None:
    assert recorded(event(**fields)).since_ms == since_ms


def test_the_next_step_of_a_delivery_is_fused_and_shares_its_lanes() -> None:
    delivery = DeliveryState({})
    lanes = delivery.enter_lanes()
    following = delivery.next_step(event(routes={"F": "F:1"}))
    assert (delivery.is_fused, following.is_fused, following.lanes) == (False, True, lanes)
    assert (following.routes, following.may_continue) == ({"F": "F:1"}, True)


def test_places_inside_a_collected_scope_are_left_out() -> None:
    delivery, frames = DeliveryState({}), (Frame("M", 1, 0, 0, 2), Frame("N", 1, 0, 1, 3))
    outer, inner = Scope(E, (), "M", 1, 0, 2), Scope(E, frames[:1], "N", 1, 0, 3)
    delivery.found = [Name(E, frames[:1], 0), Name(E, frames, 0)]
    assert {*delivery.paths()} == {(outer,), (outer, inner)}
    delivery.collected = [inner]
    assert {*delivery.paths()} == {(outer,)}
    delivery.collected = [outer]
    assert {*delivery.paths()} == set()


def test_scopes_around_an_ended_branch_without_outcome_are_named() -> None:
    delivery, frames = DeliveryState({}), (Frame("M", 1, 0, 0, 2),)
    delivery.ended = [CompleteBranch(E, frames, Success(1))]
    assert {*delivery.paths()} == {(Scope(E, (), "M", 1, 0, 2),)}


def test_scopes_around_a_created_outcome_are_named() -> None:
    delivery, frames = DeliveryState({}), (Frame("M", 1, 0, 0, 2),)
    delivery.created = [left("A", Success(1), name=Name(E, frames, 0))]
    assert {*delivery.paths()} == {(Scope(E, (), "M", 1, 0, 2),)}
