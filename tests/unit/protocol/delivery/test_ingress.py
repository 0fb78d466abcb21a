"""Events that can have no effect any more are refused, and the refusal says why."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.map_platform import around, mapped
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_compiler.options import FunctionOptions
from unum_runtime.client.reading import stored_steps
from unum_runtime.errors import NotOurEvent, RefusedDelivery, StoreError
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.envelope import Stored
from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.stop import stop


def echo(event: Any) -> Any:
    return event


def test_after_a_stop() -> None:
    platform = Platform.of(mapped("A", "B"), A=echo, B=echo)
    platform.start(value=[1])
    record = stored_steps.start_record(platform.memory, "w", "e")
    stop(platform.runtime(), record.name.execution, Failure("Stopped", None))
    (event,) = platform.sent
    with pytest.raises(RefusedDelivery, match=exactly(f"{event.name}: the execution was stopped")):
        platform.deliver(event)
    assert platform.calls == {}


def test_after_the_fan_out_has_failed() -> None:
    def fail(event: Any) -> Any:
        if event == 1:
            raise ValueError
        return event

    caught = around(chain("A"), after="B", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "B"}])
    platform = Platform.of(caught, A=fail, B=echo)
    platform.start(value=[1, 2])
    first, second = platform.sent
    platform.deliver(first)
    with pytest.raises(
        RefusedDelivery, match=exactly(f"{second.name}: a fan-out around it is settled without this branch")
    ):
        platform.deliver(second)
    assert platform.calls["A"] == 1


def test_a_part_of_a_wide_fan_out_after_a_stop() -> None:
    platform = Platform.of(mapped("A"), A=echo)
    platform.options["most_begun"] = 2
    platform.start(value=[1, 2, 3, 4, 5])
    record = stored_steps.start_record(platform.memory, "w", "e")
    stop(platform.runtime(), record.name.execution, Failure("Stopped", None))
    assert platform.sent
    for part in platform.sent:
        with pytest.raises(RefusedDelivery, match=exactly(f"{part.name}: the execution was stopped")):
            platform.deliver(part)
    assert platform.calls == {}


def test_of_another_version() -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    event = replace(platform.sent[0], digest="other")
    own = (platform.workflow.name, platform.workflow.digest)
    said = f"expected an event of workflow and IR {own}, got {('w', 'other')}"
    with pytest.raises(NotOurEvent, match=exactly(said)):
        platform.deliver(event)


def test_with_an_input_in_a_bucket_that_the_function_does_not_know() -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    event = replace(platform.sent[0], input=Stored("place", 0, None))
    said = "object place: an event refers to it, but this function knows no bucket for payloads"
    with pytest.raises(StoreError, match=exactly(said)):
        platform.deliver(event)


def test_an_unguarded_event_whose_input_was_collected_continues_from_its_own_outcome() -> None:
    definition = mapped("A", after="B")
    definition["States"]["B"] = {"Type": "Task", "Resource": "B", "Next": "C"}
    definition["States"]["C"] = {"Type": "Task", "Resource": "C", "End": True}
    platform = Platform.of(definition, {"B": FunctionOptions(guard=Guard.COMMIT)}, A=echo, B=echo, C=echo)
    platform.collection = Collection.EAGER
    platform.start(value=[1, 2])
    for _ in range(2):
        platform.deliver(platform.sent.pop(0))
    (event,) = platform.sent
    platform.deliver(event)
    following = platform.sent.pop()
    platform.sent.clear()
    platform.deliver(event)
    assert [each.name for each in platform.sent] == [following.name]
    assert platform.calls == {"A": 2, "B": 1}
