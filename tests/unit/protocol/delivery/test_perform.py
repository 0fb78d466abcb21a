"""Events of states that are no Tasks: who gets them, and what they carry."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import broken
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.map_platform import around, deliver_all, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import RouteGone
from unum_runtime.model.checkpoint import TOMBSTONE, Ending, Failure, Phase, Status, Success
from unum_runtime.model.delivery_record import FailedTry
from unum_runtime.model.envelope import Siblings, Value
from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Guard
from unum_runtime.protocol.delivery.perform import envelope
from unum_runtime.protocol.planning.plan import Invoke
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


def test_a_state_without_a_function_may_be_continued_elsewhere() -> None:
    platform = Addressed.of(with_map({"Type": "Wait", "Seconds": 5}), A=lambda event: event, B=lambda event: event)
    assert isinstance(platform, Addressed)
    platform.options |= {"own_address": "the sender", "continued_at": {"W0": "another"}}
    platform.start(value=[1, 2])
    assert platform.addresses == ["another"]


@pytest.mark.parametrize(("width", "inputs"), [(2, [Value, Value]), (3, [Siblings, Siblings])])
def test_a_delivery_starts_as_many_branches_as_it_can(width: int, inputs: list[Any]) -> None:
    platform = Platform.of(mapped("B"), B=lambda event: event)
    platform.options["most_begun"] = 2
    platform.start(value=[*range(width)])
    assert [type(event.input) for event in platform.sent] == inputs


@pytest.mark.parametrize(("most", "inputs"), [(4, [Value] * 4), (3, [Siblings] * 2)])
def test_fan_outs_that_open_together_share_what_a_delivery_can_start(most: int, inputs: list[Any]) -> None:
    """Each one alone is narrow enough."""
    inner = {"StartAt": "N", "States": {"N": {"Type": "Map", "ItemProcessor": chain("B"), "End": True}}}
    platform = deployed(around(inner))
    platform.options["most_begun"] = most
    platform.start(value=[[1, 2], [3, 4]])
    assert [type(event.input) for event in platform.sent] == inputs
    deliver_all(platform)
    assert result(platform) == [[1, 2], [3, 4]]
    assert platform.calls == {"B": 4}


def test_an_event_whose_time_has_come_is_sent_at_once() -> None:
    definition = chain("A", "B")
    definition["States"]["A"]["Next"] = "W"
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 5, "Next": "B"}
    platform = Platform.of(definition, A=lambda event: event, B=lambda event: event)
    with broken(platform, "schedule", ConnectionError("died")):
        platform.start()
    platform.clock.pass_seconds(5)
    platform.start()
    assert ([event.state for event in platform.sent], platform.waiting) == (["B"], [])


def test_an_event_that_is_too_large_is_not_fused_either() -> None:
    grow = {"Type": "Pass", "Parameters": {"one.$": "$", "two.$": "$"}, "Next": "B"}
    definition = chain("A", "B")
    definition["States"]["A"]["Next"] = "P"
    definition["States"]["P"] = grow
    asked: list[Any] = []

    def fuse(address: str, event: Any, task: Any) -> bool:
        asked.append((address, event.state, task.name))
        return True

    for size, is_fused in ((10, True), (200_000, False)):
        platform = Platform.of(definition, A=lambda size: "x" * size, B=lambda event: event)
        platform.options["fuses"] = fuse
        platform.start(value=size)
        assert (platform.calls["B"], len(platform.sent)) == ((1, 0) if is_fused else (0, 1))
    assert asked == [("B", "B", "B")]


def test_what_may_not_be_fused_is_sent() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    platform.options["fuses"] = lambda *_: True
    platform.collection = Collection.EAGER
    platform.start()
    assert [event.state for event in platform.sent] == ["B"]


def test_an_event_has_its_time_and_its_earlier_tries() -> None:
    platform = waiting(60)
    ((due_ms, sent),) = platform.waiting
    assert sent.due_ms == due_ms
    tries = (FailedTry("E", 1, 2),)
    effect = Invoke(sent.name, "B", sent.input, due_ms, tries=tries)
    assert envelope(platform.runtime(), effect, {}).tries == tries


def test_each_of_two_events_of_a_deleted_function_becomes_its_failure() -> None:
    class Gone(Platform):
        def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
            if any(address == "B" for address, _ in events):
                raise RouteGone("B", PermissionError("deleted"), is_deleted=True)
            super().invoke(events)

    definition = mapped("B", after="C", Catch=[{"ErrorEquals": ["Gone"], "Next": "C"}])
    definition["StartAt"], definition["States"]["A"] = "A", {"Type": "Task", "Resource": "A", "Next": "M"}
    platform = Gone.of(definition, None, **dict.fromkeys("ABC", lambda event: event))
    platform.options |= {"gone": lambda _: Failure("Gone", None), "fuses": lambda *_: True}
    platform.run(value=[1, 2])
    ending = platform.ending()
    assert ending is not None
    assert ending.outcome == Success({"Error": "Gone"})
    assert [step.outcome for step in platform.steps() if step.state == "B"] == [Failure("Gone", None)] * 2


def test_a_delivery_that_has_collected_a_fan_out_does_not_ask_for_it_again() -> None:
    platform = Platform.of(mapped("B"), {"B": FunctionOptions(guard=Guard.COMMIT)}, B=lambda event: event)
    platform.collection = Collection.EAGER
    platform.start(value=[1])
    platform.store = CountingStore(platform.memory)
    platform.deliver(platform.sent.pop())
    assert platform.ending() is not None
    assert platform.store.calls["read"] == 0


def test_first_step_of_a_branch_whose_fan_out_was_caught_sends_no_handler() -> None:
    def run(event: int) -> int:
        if event == 2:
            raise ValueError(event)
        platform.deliver(platform.sent[1])  # meanwhile the other branch fails the Map
        return event

    catch = [{"ErrorEquals": ["ValueError"], "Next": "C"}]
    platform = deployed(mapped("A", "D", after="C", Catch=catch), A=run)
    platform.collection = Collection.EAGER
    platform.start(value=[1, 2])
    platform.deliver(platform.sent[0])
    assert sorted(event.state for event in platform.sent) == ["A", "A", "C", "D"]
    inside = [item for key, (item, _) in platform.memory._items.items() if "/M" in key.partition]
    assert inside
    assert all(TOMBSTONE in item for item in inside), "its own outcome is collected, too"


def test_an_event_that_waits_does_not_ask_the_invoker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Platform, "invoke")
    assert len(waiting(5).waiting) == 1
