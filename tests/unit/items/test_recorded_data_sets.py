"""Items that AWS Step Functions read from S3, in executions that were recorded."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.golden.recordings import cases, needed
from unum_compiler.checks.dataset_tasks import with_tasks
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.languages import program
from unum_runtime.errors import StatesError
from unum_runtime.features import data_sets as items
from unum_runtime.model.states import Json, Map

CASES_AT_LEAST = 10
UNKNOWN = ("Etag", "LastModified")
STALE = "scenarios.base_scenarios-map_item_reader_json_no_json_list_object"
"""Recorded in 2023: an object failed. Since 2026 Step Functions reads its fields as items."""


def readers() -> Iterator[tuple[dict[str, Any], Map]]:
    """Each case whose Map only passes on what it has read, with the Map."""
    for case in cases("executions.jsonl"):
        if case["name"] == STALE:
            continue
        for name, state in case["definition"]["States"].items():
            inner = state.get("ItemProcessor", {}).get("States", {})
            if "ItemReader" in state and all(each == {"Type": "Pass", "End": True} for each in inner.values()):
                start = next(iter(inner))
                yield case, Map(name=name, scope=None, data=state, next=None, pure=True, join=None, start=start)


def arguments(case: dict[str, Any], state: Map) -> Json:
    entered = next(visit["input"] for visit in case["expected"]["entered"] if visit["state"] == state.name)
    task = next(with_tasks(state))
    return program(task).arguments(entered, ExpressionContext({}))


def found(case: dict[str, Any], state: Map, s3: Any) -> dict[str, Json]:
    for stored in case["task_stubs"]["s3_objects"]:
        s3.create_bucket(Bucket=stored["Bucket"])
        s3.put_object(**stored)
    try:
        return {"status": "SUCCEEDED", "output": items.read(arguments(case, state), client=s3)}
    except StatesError as failed:
        return {"status": "FAILED", "error": failed.error}


def known(output: Json) -> Json:
    """`output` without what is different at every recording."""
    return json.loads(
        json.dumps(output), object_hook=lambda item: {key: item[key] for key in item if key not in UNKNOWN}
    )


@needed
@pytest.mark.parametrize(("case", "state"), [pytest.param(*each, id=each[0]["name"]) for each in readers()])
def test_items_are_those_that_were_recorded(case: dict[str, Any], state: Map, s3: Any) -> None:
    expected = {key: case["expected"][key] for key in ("status", "output", "error") if key in case["expected"]}
    assert known(found(case, state, s3)) == known(expected)


@needed
def test_there_are_recordings() -> None:
    assert len([*readers()]) >= CASES_AT_LEAST
