"""Timer, service function and JSONata in the emulator: parts of the language beside functions."""

import json
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from tests.e2e.conftest import Deployment
from tests.patience import PATIENCE_S
from unum_client import Client, Description
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e

Run = Callable[..., Description]


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    return deployment.client("Language")


@pytest.fixture
def run(client: Client) -> Run:
    """Runs a case to its end: (case, other input)."""

    def to_end(case: str, **value: Any) -> Description:
        ended = client.wait(client.start({"case": case, **value}).name, timeout_s=PATIENCE_S)
        assert ended.status is Status.SUCCEEDED, ended
        return ended

    return to_end


def test_a_task_is_retried_after_growing_delays(run: Run) -> None:
    tries = run("retry", failures=2).output["tries"]
    first, second = (later - earlier for earlier, later in pairwise(tries))
    assert 1 <= first < 3
    assert 2 <= second < 5


def test_a_task_that_uses_up_its_retries_fails(client: Client) -> None:
    ended = client.wait(client.start({"case": "retry", "failures": 3}).name, timeout_s=PATIENCE_S)
    assert (ended.status, ended.error) == (Status.FAILED, "FlakyError")
    assert json.loads(ended.cause or "")["errorMessage"] == "try 3"


def test_an_exception_is_caught_by_its_class(run: Run) -> None:
    output = run("catch", name="this").output
    assert output["error"] == "RejectedError"
    assert output["message"]["errorMessage"] == "not this"


def test_a_workflow_waits_before_a_task_and_at_its_end(run: Run) -> None:
    ended = run("wait")
    entered, started = (datetime.fromisoformat(ended.output[name]) for name in ("entered", "started"))
    assert (entered - started).total_seconds() >= 5
    assert ended.stopped_at is not None
    assert 7 <= (ended.stopped_at - started).total_seconds() < 15


def test_a_task_that_takes_too_long_is_interrupted(run: Run) -> None:
    ended = run("timeout", seconds=20)
    assert ended.output == "States.Timeout"
    assert ended.stopped_at is not None
    assert (ended.stopped_at - ended.started_at).total_seconds() < 15


def test_variables_and_intrinsic_functions(run: Run) -> None:
    reply = [{"n": n, "to": "Ada"} for n in (3, 1, 2)]
    assert run("variables", name="Ada", numbers=[3, 1, 2]).output == {
        "greeting": "Hello, Ada",
        "count": 3,
        "told": reply,
    }


def test_jsonata(run: Run) -> None:
    assert run("jsonata", numbers=[1, 2, 3]).output == {"total": 12, "average": 4}


def test_a_scope_is_retried(run: Run) -> None:
    steady, tries = run("scope", failures=1).output
    assert steady["failures"] == 1
    assert len(tries) == 2
    assert tries[1] - tries[0] >= 1


def test_services_are_called_with_the_rights_that_the_definition_needs(run: Run, deployment: Deployment) -> None:
    output = run("services", name="box", size=3).output
    assert (output["key"], output["size"]) == ("box", "3")
    assert output["refused"]["Error"] == "DynamoDB.ConditionalCheckFailedException"
    assert deployment.table("Language", "ThingsTable").get_item(Key={"key": "box"})["Item"]["size"] == 3
    letters = deployment.session.client("sqs").receive_message(QueueUrl=deployment.outputs["Language"]["LettersUrl"])
    assert json.loads(letters["Messages"][0]["Body"]) == {"key": "box", "size": "3"}


def test_a_job_is_waited_for(run: Run) -> None:
    assert run("job", n=7).output == {"status": "SUCCEEDED", "output": {"n": 7}}


def test_no_delivery_failed_on_the_way(client: Client, emulator: Emulator) -> None:
    """A retry by Lambda would hide a failure: same result."""
    assert client.workflow.startswith("Language")
    lines = [line for log in emulator.logs.glob("Language-*") for line in log.read_text().splitlines()]
    assert any("finished" in line for line in lines)
    assert [line for line in lines if line.startswith("[ERROR]")] == []
