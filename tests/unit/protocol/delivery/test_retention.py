"""Retention of executions whose results are kept longer than the rest."""

import pytest

from tests.unit.protocol.platform import Platform, chain, exactly
from unum_client import Client
from unum_client.reading import stored_steps
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Failure, Status
from unum_runtime.model.naming import start_key
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.delivery.start import resume

DAY_S = 86_400
KEPT = {"retention_s": DAY_S, "result_retention_s": 30 * DAY_S}
MAP = {
    "StartAt": "Each",
    "States": {"Each": {"Type": "Map", "ItemProcessor": chain("A"), "End": True}},
}


def client_of(platform: Platform) -> Client:
    return Client(store=platform.memory, workflow="w", clock=platform.clock, index=platform.memory)


def ended(definition: object = None) -> Platform:
    platform = Platform.of(definition or chain("A", "B"), A=lambda n: n + 1, B=lambda n: n * 2)  # type: ignore[arg-type]
    platform.options = dict(KEPT)
    platform.start(value=1)
    platform.deliver_all()
    return platform


def test_input_and_result_outlive_the_steps_between() -> None:
    platform = ended()
    platform.clock.pass_seconds(DAY_S)
    description = client_of(platform).describe("e")
    assert (description.status, description.input, description.output) == (Status.SUCCEEDED, 1, 4)
    assert [step.state for step in client_of(platform).steps("e")] == ["B"]
    assert [each.name for each in client_of(platform).list().executions] == ["e"]
    platform.clock.pass_seconds(30 * DAY_S)
    assert client_of(platform).list().executions == ()


def test_all_is_kept_equally_long_where_nothing_else_is_said() -> None:
    platform = ended()
    platform.options = {"retention_s": DAY_S}
    platform.start("f", 1)
    platform.deliver_all()
    platform.clock.pass_seconds(DAY_S)
    assert platform.memory.read([start_key("w", "f")]) == {}
    assert platform.memory.read([start_key("w", "e")]) != {}


@pytest.mark.parametrize("definition", [chain("A", "B"), MAP])
def test_a_name_that_is_still_taken_starts_nothing_when_its_steps_are_gone(definition: object) -> None:
    platform = Platform.of(definition, A=lambda n: n, B=lambda n: n)  # type: ignore[arg-type]
    platform.options = dict(KEPT)
    platform.start(value=[1])
    platform.deliver_all()
    calls, sent = platform.calls.copy(), len(platform.sent)
    platform.clock.pass_seconds(2 * DAY_S)
    for begin in (lambda: platform.start(value=[1]), lambda: resume(platform.runtime(), "e")):
        with pytest.raises(
            RefusedDelivery,
            match=exactly("start of e:1a3185c5000: delivered 90000 s after its deadline; its items may have expired"),
        ):
            begin()  # type: ignore[no-untyped-call]  # by name
    assert (platform.calls, len(platform.sent)) == (calls, sent)
    assert len([*client_of(platform).steps("e")]) == 1, "the end alone is left"


def test_an_execution_that_was_lost_can_still_be_stopped() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda n: n, B=lambda n: n)
    platform.options = dict(KEPT)
    platform.start(value=1)
    platform.clock.pass_seconds(2 * DAY_S)
    execution = stored_steps.start_record(platform.memory, "w", "e").name.execution
    stop(platform.runtime(), execution, Failure("Lost", None))
    description = client_of(platform).describe("e")
    assert (description.status, description.error) == (Status.ABORTED, "Lost")


def test_starts_and_ends_of_all_kinds_are_listed() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda n: 1 / n, B=lambda n: n)
    for name, value in (("good", 1), ("bad", 0)):
        platform.run(name, value)
    for name in ("stopped", "running"):
        platform.start(name, 1)
    stopped = stored_steps.start_record(platform.memory, "w", "stopped").name.execution
    stop(platform.runtime(), stopped, Failure(None, None))
    found = {each.name: each.status for each in client_of(platform).list().executions}
    assert found == {
        "good": Status.SUCCEEDED,
        "bad": Status.FAILED,
        "stopped": Status.ABORTED,
        "running": Status.RUNNING,
    }
