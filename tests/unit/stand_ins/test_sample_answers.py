"""Samples that answer for Tasks: by the models of services, and by what a definition reads."""

import json
from typing import Any

import pytest

from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.ir import Workflow
from unum_simulator.local import LocalWorkflow
from unum_simulator.stand_ins.modelled_services import ModelledServices
from unum_simulator.stand_ins.uses import Use, paths, split, uses

SDK = "arn:aws:states:::aws-sdk:"


def compiled(*states: dict[str, Any], **fields: Any) -> Workflow:
    """States in a row."""
    names = [f"S{number}" for number in range(len(states))]
    nexts: list[dict[str, Any]] = [*({"Next": name} for name in names[1:]), {"End": True}]
    table = {name: {**after, **state} for name, state, after in zip(names, states, nexts, strict=True)}
    for state in table.values():
        if state["Type"] in ("Choice", "Succeed"):
            state.pop("Next", None)
            state.pop("End", None)
    return Definition.from_asl({"StartAt": "S0", "States": table, **fields}).compile("Flow", None)


def service(resource: str, parameters: Any, **fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": f"arn:aws:states:::{resource}", "Parameters": parameters, **fields}


def run(workflow: Workflow, value: Any = None) -> Any:
    models = ModelledServices(workflow)
    found = LocalWorkflow(workflow, models.handlers()).run("e", models.input() if value is None else value).outcome
    return found.value if isinstance(found, Success) else (found.error, found.cause)


def test_a_service_answers_with_the_shape_of_its_response() -> None:
    got = run(compiled(service("aws-sdk:glue:getJobRun", {"JobName": "j", "RunId": "r"})))
    assert (got["JobRun"]["JobRunState"], got["JobRun"]["Attempt"]) == ("SUCCEEDED", 0)
    assert got["JobRun"]["StartedOn"] == "2020-01-01T00:00:00Z"
    assert "ErrorMessage" not in got["JobRun"]


def test_answers_are_deterministic() -> None:
    workflow = compiled(service("aws-sdk:ec2:describeInstances", {}))
    assert run(workflow) == run(workflow)


def test_there_is_no_next_page() -> None:
    listed = run(compiled(service("aws-sdk:s3:listObjectsV2", {"Bucket": "${Bucket}"})))
    assert "NextContinuationToken" not in listed
    assert not listed.get("IsTruncated")
    assert listed["Contents"][0]["Key"] == "Key"


def test_parameters_are_checked_as_in_a_deployment() -> None:
    error, cause = run(compiled(service("dynamodb:putItem", {"TableName": "t", "Item": {"id": "plain"}})))
    assert error == "States.Runtime"
    assert "$.Item.id: expected an object, got" in cause


def test_a_map_of_the_model_has_the_keys_that_are_read() -> None:
    get = service("dynamodb:getItem", {"TableName": "t", "Key": {"id": {"S": "1"}}})
    read = {"Type": "Pass", "Parameters": {"to.$": "$.Item.mail.S", "n.$": "$.Item.count.N"}}
    assert run(compiled(get, read)) == {"to": "S", "n": "N"}


def test_a_polling_loop_ends_by_the_constants_of_its_choice() -> None:
    describe = service("aws-sdk:rds:describeDBInstances", {})
    status = "$.DbInstances[0].DbInstanceStatus"
    again = {
        "Type": "Choice",
        "Choices": [
            {"Variable": status, "StringEquals": "creating", "Next": "S0"},
            {"Variable": status, "StringEquals": "available", "Next": "S2"},
        ],
    }
    done = {"Type": "Pass", "Parameters": {"status.$": status}}
    assert run(compiled(describe, again, done)) == {"status": "available"}


def test_a_loop_that_goes_on_while_something_holds_ends() -> None:
    check = {"Type": "Task", "Resource": "check"}
    again = {
        "Type": "Choice",
        "Choices": [{"Variable": "$.more", "BooleanEquals": True, "Next": "S0"}],
        "Default": "S2",
    }
    assert run(compiled(check, again, {"Type": "Succeed"})) == {"more": False}


@pytest.mark.parametrize(
    ("resource", "parameters", "path", "expected"),
    [
        ("glue:startJobRun.sync", {"JobName": "j"}, "JobRunState", "SUCCEEDED"),
        ("athena:startQueryExecution.sync", {"QueryString": "q"}, "QueryExecution.Status.State", "SUCCEEDED"),
        ("codebuild:startBuild.sync", {"ProjectName": "p"}, "Build.BuildStatus", "SUCCEEDED"),
        ("ecs:runTask.sync", {"TaskDefinition": "t"}, "LastStatus", "STOPPED"),
        ("states:startExecution.sync", {"StateMachineArn": "m"}, "Status", "SUCCEEDED"),
        ("mediaconvert:createJob.sync", {"Role": "r", "Settings": {}}, "Job.Status", "COMPLETE"),
    ],
)
def test_a_job_is_started_polled_and_ends_well(resource: str, parameters: Any, path: str, expected: str) -> None:
    found = run(compiled(service(resource, parameters)))
    for step in path.split("."):
        found = found[step]
    assert found == expected


def test_an_output_that_is_read_as_json_is_json() -> None:
    nested = service("states:startExecution.sync:2", {"StateMachineArn": "m"}, OutputPath="$.Output")
    assert run(compiled(nested, {"Type": "Pass", "InputPath": "$.total.cents"})) == "cents"
    stored = service("aws-sdk:s3:getObject", {"Bucket": "b", "Key": "k"}, ResultSelector={"t.$": "$.Body"})
    parse = {"Type": "Pass", "Parameters": {"parsed.$": "States.StringToJson($.t)"}}
    assert run(compiled(stored, parse)) == {"parsed": {}}


def test_functions_and_responders_answer_with_what_is_read() -> None:
    invoke = service("lambda:invoke", {"FunctionName": "f"}, ResultPath="$.first")
    token = {"FunctionName": "f", "Payload": {"t.$": "$$.Task.Token"}}
    ask = service("lambda:invoke.waitForTaskToken", token, ResultPath="$.second")
    wanted = {"a.$": "$.first.Payload.order.id", "b.$": "States.MathAdd($.second.count, 1)", "c.$": "$.given"}
    assert run(compiled(invoke, ask, {"Type": "Pass", "Parameters": wanted})) == {"a": "id", "b": 2, "c": "given"}


def test_items_of_a_map_have_what_its_branches_read() -> None:
    inner = {"StartAt": "P", "States": {"P": {"Type": "Pass", "InputPath": "$.name.first", "End": True}}}
    each = {"Type": "Map", "ItemsPath": "$.people", "ItemProcessor": inner}
    workflow = compiled(each)
    assert ModelledServices(workflow).input() == {"people": [{"name": {"first": "first"}}]}
    assert run(workflow) == ["first"]
    selected = {**each, "ItemSelector": {"name.$": "$$.Map.Item.Value.of"}}
    assert ModelledServices(compiled(selected)).input() == {"people": [{"of": {"first": "first"}}]}


def test_a_data_set_has_one_item() -> None:
    inner = {"StartAt": "P", "States": {"P": {"Type": "Pass", "InputPath": "$.Key", "End": True}}}
    each = {
        "Type": "Map",
        "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **inner},
        "ItemReader": {"Resource": "arn:aws:states:::s3:listObjectsV2", "Parameters": {"Bucket": "${B}"}},
    }
    assert run(compiled(each)) == ["Key"]
    writer = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b", "Prefix": "p"}}
    assert run(compiled({**each, "ResultWriter": writer}))["ResultWriterDetails"]["Bucket"] == "b"


def test_jsonata_reads_results_variables_and_input() -> None:
    ask = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": {"FunctionName": "f", "Payload": "{% $states.input.who.mail %}"},
        "Assign": {"kept": "{% $states.result.Payload %}"},
        "Output": "{% $states.result.Payload.total %}",
    }
    end = {"Type": "Pass", "Output": {"n": "{% $kept.name %}", "s": "{% $states.input.sum %}"}}
    workflow = compiled(ask, end, QueryLanguage="JSONata")
    assert ModelledServices(workflow).input()["who"] == {"mail": "mail"}
    assert run(workflow) == {"n": "name", "s": "sum"}


def test_other_roles_and_http_endpoints_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    role = {"Credentials": {"RoleArn": "arn:aws:iam::123456789012:role/r"}}
    other = service("sqs:sendMessage", {"QueueUrl": "q", "MessageBody": "m"}, **role, ResultPath="$.sent")
    get = service("http:invoke", {"ApiEndpoint": "https://e", "Method": "GET"}, ResultPath="$.got")
    found = run(compiled(other, get, {"Type": "Pass"}), {})
    assert (found["sent"]["MessageId"], found["got"]["StatusCode"]) == ("MessageId", 200)


def test_another_workflow_and_a_job_of_kubernetes_answer() -> None:
    alias = "arn:aws:lambda:us-east-1:123456789012:function:entry:start-Child"
    start = service("states:startExecution.sync:2", {"StateMachineArn": alias}, ResultPath="$.child")
    cluster = {"ClusterName": "c", "CertificateAuthority": "a", "Endpoint": "https://e"}
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {}}
    job = service("eks:runJob.sync", {**cluster, "Job": manifest}, ResultPath="$.job")
    found = run(compiled(start, job, {"Type": "Pass"}), {})
    assert (found["child"]["Status"], found["job"]) == ("SUCCEEDED", "result")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", ("$", ())),
        ("$.a['b c'][0].d[*]", ("$", ("a", "b c", "[0]", "d", "[]"))),
        ("$states.input.a", ("$", ("a",))),
        ("$states.result.a", ("$states.result", ("a",))),
        ("$$.Execution.Input.a", ("$$.Execution.Input", ("a",))),
        ("$states.context.Map.Item.Value.a", ("$$.Map.Item.Value", ("a",))),
        ("$var.a", ("$var", ("a",))),
    ],
)
def test_paths_are_split(path: str, expected: Any) -> None:
    assert split(path) == expected


def test_time_limits_leave_time_to_load_models_and_waits_are_short() -> None:
    limited = service("aws-sdk:s3:listBuckets", {}, TimeoutSecondsPath="$.limit", HeartbeatSecondsPath="$.beat")
    given: Any = ModelledServices(compiled({"Type": "Wait", "SecondsPath": "$.pause"}, limited)).input()
    assert given["limit"] > given["beat"] >= 60
    assert given["pause"] == 1


def test_paths_in_expressions_have_the_kind_that_functions_take() -> None:
    assert list(paths("States.ArrayLength($.a)")) == [("$.a", [])]
    assert list(paths("States.Format('{}', $.a, $$.Task.Token)")) == [("$.a", None), ("$$.Task.Token", None)]


def test_a_use_unites_what_several_states_read() -> None:
    use = Use()
    use.add(Use(members={"a": Use(constants=["x"])}))
    use.add(Use(members={"a": Use(constants=["x", "y"]), "b": Use(element=Use(), length=3)}))
    assert use.members["a"].constants == ["x", "y"]
    assert use.members["b"].length == 3
    assert json.dumps(sorted(uses(compiled({"Type": "Pass", "InputPath": "$.a"}))[None]["$"].members)) == '["a"]'
