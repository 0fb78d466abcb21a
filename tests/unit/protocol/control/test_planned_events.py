"""Events that the failure handler plans again keep their attempt, whatever is stored of other attempts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import AGAIN, Asking, asking
from tests.unit.protocol.job_platform import LOOK_S, watching
from tests.unit.protocol.platform import Platform, exactly
from unum_compiler import compile_workflow
from unum_runtime.errors import RefusedDelivery
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.protocol.control.platform_failure import fail_invocation
from unum_runtime.protocol.control.take_over import planned_event
from unum_runtime.protocol.runtime import Call, CallbackPending
from unum_runtime.protocol.waiting.callback import is_nudge

RETRY = {"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 2, "MaxAttempts": 1}]}
DIED = Failure("Runtime.ExitError", None)


def planned(platform: Platform, event: Envelope) -> Envelope:
    return planned_event(platform.runtime(), event, event.routes)


def give_up(platform: Platform, event: Envelope) -> None:
    fail_invocation(platform.runtime(), planned(platform, event), DIED)


def test_retry_of_a_job_keeps_its_attempt_beside_the_job_before_it() -> None:
    platform = watching(over_s=LOOK_S, fails=1, task=RETRY)
    platform.begun()
    platform.pass_time(LOOK_S)
    ((due_ms, again),) = platform.later
    platform.clock.ms = due_ms
    assert again.retries == (1,)
    assert planned(platform, again) == replace(again, due_ms=None)
    give_up(platform, again)
    assert platform.ending().outcome == DIED, "the last attempt has failed"


def test_event_of_an_attempt_that_another_has_followed_is_refused() -> None:
    platform = watching(over_s=LOOK_S, fails=1, task=RETRY)
    look = platform.begun()
    platform.pass_time(LOOK_S + 2)
    assert len(platform.started) == 2
    for late in (look, replace(look, job=None)):
        said = f"{look.name}: attempt 0 is over, because attempt 1 has begun"
        with pytest.raises(RefusedDelivery, match=exactly(said)):
            planned(platform, late)


def test_poll_continues_from_the_stored_job_of_its_attempt() -> None:
    platform = watching(task=RETRY)
    look = platform.begun()
    platform.clock.ms = platform.later[0][0]
    forged = replace(look, job={**look.job, "handle": 99, "since": 1})
    found = planned(platform, forged).job
    assert (found["handle"], found["since"]) == (look.job["handle"], look.job["since"])


def failing_first(**fields: Any) -> tuple[Asking, Envelope]:
    """A Task whose first attempt fails after it has its token, and the event of the second one, which is due."""
    fails = iter([True])

    def code(_event: Any) -> Any:
        if next(fails, False):
            raise type("Again", (Exception,), {})
        return CallbackPending()

    asked = asking(code, Retry=AGAIN, **fields)
    asked.begun()
    due_ms, again = asked.later.pop()
    asked.platform.clock.ms = due_ms
    return asked, again


def test_retry_keeps_its_attempt_beside_the_token_before_it() -> None:
    asked, again = failing_first()
    assert again.retries == (1,)
    assert planned(asked.platform, again) == replace(again, due_ms=None)
    assert asked.deliver(again) is None
    for _ in range(2):
        assert planned(asked.platform, again).retries == (1,), "also after it has its own token"
    with pytest.raises(RefusedDelivery):
        planned(asked.platform, replace(again, retries=(), tries=()))


def test_failed_retry_uses_up_its_own_attempt() -> None:
    asked, again = failing_first()
    give_up(asked.platform, again)
    assert asked.outcome == DIED
    assert asked.platform.calls["Ask"] == 1


def test_check_of_a_try_stays_a_check_of_its_own_time() -> None:
    asked = asking(TimeoutSeconds=60)
    asked.begun()
    ((due_ms, check),) = asked.later
    platform = asked.platform
    assert planned(platform, check) == replace(check, due_ms=None, begun_ms=check.job["since"])
    forged = replace(check, job={"since": 1, "handle": "other"})
    assert planned(platform, forged).job == check.job
    platform.clock.ms = due_ms
    give_up(platform, check)
    assert asked.outcome == Failure("States.Timeout", None), "and no failure of the platform"
    assert asked.platform.calls["Ask"] == 1


@pytest.mark.parametrize("job", [None, {"is_over": True}])
def test_event_that_begins_a_try_does_so_again(job: Any) -> None:
    asked = asking(TimeoutSeconds=60)
    event = asked.event()
    asked.deliver(event)
    found = planned(asked.platform, replace(event, job=job))
    assert (found.job, found.sent_s, found.input) == (None, event.sent_s, event.input)


def test_check_of_a_signal_names_its_own_slot() -> None:
    wait = {"Type": "Task", "Resource": "unum:signal:go", "TimeoutSeconds": 60, "End": True}
    first = {"Type": "Task", "Resource": "Z", "Next": "A"}
    definition = {"StartAt": "Z", "States": {"Z": first, "A": wait}}
    functions: dict[str, Any] = {"Z": lambda event: event, "$services": lambda _: CallbackPending()}
    kept: list[Any] = []
    workflow = compile_workflow(definition, name="w", functions=functions)
    platform = Platform(workflow, functions, options={"own_address": "services", "timer": Kept(kept)})
    platform.run("e", 1)
    ((_, payload, _),) = kept
    check = Envelope.from_json(parse_json(payload))
    forged = replace(check, job={"since": 1, "handle": "0" * 64})
    assert planned(platform, forged).job == check.job
    assert planned(platform, replace(check, job=None)).job is None
    assert planned(platform, check).input.given == Success(1)


TWO = [{"ErrorEquals": [name], "IntervalSeconds": 1, "MaxAttempts": 1} for name in ("X", "Y")]


def raise_each(*names: str) -> Callable[[], None]:
    """Return a function that raises an error of each name, one for each call, and then none."""
    left = [*names]

    def fail() -> None:
        if left:
            raise type(left.pop(0), (Exception,), {})

    return fail


def test_attempts_of_several_retriers_with_tokens_are_added_up() -> None:
    fail = raise_each("X", "Y")

    def code(_event: Any) -> Any:
        fail()
        return CallbackPending()

    asked, events = asking(code, Retry=TWO), list[Envelope]()
    asked.begun()
    for _ in range(2):
        asked.platform.clock.ms, event = asked.later.pop()
        assert planned(asked.platform, event).retries == event.retries
        asked.deliver(event)
        events.append(event)
    assert [event.retries for event in events] == [(1, 0), (1, 1)]
    said = f"{events[0].name}: attempt 1 is over, because attempt 2 has begun"
    with pytest.raises(RefusedDelivery, match=exactly(said)):
        planned(asked.platform, events[0])


def test_attempts_of_several_retriers_with_jobs_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    platform, fail = watching(task={"Retry": TWO}), raise_each("X", "Y")
    call = platform._call

    def failing(asked: Call, event: Any) -> Any:
        if asked.job is not None:
            fail()
        return call(asked, event)

    monkeypatch.setattr(platform, "_call", failing)
    platform.begun()
    platform.pass_time(LOOK_S + 1)
    ((_, look),) = platform.later
    assert look.retries == (1, 0)
    platform.pass_time(LOOK_S + 1)
    said = f"{look.name}: attempt 1 is over, because attempt 2 has begun"
    with pytest.raises(RefusedDelivery, match=exactly(said)):
        planned(platform, look)


def test_check_of_a_retry_stays_a_check() -> None:
    asked, again = failing_first(TimeoutSeconds=60)
    asked.deliver(again)
    ((_, check),) = asked.later
    assert check.retries == (1,)
    assert planned(asked.platform, check).job == check.job


def test_check_of_a_try_that_was_answered_continues_from_the_answer() -> None:
    asked = asking(TimeoutSeconds=60)
    token = asked.begun()
    ((_, check),) = asked.later
    asked.answer(token)
    assert is_nudge(planned(asked.platform, check).job)


class Kept:
    """A timer that keeps events in a list."""

    def __init__(self, kept: list[Any]) -> None:
        self.kept = kept

    def schedule(self, events: Any) -> None:
        self.kept.extend(events)
