"""Invoked functions, on real parts: the service function invokes processes that have no runtime."""

import json
from typing import Any

import pytest

from tests.e2e.called.stack import NAME
from tests.e2e.conftest import Deployment
from tests.patience import PATIENCE_S
from unum_client import Client, Description
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    return deployment.client("Called")


def ended(client: Client, **value: Any) -> Description:
    return client.wait(client.start({"n": 1, "list": [{"n": 1}, {"n": 2}], **value}).name, timeout_s=PATIENCE_S)


@pytest.fixture
def result(client: Client) -> Any:
    """Return the result of a case's own Task, after the common ones."""

    def of(case: str) -> Any:
        output = ended(client, case=case).output
        assert (output["n"], output["doubled"]) == (4, [{"n": 2}, {"n": 4}])
        return output["result"]

    return of


def test_an_alias_answers_with_the_payload_alone(result: Any) -> None:
    assert result("alias") == {"version": "1"}


def test_a_version_answers_as_recorded_of_lambda_invoke(result: Any) -> None:
    answer = result("version")
    assert (answer["Payload"], answer["ExecutedVersion"]) == ({"version": "1"}, "1")
    assert (answer["StatusCode"], answer["SdkHttpMetadata"]["HttpStatusCode"]) == (200, 200)


def test_a_function_imported_by_name(result: Any) -> None:
    assert result("imported")["Payload"]["n"] == 5


def test_options_of_a_function_of_the_app(result: Any) -> None:
    answer = result("options")
    assert (answer["Payload"]["version"], "LogResult" in answer) == ("1", True)


def test_an_asynchronous_invocation_has_no_payload(result: Any) -> None:
    answer = result("event")
    assert (answer["StatusCode"], answer.get("Payload", "")) == (202, "")


def test_a_dry_run_runs_nothing(result: Any) -> None:
    assert result("dry")["StatusCode"] == 204


def test_an_error_of_a_called_function_is_caught_by_its_name(client: Client) -> None:
    output = ended(client, case="imported", refuse=NAME).output
    assert output["error"]["Error"] == "RefusedError"
    assert json.loads(output["error"]["Cause"])["errorMessage"] == "no thanks"


def test_a_called_function_that_takes_too_long(client: Client) -> None:
    failed = ended(client, case="slow")
    assert (failed.status, failed.error) == (Status.FAILED, "States.Timeout")


def test_a_chain_of_the_cdk_over_node(deployment: Deployment) -> None:
    client = deployment.client("Called", "Chain")
    assert client.wait(client.start({"n": 21}).name, timeout_s=PATIENCE_S).output == {"n": 42}
