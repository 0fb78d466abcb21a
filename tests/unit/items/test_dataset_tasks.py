"""Maps with data sets, run with the Tasks that the definition does not show."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.items.conftest import BUCKET, Put
from unum_compiler.checks.dataset_tasks import enter_by_reader, entrances, task_names, with_tasks
from unum_runtime.features import data_sets as items
from unum_runtime.model.checkpoint import Ending, Failure, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import (
    READ_ITEMS,
    WRITE_RESULTS,
    Catcher,
    Choice,
    Form,
    Json,
    Language,
    Map,
    Parallel,
    Pass,
    Retrier,
    State,
    Task,
)
from unum_simulator.local import Function, LocalWorkflow

READER = {
    "Resource": "arn:aws:states:::s3:getObject",
    "Parameters": {"Bucket": BUCKET, "Key.$": "$.key"},
    "ReaderConfig": {"InputType": "JSON", "MaxItemsPath": "$.most"},
}
WRITER = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": BUCKET, "Prefix.$": "$.out"}}
INPUT = {"key": "all.json", "most": 2, "out": "results"}


def map_of(data: Mapping[str, Json], **fields: Any) -> Map:
    shared = {"scope": None, "next": None, "pure": False, "join": None, "start": "Work", "distributed": True}
    return Map(name="Each", data=data, **shared | fields)


def workflow(*states: State, start_at: str = "Each") -> Workflow:
    """A workflow of `states`, in which the branches of the Map "Each" run one Task."""
    work = Task(name="Work", scope="Each", data={}, next=None, function="work", form=Form.DIRECT)
    lowered = [lowered for state in (*states, work) for lowered in with_tasks(state)]
    readers = entrances(lowered)
    table = {state.name: enter_by_reader(state, readers) for state in lowered}
    return Workflow(name="w", start_at=readers.get(start_at, start_at), states=table)


def work(event: Json, _context: Any) -> Json:
    if event == "bad":
        raise ValueError(event)
    return {"done": event}


def run(compiled: Workflow, s3: Any, value: Json = None) -> Ending:
    functions: dict[str, Function] = {"work": work}
    for task in compiled.tasks:
        if task.resource == READ_ITEMS:
            functions[task.name] = lambda event, _context: items.read(event, client=s3)
        if task.resource == WRITE_RESULTS:
            functions[task.name] = lambda event, context: items.write(
                event, client=s3, key=context.unum.idempotency_key
            )
    return LocalWorkflow(compiled, functions).run("e", INPUT if value is None else value)


def output(compiled: Workflow, s3: Any, value: Json = None) -> Json:
    ending = run(compiled, s3, value)
    assert isinstance(ending.outcome, Success), ending
    return ending.outcome.value


def body(s3: Any, key: str) -> Json:
    return json.loads(s3.get_object(Bucket=BUCKET, Key=key)["Body"].read())


def test_other_states_are_left_as_they_are() -> None:
    plain = map_of({"ItemsPath": "$.items"})
    assert [*with_tasks(plain)] == [plain]
    assert enter_by_reader(plain, {}) == plain


def test_the_names_of_the_tasks_are_known_beforehand() -> None:
    each = map_of({"ItemReader": READER, "ResultWriter": WRITER})
    names = [state.name for state in with_tasks(each)]
    assert [*task_names(each.name, each.data)] == [names[0], names[2]]


def test_a_map_begins_with_what_its_reader_reads(s3: Any, put: Put) -> None:
    put("all.json", "[1, 2, 3]")
    data = {
        "ItemReader": READER,
        "ItemsPath": "$.nowhere",
        "ItemSelector": {"n.$": "$$.Map.Item.Value", "k.$": "$.key"},
    }
    found = output(workflow(map_of(data)), s3)
    assert found == [{"done": {"n": n, "k": "all.json"}} for n in (1, 2)]


def test_the_paths_of_the_map_are_those_of_its_input(s3: Any, put: Put) -> None:
    put("all.json", "[1, 2, 3]")
    data = {"InputPath": "$.here", "ItemReader": READER, "ResultPath": "$.results", "OutputPath": "$.results"}
    assert output(workflow(map_of(data)), s3, {"here": INPUT}) == [{"done": 1}, {"done": 2}]


def test_results_are_written_and_the_map_comes_to_their_place(s3: Any, put: Put) -> None:
    put("all.json", "[1, 2, 3]")
    data = {
        "ItemReader": READER,
        "ResultWriter": {**WRITER, "WriterConfig": {"Transformation": "COMPACT", "OutputType": "JSON"}},
        "ResultSelector": {"manifest.$": "$.ResultWriterDetails.Key", "run.$": "$.MapRunArn"},
        "ResultPath": "$.written",
        "Label": "orders",
    }
    after = Pass(name="After", scope=None, data={"OutputPath": "$.written"}, next=None)
    found = output(workflow(map_of(data, next="After"), after), s3)
    assert ":mapRun:w/orders:" in found["run"]
    manifest = body(s3, found["manifest"])
    assert manifest["MapRunArn"] == found["run"]
    assert body(s3, manifest["ResultFiles"]["SUCCEEDED"][0]["Key"]) == [{"done": 1}, {"done": 2}]


def test_results_can_be_transformed_alone(s3: Any) -> None:
    data = {"ResultWriter": {"WriterConfig": {"Transformation": "FLATTEN"}}, "Assign": {"n.$": "$[0]"}}
    after = Pass(name="After", scope=None, data={"Parameters": {"first.$": "$n", "all.$": "$"}}, next=None)
    found = output(workflow(map_of(data, next="After"), after), s3, [1, 2])
    assert found == {"first": {"done": 1}, "all": [{"done": 1}, {"done": 2}]}


def test_a_map_without_tasks_in_its_branches(s3: Any, put: Put) -> None:
    put("all.json", "[1, 2, 3]")
    inner = Pass(name="Same", scope="Each", data={}, next=None)
    data = {"ItemReader": READER, "ResultWriter": {**WRITER, "WriterConfig": {"Transformation": "COMPACT"}}}
    found = output(workflow(map_of(data, pure=True, start="Same"), inner), s3)
    manifest = body(s3, found["ResultWriterDetails"]["Key"])
    assert body(s3, manifest["ResultFiles"]["SUCCEEDED"][0]["Key"]) == [1, 2]


def test_data_sets_in_jsonata(s3: Any, put: Put) -> None:
    put("all.json", "[1, 2, 3]")
    data = {
        "ItemReader": {
            "Resource": READER["Resource"],
            "Arguments": {"Bucket": BUCKET, "Key": "{% $states.input.key %}"},
            "ReaderConfig": {"InputType": "JSON", "MaxItems": "{% $states.input.most %}"},
        },
        "ItemSelector": {"n": "{% $states.context.Map.Item.Value %}"},
        "ResultWriter": {"Resource": WRITER["Resource"], "Arguments": {"Bucket": BUCKET}},
        "Output": {"there": "{% $states.result.ResultWriterDetails.Key %}", "was": "{% $states.input.key %}"},
    }
    found = output(workflow(map_of(data, language=Language.JSONATA)), s3)
    assert found["was"] == "all.json"
    manifest = body(s3, found["there"])
    records = body(s3, manifest["ResultFiles"]["SUCCEEDED"][0]["Key"])
    assert [json.loads(record["Output"]) for record in records] == [{"done": {"n": 1}}, {"done": {"n": 2}}]


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("nowhere.json", "States.ItemReaderFailed"),
        ("bad.json", "States.ExceedToleratedFailureThreshold"),
        ("all.json", "States.ResultWriterFailed"),
    ],
)
def test_what_the_map_catches_is_caught_wherever_it_fails(s3: Any, put: Put, key: str, error: str) -> None:
    put("all.json", "[1]")
    put("bad.json", '["bad"]')
    catch = (Catcher(errors=("States.ALL",), next="Caught", data={"ResultPath": "$.failure"}),)
    caught = Pass(name="Caught", scope=None, data={}, next=None)
    writer = {**WRITER, "Parameters": {"Bucket": "nowhere"}}
    compiled = workflow(map_of({"ItemReader": READER, "ResultWriter": writer}, catch=catch), caught)
    found = output(compiled, s3, {**INPUT, "key": key})
    assert found["failure"]["Error"] == error
    assert found["most"] == 2


def test_what_is_not_caught_fails_the_execution(s3: Any) -> None:
    ending = run(workflow(map_of({"ItemReader": READER})), s3)
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "States.ItemReaderFailed"
    assert "s3://data/all.json" in (ending.outcome.cause or "")


def test_reading_is_retried_as_the_map_says(s3: Any, put: Put) -> None:
    compiled = workflow(map_of({"ItemReader": READER}, retry=(Retrier(errors=("States.ItemReaderFailed",)),)))
    put("all.json", "[1]")
    tries = []

    def read(event: Json, _context: Any) -> Json:
        tries.append(event)
        return items.read(
            {**event, "Parameters": {"Bucket": BUCKET, "Key": "all.json" if tries[1:] else "no"}}, client=s3
        )

    ending = LocalWorkflow(compiled, {"work": work, "Each (ItemReader)": read}).run("e", INPUT)
    assert ending.outcome == Success([{"done": 1}])
    assert len(tries) == 2


def test_whatever_leads_to_the_map_leads_to_its_reader() -> None:
    each = map_of({"ItemReader": READER})
    rule = Catcher(errors=("States.ALL",), next="Each", data={})
    choice = Choice(name="C", scope=None, data={}, next=None, rules=(({}, "Each"), ({}, "C")), default="Each")
    parallel = Parallel(
        name="P", scope=None, data={}, next="Each", branches=("Each", "X"), pure=False, join=None, catch=(rule,)
    )
    outer = replace(map_of({}, start="Each"), name="Outer")
    found = workflow(each, choice, parallel, outer).states
    reader = found["Each (ItemReader)"]
    assert reader.next == "Each"
    assert found["C"] == replace(choice, rules=(({}, reader.name), ({}, "C")), default=reader.name)
    assert found["P"] == replace(
        parallel, next=reader.name, branches=(reader.name, "X"), catch=(replace(rule, next=reader.name),)
    )
    assert found["Outer"] == replace(outer, start=reader.name)
