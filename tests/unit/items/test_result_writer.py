"""Results into S3. Source: the developer guide, "ResultWriter (Map)"."""

import json
from typing import Any

import pytest

from tests.unit.items.conftest import BUCKET
from unum_runtime.features import data_sets as items
from unum_runtime.features.data_sets.config import ResultWriterFailed
from unum_runtime.model.states import Json

RESULTS = [[{"n": 1}, {"n": 2}], [], "three"]
PUT = "arn:aws:states:::s3:putObject"


def arguments(results: Json = RESULTS, parameters: Json = None, **config: Json) -> dict[str, Json]:
    return {
        "Resource": PUT,
        "Parameters": {"Bucket": BUCKET, "Prefix": "jobs"} if parameters is None else parameters,
        "WriterConfig": config,
        "Results": results,
        "StateMachine": "arn:aws:states:eu-west-1:123456789012:stateMachine:shop",
        "Label": "orders",
    }


def body(s3: Any, key: str) -> str:
    return s3.get_object(Bucket=BUCKET, Key=key)["Body"].read().decode()


def write_results(s3: Any, **config: Json) -> str:
    result = items.write(arguments(**config), client=s3, key="e1/Map")
    manifest = json.loads(body(s3, result["ResultWriterDetails"]["Key"]))
    return body(s3, manifest["ResultFiles"]["SUCCEEDED"][0]["Key"])


def test_the_map_comes_to_where_its_results_are(s3: Any) -> None:
    result = items.write(arguments(), client=s3, key="e1/Map")
    run = result["MapRunArn"].removeprefix("arn:aws:states:eu-west-1:123456789012:mapRun:shop/orders:")
    assert result["ResultWriterDetails"] == {"Bucket": BUCKET, "Key": f"jobs/{run}/manifest.json"}
    key = f"jobs/{run}/SUCCEEDED_0.json"
    assert json.loads(body(s3, f"jobs/{run}/manifest.json")) == {
        "DestinationBucket": BUCKET,
        "MapRunArn": result["MapRunArn"],
        "ResultFiles": {"FAILED": [], "PENDING": [], "SUCCEEDED": [{"Key": key, "Size": len(body(s3, key))}]},
    }


def test_results_are_records_unless_a_transformation_is_asked_for(s3: Any) -> None:
    records = json.loads(write_results(s3))
    assert [json.loads(record["Output"]) for record in records] == RESULTS
    assert {record["Status"] for record in records} == {"SUCCEEDED"}


@pytest.mark.parametrize(
    ("transformation", "results"), [("COMPACT", RESULTS), ("FLATTEN", [{"n": 1}, {"n": 2}, "three"])]
)
def test_transformations(s3: Any, transformation: str, results: Json) -> None:
    assert json.loads(write_results(s3, Transformation=transformation, OutputType="JSON")) == results
    lines = write_results(s3, Transformation=transformation, OutputType="JSONL").splitlines()
    assert [json.loads(line) for line in lines] == results


def test_writing_again_writes_the_same_objects(s3: Any) -> None:
    first, second = (items.write(arguments(), client=s3, key="e1/Map") for _ in range(2))
    assert first == second
    assert s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 2
    assert items.write(arguments(), client=s3, key="e2/Map") != first


def test_no_results_need_no_file(s3: Any) -> None:
    result = items.write(arguments([]), client=s3, key="e1/Map")
    assert json.loads(body(s3, result["ResultWriterDetails"]["Key"]))["ResultFiles"]["SUCCEEDED"] == []
    assert s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 1


@pytest.mark.parametrize(("prefix", "start"), [("a/b/", "a/b/"), ("a", "a/"), ("", ""), (None, "")])
def test_prefixes(s3: Any, prefix: str | None, start: str) -> None:
    parameters = {"Bucket": BUCKET} | ({} if prefix is None else {"Prefix": prefix})
    result = items.write(arguments(parameters=parameters), client=s3, key="e1/Map")
    run = result["MapRunArn"].rpartition(":")[2]
    assert result["ResultWriterDetails"]["Key"] == f"{start}{run}/manifest.json"


@pytest.mark.parametrize(
    ("config", "results"),
    [
        ({"Transformation": "FLATTEN", "OutputType": "JSON"}, [{"n": 1}, {"n": 2}, "three"]),
        ({"Transformation": "COMPACT"}, RESULTS),
    ],
)
def test_without_a_resource_the_results_are_only_transformed(s3: Any, config: Json, results: Json) -> None:
    given = arguments(**config)
    del given["Resource"], given["Parameters"]
    assert items.write(given, client=s3, key="e1/Map") == results
    assert s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 0


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"parameters": {"Bucket": "nowhere"}}, "s3://nowhere/"),
        ({"parameters": {"Prefix": "jobs"}}, "Bucket is missing, got Prefix"),
        ({"parameters": {"Bucket": BUCKET, "Key": "a"}}, "got Key with 'a'"),
        ({"parameters": {"Bucket": 1}}, "got Bucket with 1"),
        ({"Transformation": "ZIP"}, "Transformation: expected one of NONE, COMPACT, FLATTEN; got 'ZIP'"),
        ({"OutputType": "CSV"}, "OutputType: expected one of JSON, JSONL; got 'CSV'"),
    ],
)
def test_what_cannot_be_written_fails_the_writer(s3: Any, given: Json, cause: str) -> None:
    with pytest.raises(ResultWriterFailed) as caught:
        items.write(arguments(**given), client=s3, key="e1/Map")
    assert caught.value.error == "States.ResultWriterFailed"
    assert cause in caught.value.cause
