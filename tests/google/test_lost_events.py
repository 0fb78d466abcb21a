"""Executions whose functions die, or whose events are gone, end; each part of the recovery is needed for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.google.one_process import Died, Outage, Place, behaviour, place, post
from unum_google import adapters, function
from unum_google.tasks import EVENTS
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.protocol.control.nudge import missing
from unum_runtime.protocol.control.sweep import Sweep
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.planning.plan import Invoke

Patch = pytest.MonkeyPatch

FAILS: dict[str, Any] = {"StartAt": "Work", "States": {"Work": {"Type": "Task", "Resource": "Work", "End": True}}}
RETRIES = {"ErrorEquals": ["Lambda.Unknown"], "IntervalSeconds": 1, "MaxAttempts": 2}
CATCHES = {
    "StartAt": "Before",
    "States": {
        "Before": {"Type": "Wait", "Seconds": 1, "Next": "Work"},
        "Work": {
            "Type": "Task",
            "Resource": "Work",
            "Retry": [RETRIES],
            "Catch": [{"ErrorEquals": ["Lambda.Unknown"], "Next": "Mend"}],
            "End": True,
        },
        "Mend": {"Type": "Task", "Resource": "Mend", "End": True},
    },
}
AFTER_MAP = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "MaxConcurrency": 1,
            "ItemProcessor": {
                "StartAt": "Mend",
                "States": {"Mend": {"Type": "Task", "Resource": "Mend", "End": True}},
            },
            "Next": "Work",
        },
        "Work": {"Type": "Task", "Resource": "Work", "End": True},
    },
}


def died(*_: Any) -> Any:
    behaviour["calls"] = behaviour.get("calls", 0) + 1
    raise Died


def a_dying_task_is_caught(found: Place) -> None:
    """Each try of the Task has as many deliveries as the settings say."""
    behaviour["work"] = died
    assert found.start() == 200
    found.queue.deliver()
    assert found.outcome() == Success({"caught": "Lambda.Unknown"})
    assert behaviour["calls"] == 9, "three deliveries of three tries"


def a_store_that_does_not_answer_fails_no_task(found: Place, patch: Patch) -> None:
    behaviour["work"] = lambda _: "done"
    assert found.start() == 200
    store: Any = Outage(found.store)
    for module in (adapters, function):
        patch.setattr(module, "store", lambda: store)
    store.calls = 20
    found.queue.deliver()
    assert found.outcome() == Success("done")
    assert behaviour["attempt"] == 0


def a_lost_event_is_sent_again(found: Place) -> None:
    behaviour["work"] = lambda _: "done"
    assert found.start() == 200
    found.queue.tasks.clear()
    found.clock.pass_seconds(120)
    assert found.sweep()["silent"] == 1
    found.queue.deliver()
    assert found.outcome() == Success("done")


def an_event_that_is_given_up_fails_its_task(found: Place) -> None:
    """At its time, although a retrier would try again."""
    behaviour["work"] = died
    assert found.start() == 200
    for _ in range(12):
        found.clock.pass_seconds(60)
        found.sweep()
        found.queue.tasks = [each for each in found.queue.tasks if b'"Work"' not in each.payload]
    found.queue.deliver()
    assert found.outcome() == Success({"caught": "Lambda.Unknown"})


def a_first_sweep_that_comes_late_fails_nothing_early(found: Place) -> None:
    behaviour["work"] = lambda _: "done"
    assert found.start() == 200
    found.queue.tasks.clear()
    found.clock.pass_seconds(500)
    found.sweep()
    assert found.outcome() is None
    found.queue.deliver()
    assert found.outcome() == Success("done")


@pytest.fixture
def catches(tmp_path: Path, monkeypatch: Patch) -> Place:
    return place(monkeypatch, tmp_path, CATCHES)


def test_name_with_another_input_is_refused(catches: Place) -> None:
    assert [catches.start(value) for value in (1, 1, 2, True)] == [200, 200, 409, 409]


def test_a_dying_task_is_caught(catches: Place) -> None:
    a_dying_task_is_caught(catches)


def test_a_dying_task_without_a_catch_fails_its_execution(tmp_path: Path, monkeypatch: Patch) -> None:
    found = place(monkeypatch, tmp_path, FAILS)
    behaviour["work"] = died
    assert found.start() == 503  # it dies in the start's own request; the starter may repeat it, or a sweep helps
    found.clock.pass_seconds(120)
    assert found.sweep()["silent"] == 1
    found.queue.deliver()
    outcome = found.outcome()
    assert isinstance(outcome, Failure)
    assert outcome.error == "Lambda.Unknown"
    assert "3 deliveries ended without an answer" in str(outcome.cause)
    assert found.queue.tasks == []


def test_a_store_that_does_not_answer_fails_no_task(catches: Place, monkeypatch: Patch) -> None:
    a_store_that_does_not_answer_fails_no_task(catches, monkeypatch)


def test_a_lost_event_is_sent_again(catches: Place) -> None:
    a_lost_event_is_sent_again(catches)


def test_an_event_that_is_given_up_fails_its_task(catches: Place) -> None:
    an_event_that_is_given_up_fails_its_task(catches)


def test_a_sweep_gives_up_nothing_before_its_time(catches: Place) -> None:
    a_first_sweep_that_comes_late_fails_nothing_early(catches)


def test_a_late_success_loses_against_the_failure(catches: Place) -> None:
    behaviour["work"] = lambda _: "done"
    catches.start()
    catches.clock.pass_seconds(700)
    (kept,) = catches.queue.tasks
    catches.sweep()
    catches.queue.tasks.append(kept)
    catches.queue.deliver()
    assert catches.outcome() == Success({"caught": "Lambda.Unknown"})


def test_a_join_and_a_branch_that_waits_for_its_turn(tmp_path: Path, monkeypatch: Patch) -> None:
    """Branches under MaxConcurrency that have not begun are not given up; the Task after the Map is."""
    found = place(monkeypatch, tmp_path, AFTER_MAP)
    found.start([{"Error": "a"}, {"Error": "b"}, {"Error": "c"}])
    for _ in range(3):
        found.clock.pass_seconds(500)  # each branch is within its time, the Map is not
        found.sweep(600, 600)
        found.queue.deliver(most=1)
    assert found.outcome() is None
    found.queue.tasks.clear()
    found.clock.pass_seconds(601)
    found.sweep(60, 600)
    found.queue.deliver()
    outcome = found.outcome()
    assert isinstance(outcome, Failure)
    assert outcome.error == "Lambda.Unknown"


def test_an_execution_is_over_at_its_last_moment(catches: Place) -> None:
    catches.start()
    catches.queue.tasks.clear()
    catches.clock.pass_seconds(7 * 24 * 3600 - 1800)
    catches.sweep()
    outcome = catches.outcome()
    assert isinstance(outcome, Failure)
    assert outcome.error == "Unum.Abandoned"


@pytest.mark.parametrize("short", [True, False])
def test_the_rest_of_a_sweep_is_another_request(catches: Place, monkeypatch: Patch, short: bool) -> None:  # noqa: FBT001
    for number in range(3):
        catches.start(name=f"n{number}")
    catches.clock.pass_seconds(120)
    posted: list[Any] = []
    monkeypatch.setattr(catches.queue, "post", lambda *given: posted.append(given), raising=False)
    runtime = adapters._runtime
    if short:
        monkeypatch.setattr(adapters, "_runtime", lambda *given: replace(runtime(*given), remaining_ms=lambda: 1))
    answer = catches.sweep()
    assert answer == {"looked_at": 1 if short else 3, "silent": 1 if short else 3, "is_done": not short}
    assert len(posted) == short


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"silent_s": 0, "give_up_s": 1},
        {"silent_s": 2, "give_up_s": 1},
        {"silent_s": 1, "give_up_s": 1, "x": 1},
    ],
)
def test_a_malformed_sweep_is_refused(catches: Place, body: Any) -> None:
    assert catches.outcome() is None
    assert post(function.SWEEP, body)[0] == 400


def test_what_is_no_event_is_refused_however_often_it_comes(catches: Place) -> None:
    assert catches.start() == 200
    assert post(EVENTS, {"no": "event"}, {function.TRIES: "9"})[0] == 400


def deaths_do_not_count(patch: Patch) -> None:
    patch.setattr(function, "_deaths", lambda _headers: 0)


def each_try_is_a_death(patch: Patch) -> None:
    patch.setattr(function, "_deaths", lambda headers: int(headers.get(function.TRIES, 0)))


def errors_of_the_store_are_deaths(patch: Patch) -> None:
    handle = function.handle

    def broken(request: Any) -> Any:
        answer, status = handle(request)
        return answer, 503 if status == 429 else status

    patch.setattr(function, "handle", broken)


def user_code_runs_all_the_same(patch: Patch) -> None:
    patch.setattr(function, "fail_dying", lambda rt, event, _deaths: step(rt, event))


def retriers_begin_anew(patch: Patch) -> None:
    patch.setattr(function, "replace", lambda found, **fields: _replace(found, **{**fields, "retries": ()}))


def _replace(found: Any, **fields: Any) -> Any:
    if not isinstance(found, Invoke):
        del fields["retries"]
    return replace(found, **fields)


def sweeps_only_report(patch: Patch) -> None:
    made = Sweep
    patch.setattr(function, "Sweep", lambda **fields: made(**{**fields, "nudges": False}))


def sweeps_only_nudge(patch: Patch) -> None:
    patch.setattr(function, "_fail_lost", lambda *_: None)


def silence_is_giving_up(patch: Patch) -> None:
    look = missing
    patch.setattr(function, "missing", lambda rt, name, *, silent_ms: look(rt, name, silent_ms=silent_ms // 10))


@pytest.mark.parametrize(
    ("mistake", "test"),
    [
        (deaths_do_not_count, a_dying_task_is_caught),
        (user_code_runs_all_the_same, a_dying_task_is_caught),
        (each_try_is_a_death, a_store_that_does_not_answer_fails_no_task),
        (errors_of_the_store_are_deaths, a_store_that_does_not_answer_fails_no_task),
        (sweeps_only_report, a_lost_event_is_sent_again),
        (sweeps_only_nudge, an_event_that_is_given_up_fails_its_task),
        (retriers_begin_anew, an_event_that_is_given_up_fails_its_task),
        (silence_is_giving_up, a_first_sweep_that_comes_late_fails_nothing_early),
    ],
)
def test_a_mistake_in_the_recovery_is_found(
    catches: Place, monkeypatch: Patch, mistake: Callable[[Patch], None], test: Callable[..., None]
) -> None:
    mistake(monkeypatch)
    given = (monkeypatch,) if test is a_store_that_does_not_answer_fails_no_task else ()
    with pytest.raises((AssertionError, StoreError)):
        test(catches, *given)
