"""Functions that end without an answer: every such execution ends all the same, by Retry, Catch, or visibly."""

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.conftest import Deployment, deliveries, until
from tests.e2e.failures.stack import INVOCATIONS, WIDTH
from tests.patience import PATIENCE_S
from unum_cli.main import main
from unum_client import Client, Description
from unum_client.descriptions import StepStatus
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status, Success
from unum_runtime.model.envelope import Envelope, Value

CASES: Mapping[str, Mapping[str, Any]] = {
    "timeout": {},
    "memory": {},
    "exit": {},
    "import": {},
    "syntax": {},
    "retry": {},
    "branch": {"items": ["lives", "dies"]},
    "doomed": {},
    "wide": {"case": "branch", "items": ["lives"] * (WIDTH + 1)},
    "many": {"case": "branch", "items": ["lives"] * WIDTH},
}

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def ended(deployment: Deployment) -> Mapping[str, Description]:
    """Run all cases at once, because Lambda takes long to give an event up, and return their ends."""
    client: Client = deployment.client("Failures")
    names = {case: client.start({"case": case, **value}).name for case, value in CASES.items()}
    return {case: client.wait(name, timeout_s=PATIENCE_S) for case, name in names.items()}


def caught(ended: Mapping[str, Description], case: str) -> tuple[str, str]:
    """The error that a catcher of the case saw, and its message."""
    assert ended[case].status is Status.SUCCEEDED, ended[case]
    error = ended[case].output
    return error["Error"], json.loads(error["Cause"])["errorMessage"]


def test_a_function_that_is_killed_by_its_timeout(ended: Mapping[str, Description]) -> None:
    error, message = caught(ended, "timeout")
    assert error == "Sandbox.Timedout"
    assert "Task timed out after 3.00 seconds" in message


def test_function_out_of_memory_is_caught_as_an_unknown_error(
    ended: Mapping[str, Description],
) -> None:
    error, message = caught(ended, "memory")
    assert error == "Runtime.OutOfMemory"
    assert "signal: killed" in message


@pytest.mark.parametrize(
    ("case", "error", "cause"),
    [
        ("wide", "Unum.WidthBudgetExceeded", f"{WIDTH + 1} branches; at most {WIDTH} are allowed: "),
        ("many", "Unum.InvocationBudgetExceeded", f"at most {INVOCATIONS} are allowed: raise invocation_budget"),
    ],
)
def test_an_execution_beyond_a_budget_fails_before_the_first_branch(
    ended: Mapping[str, Description], deployment: Deployment, case: str, error: str, cause: str
) -> None:
    assert (ended[case].status, ended[case].error) == (Status.FAILED, error)
    assert cause in str(ended[case].cause)
    states = [step.state for step in deployment.client("Failures").steps(ended[case].name)]
    assert "Branch" not in states


def test_a_function_that_exits(ended: Mapping[str, Description]) -> None:
    error, message = caught(ended, "exit")
    assert error == "Runtime.ExitError"
    assert "exit status 3" in message


def test_a_function_that_fails_at_init(ended: Mapping[str, Description]) -> None:
    error, message = caught(ended, "import")
    assert error == "Runtime.ImportModuleError"
    assert "a_module_that_is_nowhere" in message


def test_a_function_whose_code_has_a_syntax_error(ended: Mapping[str, Description]) -> None:
    error, message = caught(ended, "syntax")
    assert error == "Runtime.UserCodeSyntaxError"
    assert "expected ':'" in message


def test_what_the_handler_of_failures_is_told_again_changes_nothing(
    ended: Mapping[str, Description], deployment: Deployment, emulator: Emulator
) -> None:
    """Not even another error: the first outcome counts, and repeats find all work done."""
    client, functions = deployment.client("Failures"), deployment.session.client("lambda")
    steps = fatal, _ = [*client.steps(ended["exit"].name)]
    event = Envelope(
        workflow=client.workflow,
        digest=fatal.checkpoint.digest or "",
        name=fatal.checkpoint.name,
        state=fatal.state,
        input=Value(Success({"case": "exit"}), fatal.checkpoint.name.execution.started_ms),
        sent_s=int(time.time()),
        routes={},
    )
    (address,) = {line["address"] for line in given_up(emulator) if ":Failures-Exit" in line["address"]}
    handler = functions.get_function_event_invoke_config(FunctionName=address)["DestinationConfig"]["OnFailure"]
    record = {
        "requestContext": {"requestId": "again", "functionArn": address, "condition": "RetriesExhausted"},
        "requestPayload": event.to_json(),
        "responsePayload": {"errorType": "Sandbox.Timedout", "errorMessage": "another"},
    }
    reply = deliveries(emulator, "Failures-Tell")
    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(lambda _: deployment.invoke(handler["Destination"], record), range(3))] == [None] * 3
    until(lambda: deliveries(emulator, "Failures-Tell") >= reply + 3)
    assert [*client.steps(ended["exit"].name)] == steps
    assert client.describe(ended["exit"].name) == ended["exit"]


def given_up(emulator: Emulator) -> list[Any]:
    """Return log lines of the failure handler about events that Lambda gave up."""
    lines = [line for log in emulator.logs.glob("Failures-*OnFailure*.log") for line in log.read_text().splitlines()]
    return [json.loads(line) for line in lines if '"given up"' in line]


def test_a_retry_after_it_died_succeeds(ended: Mapping[str, Description]) -> None:
    assert ended["retry"].status is Status.SUCCEEDED
    assert ended["retry"].output == {"case": "retry", "attempt": 1}


def test_a_branch_that_dies_fails_its_scope(ended: Mapping[str, Description]) -> None:
    assert caught(ended, "branch")[0] == "Runtime.ExitError"


def test_what_nobody_catches_fails_the_execution_visibly(ended: Mapping[str, Description]) -> None:
    assert (ended["doomed"].status, ended["doomed"].error) == (Status.FAILED, "Runtime.ExitError")
    assert "exit status 3" in json.loads(ended["doomed"].cause or "")["errorMessage"]


def test_nothing_is_left_over(deployment: Deployment, ended: Mapping[str, Description]) -> None:
    assert len(ended) == len(CASES)
    queue = deployment.session.client("sqs")
    url = deployment.outputs["Failures"]["DeadLetters"]
    assert "Messages" not in queue.receive_message(QueueUrl=url, WaitTimeSeconds=1)


def test_logs_are_those_of_the_execution(ended: Mapping[str, Description], capsys: pytest.CaptureFixture[str]) -> None:
    def printed(case: str, *options: str) -> list[str]:
        capsys.readouterr()
        assert main(["logs", ended[case].name, "--stack", "Failures", *options]) == 0, capsys.readouterr().err
        return capsys.readouterr().out.splitlines()

    (reply,) = [line for line in printed("timeout", "--step", "Tell") if "told" in line]
    assert reply.endswith("  Tell  told of Sandbox.Timedout")
    (last,) = [json.loads(line) for line in printed("retry", "--json") if "attempt 1" in json.loads(line)["line"]]
    assert (last["states"], last["line"]) == (["Recover"], "attempt 1 of retry")
    followed = printed("exit", "--follow", "--platform")
    assert [line for line in followed if "told of Runtime.ExitError" in line]
    assert any("START RequestId" in line for line in followed)


def test_steps_tell_of_each_attempt(deployment: Deployment, ended: Mapping[str, Description]) -> None:
    client: Client = deployment.client("Failures")
    (retried,) = [step for step in client.steps(ended["retry"].name) if step.attempt]
    assert retried.delivery is not None
    assert [each.error for each in retried.delivery.failed] == ["Runtime.ExitError"]
    failed_at, delivery = retried.delivery.failed[0].failed_at, retried.delivery
    assert failed_at <= delivery.sent_at <= delivery.began_at <= delivery.ended_at == retried.committed_at
    # A sandbox that died is replaced by a cold one.
    assert delivery.is_cold
    assert 0 < (delivery.init_ms or 0) < 60_000
    assert delivery.request_id
    assert delivery.log_stream
    (dead,) = [step for step in client.steps(ended["timeout"].name) if step.error]
    assert (dead.status, dead.error) == (StepStatus.CAUGHT, "Sandbox.Timedout")
    assert dead.delivery is not None
    assert dead.delivery.given_up.startswith("RetriesExhausted ")
