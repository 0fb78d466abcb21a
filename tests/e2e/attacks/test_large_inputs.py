"""Inputs that exceed an invocation: uploaded by a link; and what else a role without rights on the bucket tries."""

import hashlib
import json
import urllib.error
import urllib.request
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Deployment, until
from unum_client import Client
from unum_runtime.errors import ExecutionDoesNotExist
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.requests import UPLOADED, upload_request, uploaded_event
from unum_runtime.protocol.requests.answers import MAX_BYTES

pytestmark = pytest.mark.e2e

STACK = "Probes"


@dataclass(frozen=True)
class Starter:
    """A role that may start executions and describe them, and its workflow."""

    deployment: Deployment
    session: boto3.Session
    outputs: dict[str, str]

    @property
    def client(self) -> Client:
        """A client that knows neither the table nor the bucket."""
        return Client.connect(
            workflow=self.outputs["WorkflowWorkflow"],
            start_alias=self.outputs["WorkflowStartAlias"],
            describe_alias=self.outputs["WorkflowDescribeAlias"],
            session=self.session,
        )

    def ask(self, request: Any) -> Any:
        payload = json.dumps(request).encode()
        answer = self.session.client("lambda").invoke(FunctionName=self.outputs["WorkflowRunAlias"], Payload=payload)
        return json.load(answer["Payload"])

    def objects(self) -> dict[str, str]:
        """Name and ETag of every object with a value."""
        s3, bucket = self.deployment.session.client("s3"), self.outputs["WorkflowPayloadBucket"]
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return {each["Key"]: each["ETag"] for page in pages for each in page.get("Contents", [])}


@pytest.fixture(scope="module")
def starter(deployment: Deployment) -> Starter:
    outputs = deployment.outputs[STACK]
    given = deployment.session.client("sts").assume_role(RoleArn=outputs["StarterRole"], RoleSessionName="large")
    found = given["Credentials"]
    session = boto3.Session(
        aws_access_key_id=found["AccessKeyId"],
        aws_secret_access_key=found["SecretAccessKey"],
        aws_session_token=found["SessionToken"],
        region_name=deployment.session.region_name,
    )
    return Starter(deployment, session, outputs)


def fat(size: int) -> dict[str, str]:
    return {"case": "fat", "text": "x" * size}


def test_more_than_an_invocation_carries_is_uploaded(starter: Starter) -> None:
    value = fat(MAX_BYTES + 1)
    ended = starter.client.run(value, name=uuid.uuid4().hex, timeout_s=120)
    assert (ended.status, ended.input, ended.output) == (Status.SUCCEEDED, value, value)
    # The same input again is the same execution, another one is an error, as for small ones.
    assert starter.client.start(value, name=ended.name).is_new is False


def test_more_than_an_event_carries_is_uploaded(starter: Starter) -> None:
    name, value = uuid.uuid4().hex, fat(1_100_000)
    starter.client.submit(value, name=name)
    until(lambda: exists(starter.client, name))  # nobody waits for the start of what is submitted
    assert starter.client.wait(name, timeout_s=120).output == value


def exists(client: Client, name: str) -> bool:
    with suppress(ExecutionDoesNotExist):
        return client.describe(name).name == name
    return False


def put(link: Any, content: bytes, **changes: str) -> int:
    """Upload `content` with the link's headers, as changed; return the status."""
    headers = {**link["headers"], **changes}
    asked = urllib.request.Request(link["url"], method="PUT", data=content, headers=headers)  # noqa: S310 - the emulator's
    try:
        with urllib.request.urlopen(asked) as response:  # noqa: S310
            return int(response.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def test_a_link_takes_the_content_that_was_announced_and_no_other(starter: Starter) -> None:
    content, other = json.dumps(fat(10)).encode(), json.dumps(fat(11)).encode()
    same_size = content.replace(b"x", b"y")
    link = starter.ask(upload_request(hashlib.sha256(content).hexdigest(), len(content)))
    before = starter.objects()
    assert put(link, other) >= 400
    assert put(link, other, **{"content-length": str(len(other))}) >= 400
    assert put(link, same_size) >= 400
    elsewhere = {**link, "url": link["url"].replace("~uploads", uuid.uuid4().hex)}
    assert put(elsewhere, content) >= 400
    assert starter.objects() == before
    assert put(link, content) == 200
    assert starter.objects().keys() - before.keys() == {link[UPLOADED]}


def test_the_objects_of_executions_are_out_of_reach(starter: Starter) -> None:
    """By the bucket, by links, and by references in requests."""
    secret = uuid.uuid4().hex
    victim = starter.client.run({**fat(20_000), "secret": secret}, name=uuid.uuid4().hex, timeout_s=120)
    before, bucket = starter.objects(), starter.outputs["WorkflowPayloadBucket"]
    own = next(name for name in sorted(before) if f"/{victim.name}" in name)
    s3, heard = starter.session.client("s3"), []
    for attempt in (
        lambda: s3.put_object(Bucket=bucket, Key=own, Body=b"{}"),
        lambda: s3.delete_object(Bucket=bucket, Key=own),
        lambda: heard.append(s3.get_object(Bucket=bucket, Key=own)["Body"].read().decode()),
        lambda: heard.append(str(s3.list_objects_v2(Bucket=bucket))),
    ):
        with suppress(ClientError):
            attempt()
    name = uuid.uuid4().hex
    for reference in (own, f"{own.partition('/')[0]}/~uploads/../{own.partition('/')[2]}", f"~uploads/{own}"):
        event = uploaded_event(name, reference)
        heard += [json.dumps(starter.ask({**event, "answer": True})), json.dumps(starter.ask(event))]
    digest = own.rpartition("/")[2]
    heard.append(json.dumps(starter.ask(upload_request(f"../{victim.name}/{digest}", 10))))
    assert starter.objects() == before
    assert secret not in "".join(heard)
    with pytest.raises(ExecutionDoesNotExist):
        starter.client.describe(name)
