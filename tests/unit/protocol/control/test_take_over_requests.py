"""Requests to the intake that name no event of the execution, or one of a branch beside others."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.control.sweeper import write_start_record
from tests.unit.protocol.map_platform import around, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_compiler import graph as g
from unum_compiler.definition import Definition as Source
from unum_runtime.errors import InvokeError, NotOurEvent
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Execution, Name
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.protocol.control.take_over import planned_event, take_over


def request(digest: str, name: Name, state: str, **fields: Any) -> TakeOver:
    return TakeOver(workflow="w", digest=digest, name=name, state=state, address="F:1", **fields)


def test_begin_of_an_execution_that_never_started_is_refused() -> None:
    platform = deployed(chain("A"))
    name = Name(Execution("never", platform.clock.ms), (), 0)
    with pytest.raises(NotOurEvent, match=exactly(f"{name}: expected an outcome before it, found none")):
        take_over(platform.runtime(), request(platform.workflow.digest, name, "A"), {})


def test_retries_of_a_fan_out_that_has_not_begun_are_ignored() -> None:
    platform = deployed(mapped("A"))
    write_start_record(platform, "e")
    name = Name(Execution("e", platform.clock.ms), (), 1)
    platform.memory._items[next(iter(platform.memory._items))][0]["value"] = "[1,2]"
    take_over(platform.runtime(), request(platform.workflow.digest, name, "M", retries=(1,)), {})
    assert [(event.state, event.retries) for event in platform.sent] == [("A", ()), ("A", ())]
    platform.deliver_all()
    assert result(platform) == [1, 2]


def test_event_of_a_fan_out_that_begins_without_one_is_refused() -> None:
    platform = deployed(mapped("A"))
    platform.start("e", [1])
    (branch,) = platform.sent
    write_start_record(platform, "f")
    event = replace(branch, name=Name(Execution("f", platform.clock.ms), (), 1), state="M")
    event = event.with_input(Value(Success("forged"), 5))
    said = f"{event.name}: expected an event of the execution, got one of state 'M'"
    with pytest.raises(NotOurEvent, match=exactly(said)):
        planned_event(platform.runtime(), event, {})


def test_branch_that_is_taken_over_continues_a_scope_whose_settler_died() -> None:
    def fragile(event: int) -> int:
        if event == 1:
            raise ValueError(event)
        return event

    caught = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "C"}]}
    platform = deployed(around(chain("A"), after="C", **caught), A=fragile)
    platform.collection = Collection.EAGER
    platform.start("e", [1, 2])
    failing, other = platform.sent
    platform.sent.clear()
    platform.deliver(other)

    def lost(_events: Any) -> None:
        raise InvokeError("throttled")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(platform, "invoke", lost)
        with pytest.raises(InvokeError):
            platform.deliver(failing)
    take_over(platform.runtime(), TakeOver.of(other, "F:1"), {})
    assert [event.state for event in platform.sent] == ["C"]


def test_event_without_an_outcome_before_it_is_refused() -> None:
    platform = deployed(mapped("A", after="C"))
    platform.start("e", [1])
    (event,) = platform.sent
    forged: Envelope = replace(event, name=Name(event.name.execution, (), 3), state="C")
    with pytest.raises(NotOurEvent, match="expected an outcome before it, found none"):
        planned_event(platform.runtime(), forged, {})


def test_failed_branch_before_has_not_arrived_at_a_neighbour_join() -> None:
    def fragile(event: int) -> int:
        if event == 1:
            raise ValueError(event)
        return event

    flow = g.map(g.task("A") >> g.task("B").meets_previous(), items=g.out)
    platform = Platform(Source.from_graph(flow).compile("w", None), {"A": fragile, "B": lambda both: both})
    platform.start("e", [1, 2])
    first, second = platform.sent
    platform.sent.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unum_runtime.protocol.delivery.perform.fail", lambda *_: [])  # it died before
        platform.deliver(first)
    platform.deliver(second)
    platform.memory._sets.clear()
    take_over(platform.runtime(), request(platform.workflow.digest, second.name.following, "B"), {})
    assert platform.sent == []


def test_retry_of_a_task_that_waits_for_its_time_is_not_sent_at_once() -> None:
    definition = chain("A", "B")
    definition["States"]["A"]["Next"] = "W"
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 60, "Next": "B"}
    platform = deployed(definition)
    platform.start("e", 1)
    platform.deliver_all()
    ((event, due_ms),) = platform.options["timer"].kept
    platform.options["timer"].kept.clear()
    take_over(platform.runtime(), request(platform.workflow.digest, event.name, event.state, retries=(1,)), {})
    ((planned, planned_ms),) = platform.options["timer"].kept
    assert (planned.retries, planned_ms, platform.sent) == ((), due_ms, [])
