"""The last steps of a delivery: what is recorded, and what is collected when."""

from typing import Any

import pytest

from tests.unit.protocol.callback_platform import WAITING, broken
from tests.unit.protocol.map_platform import around, deployed, mapped
from tests.unit.protocol.platform import Platform, chain
from tests.unit.protocol.stranded_platform import Stranded
from unum_client.deliveries import parse
from unum_compiler import compile_workflow
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import TOMBSTONE
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Key
from unum_runtime.protocol.runtime import CallbackPending


def collected(platform: Platform) -> list[str]:
    return [key.sort for key in platform.memory._items if is_collected(platform, key)]


def test_every_commit_of_user_code_has_a_record_of_its_delivery() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    platform.options["arrival"] = Arrival(platform.clock.ms, "request")
    platform.run()
    assert all(step.delivery for step in platform.steps())


def test_a_fused_step_has_a_record_that_begins_with_the_commit_before_it() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda _: platform.clock.pass_seconds(2), B=lambda event: event)
    platform.options |= {"arrival": Arrival(platform.clock.ms, "request"), "fuses": lambda *_: True}
    platform.run()
    first, second = platform.steps()
    found = parse(second.delivery, second.committed_ms)
    assert found is not None
    assert found.began_ms == first.committed_ms


def test_a_delivery_that_hands_over_collects_nothing() -> None:
    functions = dict.fromkeys("ABC", lambda event: event)
    workflow = compile_workflow(chain("A", "B", "C"), name="w", functions=functions, options={})
    platform = Stranded(workflow, functions, collection=Collection.EAGER, free=True)
    platform.start()
    (event,) = platform.sent
    platform.free = False
    platform.deliver(event)
    assert len(platform.requests) == 1
    assert collected(platform) == []


def test_a_check_of_a_branch_whose_fan_out_is_settled_collects_what_waits() -> None:
    def ask(event: Any) -> Any:
        if event["input"]:
            raise ValueError
        return CallbackPending()

    branch = {"StartAt": "Ask", "States": {"Ask": {**WAITING, "TimeoutSeconds": 60, "End": True}}}
    platform = Platform.of(around(branch), F=ask)
    platform.collection, platform.options["own_address"] = Collection.EAGER, "F:1"
    platform.start(value=[0, 1])
    platform.deliver_all()
    kept = [key for key in platform.memory._items if key.sort == "pending" and not is_collected(platform, key)]
    assert len(kept) == 1
    with pytest.raises(RefusedDelivery, match="settled without this branch"):
        platform.deliver(platform.pass_to_next())
    assert is_collected(platform, kept[0])


def test_a_refused_event_without_a_job_collects_nothing_that_waits() -> None:
    def ask(event: Any) -> Any:
        if event["input"]:
            raise ValueError
        return CallbackPending()

    branch = {"StartAt": "Ask", "States": {"Ask": {**WAITING, "TimeoutSeconds": 60, "End": True}}}
    platform = Platform.of(around(branch), F=ask)
    platform.collection, platform.options["own_address"] = Collection.EAGER, "F:1"
    platform.start(value=[0, 1])
    first = platform.sent[0]
    platform.deliver_all()
    before = collected(platform)
    with pytest.raises(RefusedDelivery, match="settled without this branch"):
        platform.deliver(first)
    assert collected(platform) == before


def test_another_branch_continues_a_scope_whose_settler_died() -> None:
    def fragile(event: int) -> int:
        if event == 1:
            raise ValueError(event)
        return event

    platform = deployed(mapped("A", after="C", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "C"}]), A=fragile)
    platform.collection = Collection.EAGER
    platform.start("e", [1, 2])
    failing, other = platform.sent
    platform.sent.clear()
    platform.deliver(other)
    with broken(platform, "invoke", ConnectionError("died")):
        platform.deliver(failing)
    platform.deliver(other)
    assert [event.state for event in platform.sent] == ["C"]


def is_collected(platform: Platform, key: Key) -> bool:
    return TOMBSTONE in platform.memory._items[key][0]
