"""Recorded calls of services, made by the real service function to the emulator's services.

What the cases need exists before: topics, tables, queues, objects, state machines that end as recorded. Compared are
the status, the error's name and the output, without headers, ids and times. Recorded answers that the emulator's
services give otherwise are named below.
"""

import ast
import contextlib
import json
import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.golden import adapter, recordings
from unum_emulator.process import Emulator
from unum_runtime.clock import SkippingClock
from unum_runtime.features.services import service_function
from unum_runtime.model.states import Form, Json
from unum_simulator.local import LocalWorkflow

pytestmark = [pytest.mark.e2e, recordings.needed]

RECORDED_ACCOUNT = "111111111111"
UNSTABLE = frozenset({"SdkHttpMetadata", "SdkResponseMetadata", "LastModified", "StartDate", "StopDate"})
MISSING = frozenset({"ServerSideEncryption", "RedriveCount", "RedriveStatus", "RedriveStatusReason"})
"""Fields of answers that the emulator's services leave out."""

ARN = re.compile(r"arn:aws:sns:[\w-]+:\d+:[\w-]+")
MACHINE = re.compile(r"stateMachine:([\w-]+)")

OTHERWISE = {
    "error_handling.task_service_dynamodb-invalid_param": "a null item has another error in the emulator",
    "callback.callback-sync_with_task_token": "its child answers with the token; see the tests of callbacks",
}
"""Cases that the emulator cannot have, by name."""


def _is_service_case(case: Mapping[str, Any]) -> bool:
    called = {step.get("resource", "").partition(".")[0] for step in case["task_stubs"]["trace"] or ()}
    waits = any("waitForTaskToken" in step.get("resource", "") for step in case["task_stubs"]["trace"] or ())
    return case["class"] == "service" and bool(called) and not waits and "activity" not in case["name"]


CASES = [case for case in recordings.cases("executions.jsonl") if _is_service_case(case)]


class Prepared:
    """The emulator's services, with what one case needs."""

    def __init__(self, session: boto3.Session, account: str, region: str, case: Mapping[str, Any]) -> None:
        self.session, self.case = session, case
        self.name = f"case-{uuid.uuid4().hex[:12]}"
        text = json.dumps([case["definition"], case["input"]])
        for recorded, here in {RECORDED_ACCOUNT: account, "us-east-1": region}.items():
            text = text.replace(recorded, here)
        self.text = text

    def definition_and_input(self) -> tuple[Json, Json]:
        fails = self.case["expected"]["status"] == "FAILED"
        self._topics(exist=not fails)
        self._tables()
        self._objects()
        self._queues()
        self._machines(exist="no_such_arn" not in self.case["name"])
        definition, value = json.loads(self.text)
        return definition, value

    def _topics(self, *, exist: bool) -> None:
        """Give the recorded topic a name of its own, and create it."""
        for arn in {*ARN.findall(self.text)}:
            self.text = self.text.replace(f'{arn}"', f'{arn.rpartition(":")[0]}:{self.name}"')
            if exist:
                self.session.client("sns").create_topic(Name=self.name)

    def _tables(self) -> None:
        client = self.session.client("dynamodb")
        for table in {*re.findall(r'"TableName": "([\w.-]+)"', self.text)} - {"$.TableName"}:
            with contextlib.suppress(client.exceptions.ResourceInUseException):
                client.create_table(
                    TableName=table,
                    KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                    BillingMode="PAY_PER_REQUEST",
                )

    def _objects(self) -> None:
        client = self.session.client("s3", config=Config(request_checksum_calculation="when_required"))
        for item in self.case["task_stubs"]["s3_objects"] or ():
            bucket, body = f"{self.name}-bucket", item["Body"]
            client.create_bucket(Bucket=bucket)
            if re.match(r"(bytearray\()?b['\"]", body):
                body = ast.literal_eval(body.removeprefix("bytearray(").removesuffix(")"))
            client.put_object(Bucket=bucket, Key=item["Key"], Body=body, ContentType="binary/octet-stream")
            self.text = self.text.replace(f'"{item["Bucket"]}"', f'"{bucket}"')

    def _queues(self) -> None:
        if "sqs-queue-url" in self.text:
            queue = self.session.client("sqs").create_queue(QueueName=self.name)
            self.text = self.text.replace("sqs-queue-url", queue["QueueUrl"])

    def _machines(self, *, exist: bool) -> None:
        """Create a state machine that ends as the recorded child did."""
        if "startExecution" not in self.text or not exist:
            return
        client = self.session.client("stepfunctions")
        trusted = {"Version": "2012-10-17", "Statement": []}
        role = self.session.client("iam").create_role(RoleName=self.name, AssumeRolePolicyDocument=json.dumps(trusted))
        made = client.create_state_machine(
            name=self.name, definition=json.dumps(self._child()), roleArn=role["Role"]["Arn"]
        )["stateMachineArn"]
        self.text = re.sub(r"arn:aws:states:[\w-]+:\d+:stateMachine:[\w-]+|state-machine-arn", made, self.text)
        self.text = self.text.replace("TestStartTarget", self.name)

    def _child(self) -> Json:
        outcome = self.case["task_stubs"]["trace"][-1]["outcome"]
        if "error" in outcome:
            failure = {"Type": "Fail", "Error": outcome["cause"]["Error"], "Cause": outcome["cause"]["Cause"]}
            return {"StartAt": "End", "States": {"End": failure}}
        result = outcome["output"].get("Output", {})
        result = json.loads(result) if isinstance(result, str) else result
        return {"StartAt": "End", "States": {"End": {"Type": "Pass", "Result": result, "End": True}}}


PLACEHOLDER = re.compile(r"<[\w-]+(:\d+)?>|arn:aws:|^(state-machine|execution)-arn$|TestStartTarget|://")
"""Recorded texts that name what differs from call to call."""


def _agrees(found: Json, recorded: Json) -> bool:
    """Return True if `found` is as recorded, apart from what differs from call to call."""
    match recorded:
        case dict() if isinstance(found, dict):
            compared = recorded.keys() - UNSTABLE - MISSING
            return compared == found.keys() - UNSTABLE and all(_agrees(found[key], recorded[key]) for key in compared)
        case list() if isinstance(found, list):
            return len(found) == len(recorded) and all(map(_agrees, found, recorded))
        case str() if PLACEHOLDER.search(recorded):
            return isinstance(found, str)
        case str() if recorded.startswith("{"):
            return isinstance(found, str) and _agrees(json.loads(found), json.loads(recorded))
        case _:
            return found == recorded


@pytest.fixture
def session(emulator: Emulator) -> Iterator[boto3.Session]:
    """A session with the service function's clients, which begin anew for the emulator."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in emulator.environment().items():
            if name.startswith("AWS_"):
                patch.setenv(name, value)
        service_function._clients.cache_clear()
        yield boto3.Session()
    service_function._clients.cache_clear()


class Called:
    """A service Task that the real service function runs."""

    def __init__(self, clock: SkippingClock) -> None:
        self.clock = clock

    def __call__(self, event: Json, context: Any) -> Json:
        return service_function.handle(context.unum, event, self.clock)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_recorded_service_call(session: boto3.Session, case: dict[str, Any]) -> None:
    if case["name"] in OTHERWISE:
        pytest.skip(OTHERWISE[case["name"]])
    account = session.client("sts").get_caller_identity()["Account"]
    definition, value = Prepared(session, account, str(session.region_name), case).definition_and_input()
    workflow, clock = adapter.compiled(definition), SkippingClock()
    called = {task.name: Called(clock) for task in workflow.tasks if task.form is Form.SERVICE}
    ended = adapter.described(LocalWorkflow(workflow, called, clock=clock).run(f"case-{threading.get_ident()}", value))
    expected = case["expected"]
    assert (ended["status"], ended["error"]) == (expected["status"], expected.get("error"))
    assert _agrees(ended["output"], expected.get("output")), (ended["output"], expected.get("output"))
