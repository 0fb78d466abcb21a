"""A workflow whose beginning changes, and outside consumers that know the address of its first deployment."""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment, app_command, until
from unum_client import Client
from unum_client.reading.execution_list import ListedExecution
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

EXPECTED = {"1": "one", "2": "one", "3": "two"}
"""Results of the deployments, in their order."""


@pytest.fixture(scope="module")
def deploy(bootstrapped: Emulator) -> Callable[[str], Deployment]:
    def deploy_number(number: str) -> Deployment:
        app = app_command(f"tests.e2e.outside.moving {number}")
        return Deployment(boto3.Session(), cdk.deploy(bootstrapped, ["--all"], app=app, cwd=ROOT))

    return deploy_number


def send_all(session: boto3.Session, outputs: Mapping[str, str], number: str) -> list[str]:
    """Start executions in each way by the outputs of the first deployment; return the names that are known."""
    functions, address = session.client("lambda"), outputs["Permanent"]
    functions.invoke(FunctionName=address, InvocationType="Event", Payload=json.dumps({"by": "event"}))
    answer = functions.invoke(FunctionName=address, Payload=json.dumps({"by": "invocation"}))
    placed = {"Source": "moving.shop", "DetailType": "Placed", "Detail": json.dumps({"by": "rule"})}
    session.client("events").put_events(Entries=[placed])
    for place in range(2):
        message = json.dumps({"by": "queue", "number": number, "place": place})
        session.client("sqs").send_message(QueueUrl=outputs["QueueUrl"], MessageBody=message)
    given = {"stateMachineArn": address, "name": f"by-boto3-{number}", "input": "{}"}
    call = {"operation": "start_execution", "arguments": given}
    started = json.load(functions.invoke(FunctionName=outputs["CallingName"], Payload=json.dumps(call))["Payload"])
    submitted = Client.connect(workflow=address.rpartition(":start-")[2], start_alias=address, session=session).submit(
        {"by": "client"}, name=f"by-client-{number}"
    )
    return [json.load(answer["Payload"])["execution"], started["executionArn"].rpartition(":")[2], submitted]


@contextmanager
def sending(address: str | None) -> Iterator[list[str]]:
    """Start executions all the time, and yield their names; none without an `address`."""
    names: list[str] = []
    is_over = Event()

    def send(client: Client) -> None:
        while not is_over.wait(0.2):
            name = f"meanwhile-{len(names)}"
            client.submit({"by": "sender"}, name=name)
            names.append(name)

    if address is None:
        yield names
        return
    client = Client.connect(workflow=address.rpartition(":start-")[2], start_alias=address, session=boto3.Session())
    with ThreadPoolExecutor(1) as sender:
        sent = sender.submit(send, client)
        try:
            yield names
        finally:
            is_over.set()
        sent.result()


SENT = 7
"""Executions that `send_all` starts."""


def test_address_outlives_changes_of_the_definition(deploy: Callable[[str], Deployment]) -> None:
    first: dict[str, str] = {}
    fast: list[str] = []
    meanwhile: list[str] = []
    for count, (number, expected) in enumerate(EXPECTED.items(), start=1):
        with sending(first.get("Permanent") if number == "2" else None) as names:
            deployment = deploy(number)
        meanwhile += names
        first = first or dict(deployment.outputs["Moving"])
        fast.append(deployment.outputs["Moving"]["Fast"])
        assert deployment.outputs["Moving"]["Permanent"] == first["Permanent"]
        names = send_all(deployment.session, first, number)
        client = deployment.client("Moving")

        def listed(client: Client = client) -> dict[str, ListedExecution]:
            return {each.name: each for each in client.list(limit=1_000).executions}

        expected_count = SENT * count + len(meanwhile)
        until(lambda most=expected_count, of=listed: len(of()) == most and running(of()) == 0)  # type: ignore[misc]
        assert {each.status for each in listed().values()} == {Status.SUCCEEDED}
        assert {client.describe(name).output for name in names} == {expected}
    assert {*meanwhile} <= listed().keys()
    assert len(meanwhile) > 0
    assert len({*fast}) == len(EXPECTED), "the fast address is another after each of these changes"


def running(executions: Mapping[str, Any]) -> int:
    return sum(each.status is Status.RUNNING for each in executions.values())
