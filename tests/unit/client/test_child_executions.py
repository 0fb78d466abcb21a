"""Branches of distributed Maps as child executions."""

import json
import uuid
from typing import Any

import pytest

from tests.unit.client.test_map_runs import HERE, client_of, each
from tests.unit.protocol.platform import Platform
from unum_client.boto3_shapes.arns import ResourceNotFound
from unum_client.client import Client
from unum_client.reading.child_executions import ChildExecution, find_child
from unum_client.stepfunctions import StepFunctionsClient
from unum_runtime.errors import ClientError, ExecutionDoesNotExist
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Collection

IDENTITY = {"name.$": "$$.Execution.Name", "id.$": "$$.Execution.Id", "start.$": "$$.Execution.StartTime"}


def named(**fields: Any) -> dict[str, Any]:
    """Return a machine whose branches return their identity, and which ends with its own."""
    last = {"Type": "Pass", "Parameters": {**IDENTITY, "inside.$": "$"}, "End": True}
    inner = {"Type": "Task", "Resource": "A", "Parameters": {**IDENTITY, "item.$": "$"}, "End": True}
    processor = {**each()["ItemProcessor"], "StartAt": "A", "States": {"A": inner}}
    return {"StartAt": "Each", "States": {"Each": each(ItemProcessor=processor, Next="B", **fields), "B": last}}


def work(event: Any) -> Any:
    if event["item"] == "bad":
        raise ValueError(event["item"])
    return event


def children(platform: Platform) -> list[ChildExecution]:
    return [*client_of(platform).children("e", platform.workflow)]


def test_a_child_has_the_name_that_its_context_object_has() -> None:
    platform = Platform.of(named(), A=work)
    platform.start(value=["a", "b"])
    platform.deliver_all()
    output = client_of(platform).describe("e").output
    assert [child.name for child in children(platform)] == [inside["name"] for inside in output["inside"]]
    assert [child.input for child in children(platform)] == ["a", "b"]
    assert [child.output for child in children(platform)] == output["inside"]
    assert output["name"] == "e"
    for child, inside in zip(children(platform), output["inside"], strict=True):
        assert str(uuid.UUID(child.name)) == child.name
        assert inside["id"].endswith(f":execution:w/Each:{child.name}")
        assert output["id"].endswith(":execution:w:e")


def test_the_arn_of_a_child_has_the_label_of_its_map() -> None:
    platform = Platform.of(named(Label="people"), A=work)
    platform.start(value=["a"])
    platform.deliver_all()
    (child,) = children(platform)
    (inside,) = client_of(platform).describe("e").output["inside"]
    assert child.label == "people"
    assert inside["id"].endswith(f":execution:w/people:{child.name}")


def test_children_are_told_apart_by_status_and_steps() -> None:
    platform = Platform.of(named(MaxConcurrency=1, ToleratedFailureCount=1), A=work)
    platform.start(value=["bad", "good", "later"])
    assert [child.status for child in children(platform)] == [Status.RUNNING]
    platform.deliver(platform.sent.pop(0))
    failed, running = children(platform)
    assert (failed.status, failed.error, failed.output) == (Status.FAILED, "ValueError", None)
    assert (running.status, running.steps, running.stopped_at) == (Status.RUNNING, (), None)
    platform.deliver_all()
    assert [child.status for child in children(platform)] == [Status.FAILED, Status.SUCCEEDED, Status.SUCCEEDED]
    assert [[step.state for step in child.steps] for child in children(platform)] == [["A"], ["A"], ["A"]]
    assert [child.index for child in children(platform)] == [(0,), (1,), (2,)]


def test_children_are_listed_as_executions_of_a_map_run() -> None:
    platform = Platform.of(named(ToleratedFailureCount=1), A=work)
    platform.start(value=["a", "bad", "c"])
    platform.deliver_all()
    boto3 = StepFunctionsClient(client_of(platform), definition=platform.workflow, home=HERE)
    (run,) = boto3.list_map_runs(executionArn="e")["mapRuns"]
    page = boto3.list_executions(mapRunArn=run["mapRunArn"], maxResults=2)
    rest = boto3.list_executions(mapRunArn=run["mapRunArn"], nextToken=page["nextToken"], maxResults=2)
    listed = [*page["executions"], *rest["executions"]]
    assert [each["name"] for each in listed] == [child.name for child in children(platform)]
    assert [each["status"] for each in listed] == ["SUCCEEDED", "FAILED", "SUCCEEDED"]
    ids = [inside["id"] for inside in client_of(platform).describe("e").output["inside"] if inside]
    assert {each["executionArn"].partition(":execution:")[2] for each in listed} >= {
        each.partition(":execution:")[2] for each in ids
    }
    failed = boto3.list_executions(mapRunArn=run["mapRunArn"], statusFilter="FAILED")["executions"]
    assert [each["name"] for each in failed] == [listed[1]["name"]]
    with pytest.raises(ClientError, match="expected one of the two, got both"):
        boto3.list_executions(mapRunArn=run["mapRunArn"], stateMachineArn="w")
    with pytest.raises(ResourceNotFound):
        boto3.list_executions(mapRunArn=f"{run['mapRunArn']}9")


def test_names_differ_between_executions_and_are_equal_at_every_delivery() -> None:
    names = []
    for execution in ("e", "f"):
        platform = Platform.of(named(), A=work)
        platform.start(execution, value=["a"])
        first = platform.sent[0]
        platform.deliver(first)
        platform.deliver(first)
        platform.deliver_all()
        found = [*client_of(platform).children(execution, platform.workflow)]
        names += [child.name for child in found]
    assert len({*names}) == 2


def test_an_inline_map_has_no_children() -> None:
    definition = named()
    del definition["States"]["Each"]["ItemProcessor"]["ProcessorConfig"]
    platform = Platform.of(definition, A=work)
    platform.start(value=["a"])
    platform.deliver_all()
    assert children(platform) == []
    assert client_of(platform).describe("e").output["inside"][0]["name"] == "e"


def test_names_travel_only_if_an_expression_reads_them() -> None:
    assert Platform.of(named(), A=work).workflow.names_children is True
    machine = {"StartAt": "Each", "States": {"Each": each(End=True)}}
    assert Platform.of(machine, A=work).workflow.names_children is None


def test_children_of_a_collected_map_are_left_out() -> None:
    platform = Platform.of(named(), A=work)
    platform.collection = Collection.EAGER
    platform.start(value=["a"])
    platform.deliver_all()
    assert children(platform) == []


def boto3_of(platform: Platform) -> StepFunctionsClient:
    client = Client(store=platform.memory, workflow="w", clock=platform.clock, index=platform.memory)
    return StepFunctionsClient(client, definition=platform.workflow, home=HERE)


def arns_of(platform: Platform, execution: str) -> list[str]:
    boto3 = boto3_of(platform)
    (run,) = boto3.list_map_runs(executionArn=execution)["mapRuns"]
    return [each["executionArn"] for each in boto3.list_executions(mapRunArn=run["mapRunArn"])["executions"]]


@pytest.fixture
def crowd() -> Platform:
    """Executions with a distributed Map, one after the other; the last one's first branch has not ended."""
    platform = Platform.of(named(ToleratedFailureCount=1), A=work)
    for number in range(8):
        platform.start(f"e{number}", value=["a", "bad", {"n": number}])
        platform.deliver_all()
        platform.clock.pass_seconds(60)
    platform.start("e8", value=["a", "b"])
    return platform


def test_a_child_is_described_by_its_arn_alone(crowd: Platform) -> None:
    boto3 = boto3_of(crowd)
    good, bad, last = (boto3.describe_execution(executionArn=arn) for arn in arns_of(crowd, "e3"))
    assert (good["status"], good["input"], json.loads(good["output"])["item"]) == ("SUCCEEDED", '"a"', "a")
    assert json.loads(good["output"])["id"].endswith(f"w/Each:{good['name']}")
    assert (bad["status"], bad["error"], "output" in bad) == ("FAILED", "ValueError", False)
    assert last["input"] == '{"n":3}'
    assert boto3.describe_map_run(mapRunArn=last["mapRunArn"])["executionArn"].endswith(":w:e3")
    hidden = boto3.describe_execution(executionArn=arns_of(crowd, "e3")[0], includedData="METADATA_ONLY")
    assert "input" not in hidden
    running = boto3.describe_execution(executionArn=arns_of(crowd, "e8")[0])
    assert (running["status"], "stopDate" in running) == ("RUNNING", False)


def test_the_search_reads_only_executions_that_may_have_the_child(crowd: Platform) -> None:
    asked = []
    name = arns_of(crowd, "e3")[0].rpartition(":")[2]

    def children_of(parent: str) -> list[ChildExecution]:
        asked.append(parent)
        return [*client_of(crowd).children(parent, crowd.workflow)]

    assert find_child(name, crowd.memory, "w", children_of)[0] == "e3"
    assert asked == ["e3"]


@pytest.mark.parametrize("name", ["e3", "29d9d883-7fbd-8321-8c59-26bf12920333", "00000000-0000-8000-8000-000000000000"])
def test_a_child_that_no_execution_has(crowd: Platform, name: str) -> None:
    arn = arns_of(crowd, "e3")[0].rpartition(":")[0]
    with pytest.raises(ExecutionDoesNotExist):
        boto3_of(crowd).describe_execution(executionArn=f"{arn}:{name}")
    elsewhere = arns_of(crowd, "e3")[0].replace(":w/", ":v/")
    with pytest.raises(ExecutionDoesNotExist, match="this is a client of"):
        boto3_of(crowd).describe_execution(executionArn=elsewhere)


def test_a_child_has_a_history_of_its_own(crowd: Platform) -> None:
    boto3 = boto3_of(crowd)
    good, bad, _ = arns_of(crowd, "e3")
    seen = boto3.get_execution_history(executionArn=good)["events"]
    assert [event["type"] for event in seen] == [
        "ExecutionStarted",
        "TaskStateEntered",
        "LambdaFunctionScheduled",
        "LambdaFunctionStarted",
        "LambdaFunctionSucceeded",
        "TaskStateExited",
        "ExecutionSucceeded",
    ]
    assert seen[0]["executionStartedEventDetails"]["input"] == '"a"'
    assert seen[-1]["executionSucceededEventDetails"]["output"] == boto3.describe_execution(executionArn=good)["output"]
    assert [event["id"] for event in seen] == [1, 2, 3, 4, 5, 6, 7]
    last = boto3.get_execution_history(executionArn=bad, reverseOrder=True, maxResults=1)["events"][0]
    assert (last["type"], last["executionFailedEventDetails"]["error"]) == ("ExecutionFailed", "ValueError")
    assert "LambdaFunctionFailed" in [event["type"] for event in boto3.events(executionArn=bad)]
    running = boto3.events(executionArn=arns_of(crowd, "e8")[0])
    assert [event["type"] for event in running][:2] == ["ExecutionStarted", "TaskStateEntered"]
    assert not running[-1]["type"].startswith("Execution")
