"""Tasks whose result somebody else hands in, who may do nothing but that: callbacks, and activities with a worker."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Deployment
from tests.patience import PATIENCE_S
from unum_client import Client, Description
from unum_client.control import Control
from unum_client.task_responses import Tasks
from unum_emulator.process import Emulator
from unum_runtime.errors import InvalidOutput, InvalidToken, InvokeError, SignalRefused, TaskTimedOut
from unum_runtime.model.checkpoint import Status
from unum_runtime.store.base import BUCKET

pytestmark = pytest.mark.e2e

ANSWER = """
import json, sys
from unum_client.task_responses import Tasks
Tasks.connect(start_alias=sys.argv[1]).send_task_success(sys.argv[2], json.dumps({"by": "another process"}))
"""

EXAMPLES = Path(__file__).parents[2] / "docs/snippets/functions/task_tokens"

Session = Callable[[str], boto3.Session]


@pytest.fixture(scope="module")
def outputs(deployment: Deployment) -> dict[str, str]:
    return deployment.outputs["Callbacks"]


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    return deployment.client("Callbacks")


@pytest.fixture(scope="module")
def session(deployment: Deployment, outputs: dict[str, str]) -> Session:
    """A session of a role of the stack, with its permissions alone."""

    def assumed(role: str) -> boto3.Session:
        given = deployment.session.client("sts").assume_role(RoleArn=outputs[f"{role}Role"], RoleSessionName="test")
        credentials = given["Credentials"]
        return boto3.Session(
            aws_access_key_id=credentials["AccessKeyId"],
            aws_secret_access_key=credentials["SecretAccessKey"],
            aws_session_token=credentials["SessionToken"],
            region_name=deployment.session.region_name,
        )

    return assumed


@pytest.fixture(scope="module")
def answering(outputs: dict[str, str], session: Session) -> Tasks:
    return Tasks.connect(start_alias=outputs["WorkflowStartAlias"], session=session("Answering"))


@pytest.fixture(scope="module")
def token(deployment: Deployment) -> Callable[..., str]:
    """Return a question's token, different from known ones."""
    table = deployment.table("Callbacks", "AskedTable")

    def asked(question: str, known: str = "") -> str:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = table.get_item(Key={"key": question}, ConsistentRead=True).get("Item", {}).get("token", known)
            if found != known:
                return str(found)
            time.sleep(0.1)
        raise AssertionError(f"{question}: nobody asked")

    return asked


def ended(client: Client, name: str) -> Description:
    return client.wait(name, timeout_s=30)


def test_another_process_answers_when_the_function_is_gone(
    client: Client, token: Callable[..., str], outputs: dict[str, str]
) -> None:
    name = client.start({"case": "ask", "question": "process"}).name
    given = token("process")
    time.sleep(1)
    assert client.describe(name).status is Status.RUNNING
    command = [sys.executable, "-c", ANSWER, outputs["WorkflowStartAlias"], given]
    subprocess.run(command, check=True, timeout=PATIENCE_S)  # noqa: S603 - our own code
    assert ended(client, name).output["answer"] == {"by": "another process"}


def test_a_token_is_used_once(client: Client, token: Callable[..., str], answering: Tasks) -> None:
    name = client.start({"case": "ask", "question": "once"}).name
    given = token("once")
    answering.send_task_success(given, '"first"')
    with pytest.raises(TaskTimedOut):
        answering.send_task_success(given, '"second"')
    assert ended(client, name).output["answer"] == "first"
    with pytest.raises(TaskTimedOut):
        answering.send_task_failure(given, "Late")
    with pytest.raises(InvalidToken):
        answering.send_task_success(given[:-1] + ("0" if given[-1] != "0" else "1"), '"forged"')


def test_whoever_reads_the_table_cannot_answer(
    deployment: Deployment, client: Client, token: Callable[..., str], answering: Tasks
) -> None:
    name = client.start({"case": "ask", "question": "hidden"}).name
    given = token("hidden")
    items = deployment.items("Callbacks")
    texts = {str(text) for item in items for text in item.values()}
    assert not any(given[64:] in text for text in texts)
    for guess in {str(item[field]) for item in items for field in ("proof_hash", "owner") if field in item}:
        with pytest.raises(InvalidToken):
            answering.send_task_success(given[:64] + guess, '"forged"')
    assert client.describe(name).status is Status.RUNNING
    answering.send_task_success(given, '"mine"')
    assert ended(client, name).output["answer"] == "mine"


@pytest.mark.parametrize(
    "output", ["1e999", '{"amount": 1e999}', "9" * 400, "[NaN]", '"\\ud800"', "[" * 600 + "]" * 600]
)
def test_answer_that_is_no_json_changes_nothing(
    client: Client, token: Callable[..., str], answering: Tasks, output: str
) -> None:
    question = f"no JSON {output[:12]}"
    name = client.start({"case": "ask", "question": question}).name
    given = token(question)
    with pytest.raises(InvalidOutput):
        answering.send_task_success(given, output)
    assert client.describe(name).status is Status.RUNNING
    answering.send_task_success(given, '{"amount": 1e308}')
    assert ended(client, name).output["answer"] == {"amount": 1e308}


def test_a_failure_is_caught(client: Client, token: Callable[..., str], answering: Tasks) -> None:
    name = client.start({"case": "ask", "question": "failure"}).name
    answering.send_task_failure(token("failure"), "Refused", "not today")
    assert ended(client, name).output["refused"] == {"Error": "Refused", "Cause": "not today"}


def test_a_new_try_has_a_new_token(client: Client, token: Callable[..., str], answering: Tasks) -> None:
    name = client.start({"case": "ask", "question": "again"}).name
    first = token("again")
    answering.send_task_failure(first, "AskAgain")
    second = token("again", known=first)
    with pytest.raises(TaskTimedOut):
        answering.send_task_success(first, '"too late"')
    answering.send_task_success(second, '"in time"')
    assert ended(client, name).output["answer"] == "in time"


def test_who_sends_no_heartbeat_is_given_up(client: Client, token: Callable[..., str], answering: Tasks) -> None:
    name = client.start({"case": "heartbeat", "question": "alive"}).name
    given, begun = token("alive"), time.monotonic()
    while time.monotonic() - begun < 5:
        answering.send_task_heartbeat(given)
        time.sleep(0.5)
    assert client.describe(name).status is Status.RUNNING
    assert ended(client, name).output["silent"]["Error"] == "States.HeartbeatTimeout"
    with pytest.raises(TaskTimedOut):
        answering.send_task_heartbeat(given)


def test_branches_of_a_map_wait_each_for_themselves(
    client: Client, token: Callable[..., str], answering: Tasks
) -> None:
    questions = [f"question {n}" for n in range(5)]
    name = client.start({"case": "all", "questions": questions}).name
    for question in reversed(questions):
        answering.send_task_success(token(question), json.dumps(f"answer to {question}"))
    assert ended(client, name).output == [f"answer to {question}" for question in questions]


def test_a_message_with_a_token(client: Client, deployment: Deployment, answering: Tasks) -> None:
    name = client.start({"case": "letter", "question": "how are you?"}).name
    url = deployment.outputs["Callbacks"]["LettersUrl"]
    (letter,) = deployment.session.client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    message = json.loads(letter["Body"])
    assert message["text"] == "how are you?"
    answering.send_task_success(message["token"], '{"fine": true}')
    assert ended(client, name).output == {"fine": True}


def test_workers_share_an_activity(client: Client, outputs: dict[str, str], session: Session) -> None:
    worker = Tasks.connect(
        start_alias=outputs["WorkflowStartAlias"],
        activities=json.loads(outputs["WorkflowActivities"]),
        session=session("Worker"),
    )
    names = [client.start({"case": "activity", "work": {"n": n}}).name for n in range(6)]
    done: list[int] = []
    for worker_name in ("one", "another") * 3:
        task = worker.get_activity_task("work", worker_name)
        worker.send_task_heartbeat(task["taskToken"])
        n = json.loads(task["input"])["n"]
        done.append(n)
        worker.send_task_success(task["taskToken"], json.dumps({"n": n, "done": True}))
    assert [ended(client, name).output for name in names] == [{"n": n, "done": True} for n in range(6)]
    assert sorted(done) == list(range(6))


def test_a_signal_finds_its_wait_by_name_and_key(client: Client, outputs: dict[str, str], session: Session) -> None:
    name = client.start({"case": "signal", "order": "order-7"}).name
    telling = Control.connect(
        control_alias=outputs["WorkflowControlFunction"], workflow=client.workflow, session=session("Telling")
    )
    kept = [telling.signal(name, "told", "not this one", key="order-8", id="once") for _ in range(2)]
    assert [(each.is_new, each.is_awaited) for each in kept] == [(True, False), (False, False)]
    assert telling.signal(name, "told", {"by": "a signal"}, key="order-7").is_new
    assert ended(client, name).output["told"] == {"by": "a signal"}
    with pytest.raises(SignalRefused, match="has ended"):
        telling.signal(name, "told", "late", key="order-7")
    with pytest.raises(InvokeError, match="AccessDenied"):
        telling.stop(name)


def test_a_signal_by_key_reaches_all_who_wait_and_who_waits_later(
    client: Client, outputs: dict[str, str], session: Session
) -> None:
    telling = Control.connect(
        control_alias=outputs["WorkflowControlFunction"], workflow=client.workflow, session=session("Telling")
    )
    names = [client.start({"case": "signal", "order": "all-1"}).name for _ in range(3)]
    reply = [telling.signal_by_key("told", "all-1", {"by": "key"}, id="once") for _ in range(2)]
    assert [each.is_new for each in reply] == [True, False]
    names.append(client.start({"case": "signal", "order": "all-1"}).name)
    assert [ended(client, name).output["told"] for name in names] == [{"by": "key"}] * 4
    assert sum(each.reached for each in reply) <= 3


def test_an_event_is_a_signal(client: Client, deployment: Deployment) -> None:
    name = client.start({"case": "signal", "order": "4711"}).name
    event = {"Source": "shop", "DetailType": "paid", "Detail": json.dumps({"order": 4711, "cents": 130})}
    sent = deployment.session.client("events").put_events(Entries=[event, event])
    assert sent["FailedEntryCount"] == 0
    assert ended(client, name).output["told"] == {"order": 4711, "cents": 130}


def test_who_answers_may_do_nothing_else(outputs: dict[str, str], session: Session, answering: Tasks) -> None:
    with pytest.raises(InvalidToken):
        answering.send_task_success("made up", "1")
    table, stranger = outputs["WorkflowTable"], session("Answering")
    in_table = lambda: stranger.client("dynamodb").scan(TableName=table)  # noqa: E731 - of two, one is called
    in_bucket = lambda: stranger.client("s3").list_objects_v2(Bucket=table.removeprefix(BUCKET))  # noqa: E731
    read = in_bucket if table.startswith(BUCKET) else in_table
    with pytest.raises(ClientError, match="AccessDenied"):
        read()
    answering_only = Tasks.connect(
        start_alias=outputs["WorkflowStartAlias"],
        activities=json.loads(outputs["WorkflowActivities"]),
        session=session("Answering"),
    )
    with pytest.raises(InvokeError, match="AccessDenied"):
        answering_only.get_activity_task("work")


@pytest.fixture(scope="module")
def posted(outputs: dict[str, str], session: Session) -> Callable[..., tuple[int, Any]]:
    """Posts JSON to the URL for answers, signed by a role; gives (status, value of the body)."""
    url = outputs["WorkflowTaskResponseUrl"]

    def post(role: str | None, **content: Any) -> tuple[int, Any]:
        request = AWSRequest("POST", url, {"content-type": "application/json"}, json.dumps(content))
        if role is not None:
            credentials = session(role).get_credentials()
            assert credentials is not None
            SigV4Auth(credentials, "lambda", "us-east-1").add_auth(request)
        body = json.dumps(content).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, dict(request.headers))) as response:  # noqa: S310 - ours
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    return post


def test_signed_http_requests_answer(
    client: Client, token: Callable[..., str], posted: Callable[..., tuple[int, Any]]
) -> None:
    name = client.start({"case": "ask", "question": "http"}).name
    given = token("http")
    assert posted("Posting", taskToken=given, heartbeat=True) == (200, {})
    status, refusal = posted("Posting", taskToken=given, output="no JSON")
    assert (status, refusal["__type"]) == (400, "InvalidOutput")
    assert posted("Posting", taskToken=given, output='{"by": "HTTP"}') == (200, {})
    assert ended(client, name).output["answer"] == {"by": "HTTP"}
    status, refusal = posted("Posting", taskToken=given, error="Late")
    assert (status, refusal["__type"]) == (400, "TaskTimedOut")


def test_a_function_answers_with_the_words_of_boto3(
    deployment: Deployment, client: Client, token: Callable[..., str], outputs: dict[str, str]
) -> None:
    functions = deployment.session.client("lambda")

    def answer(given: str) -> Any:
        event = json.dumps({"token": given, "output": '{"by": "boto3"}'})
        response = functions.invoke(FunctionName=outputs["ResponderName"], Payload=event)
        assert "FunctionError" not in response, response["Payload"].read()
        return json.load(response["Payload"])

    name = client.start({"case": "ask", "question": "boto3"}).name
    given = token("boto3")
    assert answer(given) == {"late": False}
    assert ended(client, name).output["answer"] == {"by": "boto3"}
    assert answer(given) == {"late": True}


@pytest.mark.parametrize("command", [["node", "answer.mjs"], ["sh", "answer.sh"]], ids=["node", "curl"])
def test_other_languages_answer_at_the_url(
    command: list[str],
    client: Client,
    token: Callable[..., str],
    outputs: dict[str, str],
    session: Session,
) -> None:
    question = f"by {command[0]}"
    name = client.start({"case": "ask", "question": question}).name
    who = session("Posting").get_credentials()
    assert who is not None
    env = {
        "AWS_ACCESS_KEY_ID": who.access_key,
        "AWS_SECRET_ACCESS_KEY": who.secret_key,
        "AWS_REGION": "us-east-1",
        "AWS_SESSION_TOKEN": str(who.token),
        "PATH": os.environ["PATH"],
    }
    arguments = [outputs["WorkflowTaskResponseUrl"], token(question), "42"]
    subprocess.run([*command, *arguments], check=True, timeout=PATIENCE_S, env=env, cwd=EXAMPLES)  # noqa: S603 - our own code
    assert ended(client, name).output["answer"] == 42


def test_a_function_in_another_language_answers_at_the_url(
    deployment: Deployment, client: Client, token: Callable[..., str], outputs: dict[str, str]
) -> None:
    functions = deployment.session.client("lambda")

    def answer(given: str) -> Any:
        event = json.dumps({"token": given, "result": {"by": "Node.js"}})
        return json.load(functions.invoke(FunctionName=outputs["NodeResponderName"], Payload=event)["Payload"])

    name = client.start({"case": "ask", "question": "Node.js"}).name
    given = token("Node.js")
    answer(given)
    assert ended(client, name).output["answer"] == {"by": "Node.js"}
    assert "TaskTimedOut" in answer(given)["errorMessage"]


def test_who_answers_by_http_may_do_nothing_else(
    outputs: dict[str, str], session: Session, posted: Callable[..., tuple[int, Any]]
) -> None:
    assert posted(None, taskToken="t", heartbeat=True)[0] == 403
    assert posted("Worker", taskToken="t", heartbeat=True)[0] == 403
    functions = session("Posting").client("lambda")
    with pytest.raises(functions.exceptions.ClientError, match="AccessDenied"):
        functions.invoke(FunctionName=outputs["WorkflowStartAlias"], Payload="{}")


def test_no_delivery_failed_on_the_way(client: Client, emulator: Emulator) -> None:
    assert client.workflow.startswith("Callbacks")
    lines = [line for log in emulator.logs.glob("Callbacks-*") for line in log.read_text().splitlines()]
    assert any("finished" in line for line in lines)
    assert [line for line in lines if line.startswith("[ERROR]") and not is_of_attack(line)] == []
    assert [line for line in lines_of(lines, "refused") if not is_of_attack(line["reason"])] == []


def is_of_attack(text: str) -> bool:
    """Return True for a refusal of an event or item that `tests/e2e/attacks` sent or wrote here."""
    words = (
        "no start record of execution",
        'expected "start" and one of',
        "the table was changed",
        "was started with another input",
    )
    return any(each in text for each in words)


def lines_of(lines: list[str], message: str) -> list[Any]:
    ours = (json.loads(line) for line in lines if line.startswith('{"source": "unum"'))
    return [line for line in ours if line["message"] == message]
