"""Handlers with Powertools in local runs, in simulations, and on the command line."""

import io
import json
import logging
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import boto3
import pytest
from moto import mock_aws

from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Failure, Success
from unum_simulator import Faults, simulate
from unum_simulator.local import LocalWorkflow

WORKFLOW = Definition.from_asl(
    {"StartAt": "Charge", "States": {"Charge": {"Type": "Task", "Resource": "charge", "End": True}}}
).compile("Orders", None)


@pytest.fixture
def powertools(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example of the documentation, with a table in moto."""
    for name, value in {"REGION": "us-east-1", "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    with mock_aws():
        boto3.client("dynamodb").create_table(
            TableName="payments",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
        )
        from docs.snippets.functions import powertools as example  # noqa: PLC0415 - needs a region

        example.payments.client = boto3.client("dynamodb")
        yield example


@pytest.fixture
def log(powertools: ModuleType) -> Iterator[io.StringIO]:
    """Return log lines of the example."""
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(powertools.logger.registered_formatter)
    powertools.logger.addHandler(handler)
    yield handler.stream
    logging.getLogger("orders").removeHandler(handler)


def lines(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


def test_logs_metrics_and_the_parsed_event(
    powertools: ModuleType, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = LocalWorkflow(WORKFLOW, {"charge": powertools.charge}).run("e", {"id": "o-1", "cents": 7})
    assert isinstance(ended.outcome, Success)
    assert ended.outcome.value["cents"] == 7
    said = next(line for line in lines(log.getvalue()) if line["message"] == "charged")
    assert (said["function_name"], said["function_memory_size"], said["state"]) == ("charge", "128", "Charge")
    assert said["function_arn"] == "arn:aws:lambda:us-east-1:123456789012:function:charge"
    assert said["function_request_id"]
    metric = next(line for line in lines(capsys.readouterr().out) if "Charged" in line)
    assert metric["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Shop"


@pytest.mark.filterwarnings("ignore:No application metrics")
def test_an_event_that_is_refused_fails_its_task(powertools: ModuleType) -> None:
    ended = LocalWorkflow(WORKFLOW, {"charge": powertools.charge}).run("e", {"id": "o-1", "cents": 0})
    assert isinstance(ended.outcome, Failure)
    assert ended.outcome.error == "ValidationError"


def test_crashes_and_duplicates_pay_once(powertools: ModuleType, log: io.StringIO) -> None:
    for seed in range(10):
        faults = Faults(crashes=1, duplicates=1, concurrency=1)
        done = simulate(
            WORKFLOW, {"charge": powertools.charge}, {"id": "o", "cents": 7}, faults=faults, seed=seed, runs=1
        )
        assert done.ending.outcome.value["order"] == "o"
    # Every simulation starts the same execution at the same time, so all have the same invocation.
    said = [line["message"] for line in lines(log.getvalue())]
    assert (said.count("paying"), said.count("charged") > 10) == (1, True)
