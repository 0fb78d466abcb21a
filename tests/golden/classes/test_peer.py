"""The generated variants beside another interpreter, moto's; each difference has an explanation.

moto needs a package around a Java process for JSONata and variables, so only fields with paths are compared, without
`Assign`, Tasks and Waits.
"""

import itertools
import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.golden import adapter
from tests.golden.classes.jsonpath_fields import PATH_FIELDS, RUNTIME, Failed, PathField
from tests.golden.classes.jsonpaths import PATHS, PathKind
from tests.golden.classes.running import ended
from tests.golden.classes.values import INPUTS
from unum_runtime.model.states import Json

pytestmark = pytest.mark.long


def read(text: str) -> Json:
    """Return the value of `text` as JSON, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


COMPARED = tuple(
    field
    for field in PATH_FIELDS
    if not field.name.startswith("Assign")
    and not {"Task", "Wait"} & {state["Type"] for state in field.define("$.x")["States"].values()}
)
REFUSED = "refused"
BATCHES = ("BatchInput", "MaxItemsPerBatchPath", "MaxInputBytesPerBatchPath")
POLL_S = 0.003
GIVEN_UP_S = 5.0


@dataclass(frozen=True)
class Difference:
    """Two results of one variant."""

    field: PathField
    path: PathKind
    ours: Json | Failed
    theirs: Json | Failed


EXPLAINED: dict[str, Callable[[Difference], bool]] = {
    "an indefinite path that finds nothing is an empty array in recordings; moto fails": lambda each: (
        not each.path.is_definite and each.theirs in (Failed(RUNTIME), False)
    ),
    "slices, unions and filters of other values than arrays fail as in the library that the recorded causes name; "
    "moto finds nothing": lambda each: not each.path.is_definite and each.ours == Failed(RUNTIME),
    "an indefinite path gives an array also for one value, as recorded; moto gives the value": lambda each: (
        not each.path.is_definite and not isinstance(each.ours, Failed)
    ),
    "a Variable that leads nowhere fails, as the Developer Guide says; moto compares": lambda each: (
        "Variable" in each.field.name and each.ours == Failed(RUNTIME)
    ),
    "a path to compare with may lead to a value of another type; moto fails": lambda each: each.field.name.endswith(
        "EqualsPath"
    ),
    "negative indexes count from the end; moto knows none": lambda each: "-1" in each.path.text,
    "ErrorPath and CausePath that lead nowhere or to other values than text fail with States.Runtime, as recorded; "
    "moto fails with the other field": lambda each: each.field.name in ("ErrorPath", "CausePath"),
    "Items that are no array fail with States.Runtime in JSONPath; moto has JSONata's error": lambda each: (
        each.field.name == "ItemsPath" and each.theirs == Failed("States.QueryEvaluationError")
    ),
    "true and false are no numbers; in moto they are": lambda each: (
        each.field.takes == "input reference" and each.ours == Failed(RUNTIME)
    ),
    "moto writes a text without quotes, so that it reads as a number or not at all": lambda each: (
        each.theirs == "unreadable" or (isinstance(each.ours, str) and each.theirs == read(each.ours))
    ),
    "moto's parser does not know the field": lambda each: (
        each.theirs == REFUSED and each.field.name in (*BATCHES, "ErrorPath", "CausePath")
    ),
    "the specification wants a reference path, or no intrinsic function; moto takes any": lambda each: (
        each.ours == REFUSED
    ),
    "a percentage may have a fraction, also in a text; moto reads whole numbers in texts alone": lambda each: (
        each.field.name == "ToleratedFailurePercentagePath" and each.theirs == Failed(RUNTIME)
    ),
    "moto does not read names behind an index": lambda each: "[0].b" in each.path.text,
}
"""Explanations with the differences that they cover."""


@pytest.fixture(scope="module")
def peer() -> Iterator[Any]:
    logging.getLogger("moto").setLevel(logging.CRITICAL)  # it logs each failure of an execution with a traceback
    with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
        yield boto3.client("stepfunctions", region_name="us-east-1", aws_access_key_id="t", aws_secret_access_key="t")


names = (f"generated-{number}" for number in itertools.count())


def ended_there(peer: Any, definition: Json) -> Callable[[Json], Json | Failed]:
    role = "arn:aws:iam::123456789012:role/r"
    try:
        machine = peer.create_state_machine(name=next(names), definition=json.dumps(definition), roleArn=role)
    except ClientError:
        return lambda _value: REFUSED

    def run(value: Json) -> Json | Failed:
        started = peer.start_execution(
            stateMachineArn=machine["stateMachineArn"], name=next(names), input=json.dumps(value)
        )
        deadline = time.monotonic() + GIVEN_UP_S
        while True:
            found = peer.describe_execution(executionArn=started["executionArn"])
            if found["status"] != "RUNNING" or time.monotonic() > deadline:
                break
            time.sleep(POLL_S)
        if found["status"] != "SUCCEEDED":
            return Failed(found.get("error") or found["status"])
        try:
            return json.loads(found["output"])
        except (KeyError, ValueError):
            return "unreadable"

    return run


def ended_here(definition: Json) -> Callable[[Json], Json | Failed]:
    try:
        adapter.compiled(definition)
    except adapter.Unsupported:
        return lambda _value: REFUSED
    return lambda value: ended(definition, value)


@pytest.mark.parametrize("field", COMPARED, ids=lambda field: field.name)
def test_differences_from_moto_are_explained(peer: Any, field: PathField) -> None:
    unexplained = []
    for path in PATHS:
        definition = field.define(path.text)
        here, there = ended_here(definition), ended_there(peer, definition)
        for kind, value in INPUTS.items():
            ours, theirs = here(value), there(value)
            found = Difference(field, path, ours, theirs)
            if ours != theirs and not any(covers(found) for covers in EXPLAINED.values()):
                unexplained.append((path.text, kind, ours, theirs))
    assert unexplained == []
