"""Events that the platform has given up: their executions go on, whatever else happens to them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import InvokeError, NotOurEvent, RefusedDelivery
from unum_runtime.model.checkpoint import TOMBSTONE, Ending, Failure, Status, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import checkpoint_key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.platform_failure import fail_invocation

KILLED = Failure("Sandbox.Timedout", '{"errorMessage": "Task timed out after 3.00 seconds"}')
RETRY = {"Retry": [{"ErrorEquals": ["Lambda.Unknown"], "IntervalSeconds": 2, "MaxAttempts": 1}]}
CATCH = {"Catch": [{"ErrorEquals": ["Sandbox.Timedout"], "Next": "C", "ResultPath": "$.error"}]}


@dataclass
class Later:
    """Keeps what has to wait."""

    kept: list[tuple[Envelope, int]] = field(default_factory=list)

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        self.kept += [(Envelope.from_json(json.loads(payload)), due_ms) for _, payload, due_ms in events]


def rows(**b_has: Any) -> Platform:
    """A before B before C."""
    return platform_of(chain("A", "B", "C", B=b_has))


def platform_of(definition: dict[str, Any], options: dict[str, FunctionOptions] | None = None) -> Platform:
    functions: dict[str, Callable[[Any], Any]] = {key: lambda event: event for key in "ABC"}
    platform = Platform.of(definition, options, **functions)
    platform.options["timer"] = Later()
    return platform


def given_up(platform: Platform, value: Any = None) -> Envelope:
    """The event for B, which Lambda cannot deliver."""
    platform.start("e", {} if value is None else value)
    (event,) = platform.sent
    platform.sent.clear()
    assert event.state == "B"
    return event


def fail(platform: Platform, event: Envelope, failure: Failure = KILLED) -> None:
    fail_invocation(platform.runtime(), event, failure)


def test_without_a_rule_for_it_the_execution_fails_visibly() -> None:
    platform = rows()
    fail(platform, given_up(platform))
    assert platform.ending() == Ending(Status.FAILED, KILLED)
    assert (platform.sent, platform.calls["B"]) == ([], 0)


def test_it_is_caught() -> None:
    platform = rows(**CATCH)
    fail(platform, given_up(platform))
    platform.deliver_all()
    assert platform.ending() == Ending(
        Status.SUCCEEDED, Success({"error": {"Error": KILLED.error, "Cause": KILLED.cause}})
    )


def test_it_is_retried_as_often_as_the_retrier_says() -> None:
    platform = rows(**RETRY)
    fail(platform, given_up(platform))
    ((again, due_ms),) = platform.options["timer"].kept
    assert (again.retries, due_ms) == ((1,), platform.clock.ms + 2_000)
    assert platform.ending() is None
    fail(platform, again)
    assert platform.ending() == Ending(Status.FAILED, KILLED)


def test_a_retry_that_succeeds() -> None:
    platform = rows(**RETRY)
    fail(platform, given_up(platform, {"n": 1}))
    ((again, _),) = platform.options["timer"].kept
    platform.deliver(again)
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success({"n": 1}))


@pytest.mark.parametrize("error", ["Sandbox.Timedout", "Runtime.ExitError", "Runtime.OutOfMemory", "Lambda.Unknown"])
@pytest.mark.parametrize("rule", ["Lambda.Unknown", "States.TaskFailed", "States.ALL"])
def test_what_stands_for_it_in_rules(error: str, rule: str) -> None:
    platform = rows(Catch=[{"ErrorEquals": [rule], "Next": "C"}])
    fail(platform, given_up(platform), Failure(error, None))
    assert [event.state for event in platform.sent] == ["C"]


def test_other_rules_are_not_for_it() -> None:
    platform = rows(Catch=[{"ErrorEquals": ["States.Timeout", "Lambda.Unknown"], "Next": "C"}])
    fail(platform, given_up(platform), Failure("Lambda.TooManyRequestsException", None))
    assert platform.ending() == Ending(Status.FAILED, Failure("Lambda.TooManyRequestsException", None))


@pytest.mark.parametrize("guard", [Guard.READ, Guard.COMMIT, Guard.LEASE])
def test_a_success_that_is_committed_counts(guard: Guard) -> None:
    platform = platform_of(chain("A", "B", "C"), options={"B": FunctionOptions(guard=guard)})
    event = given_up(platform)
    platform.deliver(event)
    platform.sent.clear()  # it died before it could invoke C
    fail(platform, event)
    assert [sent.state for sent in platform.sent] == ["C"]
    assert platform.calls["B"] == 1
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success({}))


def test_a_late_success_goes_on_from_the_failure() -> None:
    """User code ran on while the handler committed; it loses."""
    platform = rows(**CATCH)
    event = given_up(platform, {"n": 1})

    def late(value: Any) -> Any:
        fail(platform, event)
        return {**value, "late": True}

    platform.functions["B"] = late
    platform.deliver(event)
    platform.deliver_all()
    ending = platform.ending()
    assert ending is not None
    assert isinstance(ending.outcome, Success)
    assert ending.outcome.value["error"]["Error"] == KILLED.error
    assert "late" not in ending.outcome.value
    assert [step.state for step in platform.steps()] == ["A", "B", "C"]


def test_twice_is_as_good_as_once() -> None:
    platform = rows(**CATCH)
    event = given_up(platform)
    fail(platform, event)
    platform.deliver_all()
    before = platform.ending()
    fail(platform, event, Failure("Runtime.ExitError", "another one"))
    platform.deliver_all()
    assert platform.ending() == before
    assert len(platform.steps()) == 3


def test_whoever_dies_between_commit_and_invocation_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = rows(**CATCH)
    event = given_up(platform)

    def refuse(_self: Platform, _events: Any) -> None:
        raise InvokeError("throttled")

    with monkeypatch.context() as patch:
        patch.setattr(Platform, "invoke", refuse)
        with pytest.raises(InvokeError):
            fail(platform, event)
    fail(platform, event, Failure("Runtime.ExitError", None))
    (sent,) = platform.sent
    assert sent.state == "C"
    platform.deliver_all()
    ending = platform.ending()
    assert ending is not None
    assert isinstance(ending.outcome, Success)
    assert ending.outcome.value["error"]["Error"] == KILLED.error, "the first one was committed"


def mapped(**fields: Any) -> dict[str, Any]:
    inner = {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "B", "End": True}}}
    states = {
        "A": {"Type": "Task", "Resource": "A", "Next": "M"},
        "M": {"Type": "Map", "ItemProcessor": inner, "Next": "C", **fields},
        "C": {"Type": "Task", "Resource": "C", "End": True},
    }
    return {"StartAt": "A", "States": states}


def test_a_branch_fails_its_scope() -> None:
    platform = platform_of(mapped(Catch=[{"ErrorEquals": ["Lambda.Unknown"], "Next": "C"}]))
    platform.start("e", [1, 2])
    first, _second = platform.sent
    platform.sent.clear()
    fail(platform, first)
    assert [sent.state for sent in platform.sent] == ["C"]


def test_the_task_that_joins_is_given_up_and_caught() -> None:
    definition = mapped()
    definition["States"]["C"] |= {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "D", "ResultPath": "$[0]"}]}
    definition["States"]["D"] = {"Type": "Pass", "Parameters": {"sum.$": "$[1]"}, "End": True}
    platform = platform_of(definition)
    platform.start("e", [1, 2])
    while platform.sent[0].state != "C":
        platform.deliver(platform.sent.pop(0))
    (event,) = platform.sent
    platform.sent.clear()
    fail(platform, event)
    assert platform.ending() == Ending(Status.SUCCEEDED, Success({"sum": 2}))
    assert platform.calls["C"] == 0


def test_a_function_without_a_checkpoint_fails_by_its_successor() -> None:
    platform = platform_of(chain("A", "B", "C"), options={"B": FunctionOptions(checkpoint=False, guard=Guard.COMMIT)})
    fail(platform, given_up(platform))
    assert platform.ending() == Ending(Status.FAILED, KILLED)


def test_a_wait_that_is_over_only_goes_on() -> None:
    definition = chain("A", "B", "C")
    definition["States"]["A"]["Next"] = "W"
    definition["States"] |= {"W": {"Type": "Wait", "Seconds": 5, "Next": "P"}, "P": {"Type": "Pass", "End": True}}
    del definition["States"]["B"], definition["States"]["C"]
    platform = platform_of(definition)
    platform.start("e", {"n": 1})
    ((event, due_ms),) = platform.options["timer"].kept
    assert event.state == "W"
    platform.clock.ms = due_ms
    fail(platform, event)
    assert platform.ending() == Ending(Status.SUCCEEDED, Success({"n": 1}))


def test_an_execution_whose_time_is_over_times_out() -> None:
    definition = {**chain("A", "B", "C", B={**RETRY, **CATCH}), "TimeoutSeconds": 60}
    platform = platform_of(definition)
    event = given_up(platform)
    platform.clock.pass_seconds(61)
    fail(platform, event)
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.TIMED_OUT


def test_events_past_their_deadline_and_of_other_versions_are_refused() -> None:
    platform = rows()
    event = given_up(platform)
    with pytest.raises(NotOurEvent):
        fail(platform, replace(event, digest="another"))
    platform.clock.ms = (platform.runtime().last_s(event.name.execution) + 1) * 1000
    with pytest.raises(RefusedDelivery):
        fail(platform, event)
    assert platform.ending() is None


def test_a_failure_of_the_platform_stores_no_answer_beside_the_outcome() -> None:
    platform = rows()
    event = given_up(platform)
    before = len(platform.memory._items)
    fail(platform, event)
    assert len(platform.memory._items) == before + 1


@pytest.mark.parametrize("guard", [Guard.READ, Guard.COMMIT])
def test_an_outcome_that_is_committed_goes_on_and_is_not_retried(guard: Guard) -> None:
    retry = {"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 2, "MaxAttempts": 1}]}
    platform = platform_of(chain("A", "B", "C", B=retry), {"B": FunctionOptions(guard=guard)})
    event = given_up(platform)
    platform.deliver(event)
    platform.sent.clear()
    fail(platform, event)
    assert [each.state for each in platform.sent] == ["C"]
    assert platform.options["timer"].kept == []


@pytest.mark.parametrize("collection", Collection)
def test_the_input_of_an_event_that_was_given_up_is_collected_if_any_is(collection: Collection) -> None:
    platform = platform_of(chain("A", "B", "C", B=CATCH))
    platform.collection = collection
    event = given_up(platform)
    fail(platform, event)
    collected = [key for key, (item, _) in platform.memory._items.items() if TOMBSTONE in item]
    before = checkpoint_key("w", replace(event.name, step=event.name.step - 1))
    assert collected == ([before] if collection is Collection.EAGER else [])
