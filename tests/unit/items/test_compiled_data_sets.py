"""Maps with data sets, from the definition on."""

import json
from typing import Any

import pytest

from tests.unit.items.conftest import BUCKET, Put
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.features import data_sets as items
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow

INNER: dict[str, Any] = {
    "Type": "Map",
    "Label": "files",
    "ItemReader": {"Resource": "arn:aws:states:::s3:listObjectsV2", "Parameters": {"Bucket": BUCKET, "Prefix.$": "$"}},
    "ItemBatcher": {"MaxItemsPerBatch": 2},
    "ItemProcessor": {
        "ProcessorConfig": {"Mode": "DISTRIBUTED"},
        "StartAt": "Work",
        "States": {"Work": {"Type": "Task", "Resource": "work", "End": True}},
    },
    "ResultWriter": {
        "Resource": "arn:aws:states:::s3:putObject",
        "Parameters": {"Bucket": BUCKET, "Prefix": "out"},
        "WriterConfig": {"Transformation": "FLATTEN", "OutputType": "JSONL"},
    },
    "End": True,
}


def definition(**others: Json) -> Json:
    """A Map around a Map with data sets, and `others` beside that."""
    outer = {"Type": "Map", "ItemProcessor": {"StartAt": "Each", "States": {"Each": INNER, **others}}, "End": True}
    return {"StartAt": "Outer", "States": {"Outer": outer}}


def compiled(definition: Json) -> Workflow:
    return Definition.from_asl(definition).compile("w", None)


def test_data_sets_inside_of_branches(s3: Any, put: Put) -> None:
    for key in ("a/1", "a/2", "a/3", "b/1"):
        put(key, "")
    functions = {
        "work": lambda event, _context: [item["Key"] for item in event["Items"]],
        "Each (ItemReader)": lambda event, _context: items.read(event, client=s3),
        "Each (ResultWriter)": lambda event, context: items.write(event, client=s3, key=context.unum.idempotency_key),
    }
    ending = LocalWorkflow(compiled(definition()), functions).run("e", ["a/", "b/", "c/"])
    assert isinstance(ending.outcome, Success), ending
    lines = []
    for found in ending.outcome.value:
        manifest = json.loads(body(s3, found["ResultWriterDetails"]["Key"]))
        files = manifest["ResultFiles"]["SUCCEEDED"]
        lines.append([json.loads(line) for file in files for line in body(s3, file["Key"]).splitlines()])
    assert lines == [["a/1", "a/2", "a/3"], ["b/1"], []]


def body(s3: Any, key: str) -> str:
    text: str = s3.get_object(Bucket=BUCKET, Key=key)["Body"].read().decode()
    return text


def test_no_state_may_have_the_name_of_a_reader() -> None:
    taken = {"Each (ItemReader)": {"Type": "Succeed"}}
    with pytest.raises(DefinitionError, match=r"the name \"Each \(ItemReader\)\" is taken"):
        compiled(definition(**taken))


def test_the_context_object_has_the_name_of_the_map(s3: Any, put: Put) -> None:
    put("Each", '["Each"]')
    named = {"Bucket": BUCKET, "Key.$": "$$.State.Name"}
    inner = {
        **INNER,
        "ItemReader": {
            "Resource": "arn:aws:states:::s3:getObject",
            "Parameters": named,
            "ReaderConfig": {"InputType": "JSON"},
        },
        "ItemBatcher": {"MaxItemsPerBatch": 1, "BatchInput": {"of.$": "$$.State.Name"}},
        "ResultWriter": {**INNER["ResultWriter"], "Parameters": {"Bucket": BUCKET, "Prefix.$": "$$.State.Name"}},
    }
    functions = {
        "work": lambda event, _context: event["BatchInput"]["of"],
        "Each (ItemReader)": lambda event, _context: items.read(event, client=s3),
        "Each (ResultWriter)": lambda event, context: items.write(event, client=s3, key=context.unum.idempotency_key),
    }
    workflow = compiled({"StartAt": "Each", "States": {"Each": inner}})
    ending = LocalWorkflow(workflow, functions).run("e", {})
    assert isinstance(ending.outcome, Success), ending
    assert ending.outcome.value["ResultWriterDetails"]["Key"].startswith("Each/")


@pytest.mark.parametrize("language", ["JSONPath", "JSONata"])
def test_the_item_selector_reads_the_source(s3: Any, put: Put, language: str) -> None:
    put("n.json", "[1, 2]")
    path, whole = ("{% $states.context.Map.Item.Source %}", "Arguments") if language == "JSONata" else (None, None)
    processor = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
    reader = {
        "Resource": "arn:aws:states:::s3:getObject",
        whole or "Parameters": {"Bucket": BUCKET, "Key": "n.json"},
        "ReaderConfig": {"InputType": "JSON"},
    }
    state = {
        "Type": "Map",
        "ItemReader": reader,
        "ItemSelector": {"from": path} if path else {"from.$": "$$.Map.Item.Source"},
        "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED"}, **processor},
        "End": True,
    }
    workflow = compiled({"StartAt": "M", "QueryLanguage": language, "States": {"M": state}})
    functions = {"M (ItemReader)": lambda event, _context: items.read(event, client=s3)}
    ending = LocalWorkflow(workflow, functions).run("e", {})
    assert ending.outcome == Success([{"from": f"S3://{BUCKET}/n.json"}] * 2)


def test_only_a_reader_whose_sources_are_read_returns_them() -> None:
    assert "Sources" not in compiled(definition()).task("Each (ItemReader)").data["Parameters"]


def test_a_state_may_have_such_a_name_for_itself() -> None:
    state = {"Type": "Pass", "Parameters": {"name.$": "$$.State.Name"}, "End": True}
    workflow = compiled({"StartAt": "A (ItemReader)", "States": {"A (ItemReader)": state}})
    assert LocalWorkflow(workflow, {}).run("e", {}).outcome == Success({"name": "A (ItemReader)"})
