"""The runtime of a function: addresses, times and deadlines that all of its deliveries share."""

from dataclasses import fields, replace
from typing import Any

import pytest

from tests.unit.protocol.platform import MovableClock, Platform, chain, exactly
from unum_runtime.errors import NoRoute
from unum_runtime.model.envelope import START
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S, Call, NoTimer, Runtime

NOW_MS = 1_800_000_000_999


def runtime(**fields: Any) -> Runtime:
    platform = Platform.of(chain("A"), A=lambda event: event)
    platform.clock = MovableClock(NOW_MS)
    return replace(platform.runtime(), **fields)


def test_an_address_that_travels_with_the_event_comes_before_the_own_one() -> None:
    rt = runtime(routes={"A": "own", "B": "own b"})
    assert rt.address("A", {"A": "carried"}) == "carried"
    assert rt.address("B", {"A": "carried"}) == "own b"
    assert rt.address("A", {}) == "own"


def test_a_function_without_a_route_is_named() -> None:
    said = "no route to function 'C': neither in the environment nor in the envelope"
    with pytest.raises(NoRoute, match=exactly(said)):
        runtime().address("C", {"A": "carried"})


def test_start_aliases_are_known_by_the_text_that_stands_for_a_workflow() -> None:
    rt = runtime(routes={"A": "A", START: "own", f"{START}x": "old x", f"{START}y": "y"})
    own = rt.workflow.home.arn("stateMachine:w")
    assert rt.start_aliases({f"{START}x": "new x", "B": "B"}) == {own: "own", "x": "new x", "y": "y"}
    assert runtime(routes={"A": "A"}).start_aliases({}) == {}


@pytest.mark.parametrize(
    ("due_ms", "sent_s"),
    [(None, 1_800_000_000), (NOW_MS + 5_000, 1_800_000_005), (NOW_MS - 5_000, 1_800_000_000), (0, 1_800_000_000)],
)
def test_a_delayed_event_counts_from_its_due_time(due_ms: int | None, sent_s: int) -> None:
    assert runtime().sent_s(due_ms) == sent_s


def test_items_live_as_long_as_their_retention() -> None:
    rt = runtime(retention_s=100_000)
    assert rt.expires_at_s() == 1_800_100_000
    assert rt.result_expires_at_s() == 1_800_100_000
    assert replace(rt, result_retention_s=200_000).result_expires_at_s() == 1_800_200_000
    assert replace(rt, result_retention_s=200_000).expires_at_s() == 1_800_100_000
    assert rt.last_s(Execution("e", NOW_MS)) == 1_800_100_000 - DEADLINE_MARGIN_S


def test_each_delivery_has_a_name_of_its_own() -> None:
    rt = runtime()
    first, second = rt.in_delivery(), rt.in_delivery(own_address="F:2")
    assert len({rt.delivery, first.delivery, second.delivery}) == 3
    assert replace(first, delivery=rt.delivery) == rt
    made = {each.name: each.default_factory for each in fields(Runtime)}["delivery"]
    assert callable(made)
    assert len(made()) == 32
    assert (first.own_address, second.own_address) == ("", "F:2")


def test_without_a_timer_delayed_events_are_refused() -> None:
    said = "no timer: 2 events are delayed, and this function has no timer to keep them"
    with pytest.raises(NoRoute, match=exactly(said)):
        NoTimer().schedule([("A", b"", 1), ("A", b"", 2)])


def test_a_call_shows_no_secret() -> None:
    call = Call("e", "e#1", "A", "F", "w/e#1", token="secret", start_aliases={"w": "alias"})
    assert "secret" not in repr(call)
    assert "alias" not in repr(call)
