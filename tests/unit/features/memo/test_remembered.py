"""Lists of memoized results, and forgetting them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_client.remembered_results import RememberedPage, forget_results, list_results, show_result
from unum_compiler.memoization import Memoization
from unum_compiler.options import FunctionOptions
from unum_runtime.features.memo import remembered
from unum_runtime.features.memo.remembered import ResultNotRemembered
from unum_runtime.model.checkpoint import Ending, Status, Success
from unum_runtime.model.states import MemoScope
from unum_runtime.protocol.control.operator_requests import ValidationException
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects

SHARED = FunctionOptions(memoize=True)


@pytest.fixture
def platform() -> Platform:
    """Two functions that share results and one that does not; the first has two Tasks."""
    functions = {"F": lambda event: event + 1, "G": lambda event: event * 10, "H": lambda event: event}
    return Platform.of(chain("F/One", "F/Two", "G", "H"), {"F": SHARED, "G": SHARED}, **functions)


def send(platform: Platform, **runtime: Any) -> Any:
    return lambda event: remembered.answer(replace(platform.runtime(), **runtime), event)


def listed(platform: Platform, state: str | None = None) -> list[str]:
    return sorted(each.of for each in list_results(send(platform), state, limit=1_000).results)


def test_results_are_listed_with_what_is_known_of_them(platform: Platform) -> None:
    platform.run("one", 1)
    (found,) = list_results(send(platform), "G").results
    started = datetime.fromtimestamp(platform.clock.ms / 1000, UTC)
    assert (found.states, found.of, found.size, found.value) == (("G",), "3", 2, None)
    assert (found.at, found.until) == (started, started + timedelta(seconds=DEFAULT_RETENTION_S))
    assert found.by == f"w/one:{platform.clock.ms:x}#3"
    assert show_result(send(platform), "G", found.key) == replace(found, value=30)
    assert listed(platform, "One") == listed(platform, "Two") == ["1", "2"], "Tasks of one function share"
    assert listed(platform) == ["1", "2", "3"]
    (first, *_) = list_results(send(platform), "One").results
    assert first.states == ("One",)
    assert {each.states for each in list_results(send(platform)).results} == {("One", "Two"), ("G",)}


@pytest.mark.parametrize("limit", [1, 3, 7, 1_000])
@pytest.mark.parametrize("state", [None, "G"])
def test_pages_have_each_result_once(platform: Platform, limit: int, state: str | None) -> None:
    for number in range(0, 60, 3):
        platform.run(str(number), number)
    found: list[str] = []
    page = RememberedPage(results=(), token="")
    sizes = []
    while page.token is not None:
        page = list_results(send(platform), state, limit=limit, token=page.token or None)
        found += [each.key for each in page.results]
        sizes.append(len(page.results))
    assert len(found) == len(set(found)) == len(listed(platform, state)) == (20 if state else 60)
    assert set(sizes[:-1]) <= {limit}


def test_a_page_costs_a_read_for_each_partition_at_most(platform: Platform) -> None:
    for number in range(5):
        platform.run(str(number), number)
    asked: list[str] = []
    page = platform.memory.page
    platform.memory.page = lambda *place, **named: asked.append(place[0]) or page(*place, **named)
    list_results(send(platform), "G")
    assert len(asked) == len(set(asked)) == 16
    asked.clear()
    list_results(send(platform), "G", limit=1)
    assert len(asked) < 16


def test_a_forgotten_result_is_computed_anew_and_others_are_not(platform: Platform) -> None:
    platform.run("one", 1)
    (found,) = list_results(send(platform), "G").results
    platform.calls.clear()
    assert forget_results(send(platform), "G", found.key) == 1
    assert forget_results(send(platform), "G", found.key) == 0
    with pytest.raises(ResultNotRemembered, match=f"state 'G': no result {found.key} is remembered"):
        show_result(send(platform), "G", found.key)
    platform.functions["G"] = lambda event: -event
    assert platform.run("two", 1) == Ending(Status.SUCCEEDED, Success(-3))
    assert platform.calls == {"G": 1, "H": 1}
    assert platform.ending("one") == Ending(Status.SUCCEEDED, Success(30)), "executions keep what they committed"
    assert show_result(send(platform), "G", found.key).value == -3


def test_a_sandbox_whose_clock_is_late_computes_anew_too(platform: Platform) -> None:
    platform.run("one", 1)
    (found,) = list_results(send(platform), "G").results
    platform.clock.pass_seconds(5)
    forget_results(send(platform), "G", found.key)
    platform.clock.pass_seconds(-5)
    platform.calls.clear()
    platform.run("two", 1)
    assert platform.calls == {"G": 1, "H": 1}


def test_all_results_of_a_task_are_forgotten(platform: Platform) -> None:
    for number in range(0, 60, 3):
        platform.run(str(number), number)
    assert forget_results(send(platform), "One") == 40
    assert (listed(platform, "Two"), len(listed(platform, "G"))) == ([], 20)


def test_a_request_that_runs_out_of_time_is_repeated(platform: Platform) -> None:
    for number in range(0, 60, 3):
        platform.run(str(number), number)
    left = iter([3_001, 3_001, *[2_999] * 100])
    assert forget_results(send(platform, remaining_ms=lambda: next(left)), "One") == 40
    assert listed(platform, "One") == []


def test_results_of_all_workflows_are_listed_and_forgotten_where_they_lie() -> None:
    shared = FunctionOptions(memoize=Memoization(version="2", scope=MemoScope.TABLE))
    platform = Platform.of(chain("F"), {"F": shared}, F=lambda event: event)
    platform.run("one", 1)
    other = Platform.of(chain("G"), {"G": shared}, G=lambda event: event)
    other.workflow = replace(other.workflow, name="other")
    other.store = platform.memory
    (found,) = list_results(send(other), "G").results
    assert (found.of, found.by) == ('{"event":1}', f"w/one:{platform.clock.ms:x}#1")
    assert forget_results(send(other), "G") == 1
    assert listed(platform) == []


def test_large_values_are_not_read_for_a_list(platform: Platform) -> None:
    objects = MemoryObjects()
    platform.store = LargeItems(platform.memory, objects, "w", least_bytes=100)
    platform.functions["G"] = lambda _event: "x" * 1_000
    platform.start("one", 1)
    platform.deliver_all()
    objects.get = None  # type: ignore[assignment]
    (found,) = list_results(send(platform), "G").results
    assert found.size is None
    del objects.get
    shown = show_result(send(platform), "G", found.key)
    assert (shown.size, shown.value) == (1_002, "x" * 1_000)


def test_what_exceeds_an_answer_is_said(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MAX_BYTES", 1)
    platform.run("one", 1)
    (found,) = list_results(send(platform), "G").results
    with pytest.raises(Exception, match="exceeds an answer of 1 bytes"):
        show_result(send(platform), "G", found.key)


def test_what_an_earlier_release_has_stored_is_listed_without_facts(platform: Platform) -> None:
    platform.run("one", 1)
    (found,) = list_results(send(platform), "G").results
    (place,) = [key for key in platform.memory._items if key.sort == found.key]
    platform.memory.replace(place, {"value": "30"}, expires_at_s=10**10)
    listed_as = {"states": ["G"], "key": found.key, "of": "", "by": "", "at_ms": None, "until_ms": None, "bytes": 2}
    answered = remembered.answer(platform.runtime(), remembered.request("list_remembered", limit=1, state="G"))
    assert answered["results"] == [listed_as]


def test_a_forgotten_result_has_expired_an_hour_ago(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    platform.run("one", 1)
    (found,) = list_results(send(platform), "G").results
    expiries: list[Any] = []
    monkeypatch.setattr(platform.memory, "replace", lambda _key, _item, *, expires_at_s: expiries.append(expires_at_s))
    forget_results(send(platform), "G", found.key)
    assert [(each, type(each)) for each in expiries] == [(platform.clock.ms // 1000 - 3_600, int)]


def test_an_answer_may_have_its_whole_size(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MAX_BYTES", 2)
    platform.run("one", 1)
    (found,) = list_results(send(platform), "G").results
    assert show_result(send(platform), "G", found.key).value == 30


def test_forgetting_a_whole_page_is_not_the_end(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        platform.run(str(number), number * 10)
    monkeypatch.setattr(remembered, "MAX_PAGE", 3)
    forget = remembered.request("forget_remembered", state="G")
    assert send(platform, remaining_ms=lambda: 3_000)(forget) == {"forgotten": 3, "is_done": False}


KEY = "0" * 64


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"control": "list_remembered"}, "expected the fields"),
        ({"control": "list_remembered", "limit": 0}, "limit: expected a number from 1 to 1000, got 0"),
        ({"control": "list_remembered", "limit": True}, "limit: expected a number"),
        ({"control": "list_remembered", "limit": 1, "key": KEY}, "expected the fields"),
        ({"control": "list_remembered", "limit": 1, "before": 5}, "before: expected what the last page had, got 5"),
        ({"control": "list_remembered", "limit": 1, "before": "x/"}, "before: expected"),
        ({"control": "list_remembered", "limit": 1, "before": f"/{KEY}"}, "before: expected"),
        ({"control": "list_remembered", "limit": 1, "before": f"x/{'x' * 64}"}, "before: expected"),
        ({"control": "list_remembered", "limit": 1, "$unum": 7}, "wire version"),
        ({"control": "list_remembered", "limit": 1_001}, "limit: expected a number from 1 to 1000, got 1001"),
        ({"control": "list_remembered", "limit": 1, "before": f"x/y/{KEY}"}, "before: expected"),
        ({"control": "list_remembered", "limit": 1, "state": "H"}, r"one of \['G', 'One', 'Two'\], got 'H'"),
        ({"control": "list_remembered", "limit": 1, "state": ["G"]}, "state: expected a Task with memoize"),
        ({"control": "show_remembered", "state": "G"}, "expected the fields"),
        ({"control": "show_remembered", "key": KEY}, "expected the fields"),
        ({"control": "show_remembered", "state": "G", "key": "x"}, "key: expected the name of a result, 64 hex"),
        ({"control": "forget_remembered", "state": "G", "key": None}, "key: expected the name of a result"),
        ({"control": "forget_remembered", "key": KEY}, "expected the fields"),
        ({"control": "forget_remembered", "state": "G", "key": KEY, "$unum": 7}, "wire version"),
    ],
)
def test_what_is_refused(platform: Platform, event: Any, says: str) -> None:
    platform.run("one", 1)
    with pytest.raises(ValidationException, match=says):
        remembered.answer(platform.runtime(), {"$unum": 1, **event})
    assert len(listed(platform)) == 3


def test_forgetting_ends_when_its_time_is_over_and_says_so(platform: Platform) -> None:
    for number in range(3):
        platform.run(str(number), number * 10)
    forget = remembered.request("forget_remembered", state="G")
    assert send(platform, remaining_ms=lambda: 2_999)(forget) == {"forgotten": 1, "is_done": False}
    assert len(listed(platform, "G")) == 2


def test_forgetting_what_is_not_remembered_writes_nothing(platform: Platform) -> None:
    platform.run("one", 1)
    before = {**platform.memory._items}
    assert forget_results(send(platform), "G", KEY) == 0
    assert platform.memory._items == before


def test_list_reads_only_what_it_may_show(platform: Platform) -> None:
    for number in range(5):
        platform.run(str(number), number * 10)
    asked: list[str] = []
    page = platform.memory.page
    platform.memory.page = lambda *place, **named: asked.append(place[0]) or page(*place, **named)
    first = list_results(send(platform), "G", limit=1)
    assert len(list_results(send(platform)).results) == 15
    whole = [*asked]
    asked.clear()
    list_results(send(platform), "G", token=first.token)
    assert len(set(whole)) == 2 * 16, "the partitions of both groups"
    assert max(each[-1] for each in asked) == first.results[0].key[0]


def test_result_forgotten_by_a_clock_that_is_late_is_not_shown(platform: Platform) -> None:
    platform.run("one", 1)
    (found,) = list_results(send(platform), "G").results
    (place,) = [key for key in platform.memory._items if key.sort == found.key]
    platform.memory.replace(place, {}, expires_at_s=10**10)
    with pytest.raises(ResultNotRemembered):
        show_result(send(platform), "G", found.key)
