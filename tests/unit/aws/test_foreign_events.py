"""Events of another version: what becomes of each, by what the execution that they name has come to."""

import json
from typing import Any

import pytest

from tests.unit.aws.control_platform import Context, Deployed, at, deployed, forget, forget_stored_definitions
from unum_runtime.errors import InconsistentHistory, NotOurEvent
from unum_runtime.functions.operations import failure_function
from unum_runtime.model.checkpoint import Status

__all__ = ["deployed"]  # the fixture

REFUSED = {"errorType": "NotOurEvent", "errorMessage": "expected an event of workflow and IR"}


def waiting_for_b(deployed: Deployed) -> Any:
    """The event for B of an execution on version 1; newer functions are deployed."""
    deployed.begun()
    deployed.client.nudge("e")
    ((_, event),) = deployed.functions.sent()
    deployed.functions.deploy(2, "new")
    return event


def fail(event: Any, *, version: int = 2, error: Any = REFUSED) -> None:
    """Give the handler of B's `version` the record of `event`."""
    context = {"requestId": "r", "functionArn": at("B", version), "condition": "RetriesExhausted"}
    record = {"requestContext": context, "requestPayload": event, "responsePayload": error, "responseContext": {}}
    failure_function.handle(record, Context(at("on-failure", version), str(version)))


def messages(text: str) -> dict[str, Any]:
    return {line["message"]: line for line in map(json.loads, text.splitlines())}


def use(deployed: Deployed) -> None:
    """Let this process be a new sandbox of the failure handler."""
    deployed.functions.use("on-failure")
    forget()


@pytest.mark.parametrize("error", [REFUSED, {"errorType": "Runtime.ExitError", "errorMessage": "died"}])
def test_an_execution_that_runs_on_its_own_version_is_nudged_by_its_name(
    deployed: Deployed, error: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    event = waiting_for_b(deployed)
    use(deployed)
    fail({**event, "ir": "of-nobody"}, error=error)
    ((address, sent),) = deployed.functions.sent()
    assert (address, sent["ir"], sent["step"]) == (at("B", 1), event["ir"], event["step"])
    assert messages(capsys.readouterr().out)["foreign"]["nudged"] == 1
    deployed.functions.events = [(address, sent)]
    use(deployed)
    deployed.run("B", 1, lambda value: value)
    assert deployed.client.describe("e").status is Status.SUCCEEDED


def test_event_of_the_executions_version_refused_by_another_stays_a_letter(deployed: Deployed) -> None:
    event = waiting_for_b(deployed)
    use(deployed)
    with pytest.raises(InconsistentHistory, match="NotOurEvent"):
        fail(event)
    assert deployed.functions.sent() == []


def test_without_its_definition_it_stays_a_letter_too(deployed: Deployed) -> None:
    event = waiting_for_b(deployed)
    forget_stored_definitions()
    use(deployed)
    with pytest.raises(NotOurEvent, match=f"expected the definition of IR {event['ir']}"):
        fail(event)
    assert deployed.functions.sent() == []


def test_dead_delivery_of_another_version_fails_by_its_own_definition(deployed: Deployed) -> None:
    event = waiting_for_b(deployed)
    use(deployed)
    fail(event, error={"errorType": "Runtime.ExitError", "errorMessage": "died"})
    assert deployed.client.describe("e").status is Status.FAILED
    (*_, step) = deployed.client.steps("e")
    assert step.checkpoint.digest == event["ir"]


def test_handler_that_takes_its_functions_definition_would_be_noticed(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failure_function, "_on_definition_of", lambda _, runtime: runtime(None))
    with pytest.raises(NotOurEvent):
        test_dead_delivery_of_another_version_fails_by_its_own_definition(deployed)


def test_event_that_its_own_version_called_foreign_stays_a_letter(deployed: Deployed) -> None:
    event = waiting_for_b(deployed)
    use(deployed)
    with pytest.raises(InconsistentHistory, match="NotOurEvent"):
        fail(event, version=1)


def test_an_execution_that_has_ended_needs_nothing(deployed: Deployed) -> None:
    event = waiting_for_b(deployed)
    use(deployed)
    deployed.client.stop("e")
    fail({**event, "ir": "of-nobody"})
    assert deployed.functions.sent() == []


@pytest.mark.parametrize("name", ["gone", "e"])
def test_after_the_last_moment_it_is_counted_and_nobody_is_nudged(
    deployed: Deployed, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    event = waiting_for_b(deployed)
    use(deployed)
    capsys.readouterr()
    fail({**event, "ir": "of-nobody", "execution": [name, 1]})
    assert deployed.functions.sent() == []
    assert messages(capsys.readouterr().out)["late"]["LateEvents"] == 1


@pytest.mark.parametrize("name", ["gone", "e"])
def test_deleted_execution_and_a_reused_name_need_nothing(
    deployed: Deployed, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    event = waiting_for_b(deployed)
    use(deployed)
    fail({**event, "ir": "of-nobody", "execution": [name, event["execution"][1] + 1]})
    assert deployed.functions.sent() == []
    assert "refused" in messages(capsys.readouterr().out)


def test_a_silent_drop_would_be_noticed(
    deployed: Deployed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failure_function, "nudge_instead", lambda *_: None)
    with pytest.raises(ValueError, match="not enough values"):
        test_an_execution_that_runs_on_its_own_version_is_nudged_by_its_name(deployed, REFUSED, capsys)


def test_nudges_after_the_last_moment_would_be_noticed(
    deployed: Deployed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failure_function, "refuse_late", lambda *_: None)
    with pytest.raises((AssertionError, KeyError)):
        test_after_the_last_moment_it_is_counted_and_nobody_is_nudged(deployed, capsys, "e")
