"""Events of states that are no Tasks: who gets them, and what they carry."""

from collections.abc import Sequence
from typing import Any

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.model.checkpoint import Ending, Failure, Phase, Status, Success
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S, DEFAULT_RETENTION_S

BRANCH = {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "B", "End": True}}}
SELECTED = {"item.$": "$$.Map.Item.Value", "v.$": "$v"}


def with_map(*between: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A Task that assigns a variable, the states `between`, and a Map that reads the variable."""
    first = {"Type": "Task", "Resource": "A", "Assign": {"v": "kept"}}
    last = {"Type": "Map", "ItemSelector": SELECTED, "ItemProcessor": BRANCH, **fields}
    names = ["A", *(f"W{number}" for number, _ in enumerate(between)), "M"]
    ways: list[dict[str, Any]] = [*({"Next": name} for name in names[1:]), {"End": True}]
    states = zip(names, (first, *between, last), ways, strict=True)
    return {"StartAt": "A", "States": {name: state | way for name, state, way in states}}


class Addressed(Platform):
    """A platform that keeps to whom delayed events are sent."""

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        self.addresses = [address for address, _, _ in events]
        super().schedule(events)


def waiting_for_a_map() -> Addressed:
    platform = Addressed.of(with_map({"Type": "Wait", "Seconds": 5}), A=lambda event: event, B=lambda event: event)
    assert isinstance(platform, Addressed)
    platform.options["own_address"] = "the sender"
    platform.start(value=[1, 2])
    return platform


def test_the_sender_itself_gets_events_of_states_without_a_function() -> None:
    assert waiting_for_a_map().addresses == ["the sender"]


def test_a_map_after_a_wait_gets_input_and_variables() -> None:
    platform = waiting_for_a_map()
    platform.deliver(platform.pass_to_next())
    platform.deliver_all()
    ending: Any = platform.ending()
    assert ending.outcome == Success([{"item": 1, "v": "kept"}, {"item": 2, "v": "kept"}])


def test_a_map_that_is_retried_later_gets_input_and_variables_again() -> None:
    failures = [ValueError()]

    def fail_once(event: Any) -> Any:
        if failures:
            raise failures.pop()
        return event

    retry = {"ErrorEquals": ["ValueError"], "IntervalSeconds": 5, "MaxAttempts": 1}
    platform = Addressed.of(with_map(Retry=[retry]), A=lambda event: event, B=fail_once)
    platform.options["own_address"] = "the sender"
    platform.start(value=[1, 2])
    platform.deliver_all()
    platform.deliver(platform.pass_to_next())
    entered = next(step for step in platform.steps() if step.phase is Phase.ENTERED)
    assert (entered.state, entered.outcome) == ("M", Success([1, 2]))
    assert (entered.continuation.variables, entered.continuation.retries) == ({"v": "kept"}, (1,))
    platform.deliver_all()
    ending: Any = platform.ending()
    assert ending.outcome == Success([{"item": 1, "v": "kept"}, {"item": 2, "v": "kept"}])


def waiting(seconds: int) -> Platform:
    definition = chain("A", "B")
    definition["States"]["A"] = {"Type": "Wait", "Seconds": seconds, "Next": "B"}
    platform = Platform.of(definition, B=lambda event: event)
    platform.start()
    return platform


def test_a_wait_must_end_before_the_last_moment_of_its_execution() -> None:
    last_s = DEFAULT_RETENTION_S - DEADLINE_MARGIN_S
    assert len(waiting(last_s).waiting) == 1
    cause = "'B' has to wait for longer than items are kept, 7 days; raise the retention"
    assert waiting(last_s + 1).ending() == Ending(Status.FAILED, Failure("States.Runtime", cause))


def test_a_delayed_event_counts_as_sent_when_it_is_due() -> None:
    platform = waiting(60)
    ((due_ms, event),) = platform.waiting
    assert (due_ms, event.sent_s) == (platform.clock.ms + 60_000, platform.clock.ms // 1000 + 60)


def test_variables_travel_beside_an_input() -> None:
    variables = {"Assign": {"v": "{% $states.result %}"}, "QueryLanguage": "JSONata"}
    grown = Platform.of(chain("A", "B", A=variables), A=lambda _: "x" * 180_000, B=lambda event: event)
    assert grown.run() == Ending(Status.SUCCEEDED, Success("x" * 180_000))
