"""Jobs that are waited for: the table fits the services' models, and each way of ending is told from running."""

import json
import re
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.stub import Stubber

from unum_runtime.errors import StatesError
from unum_runtime.features.services import Clients, Running, begin, delay_ms, poll, stop
from unum_runtime.features.services.jobs import JOBS
from unum_runtime.features.services.operation import parse
from unum_runtime.features.services.spelling import fold_name
from unum_runtime.model.states import Json


def model(service: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"))


def shape_at(shape: Any, path: str) -> Any:
    for step in path.split("."):
        if shape is None:
            return None
        members = getattr(shape, "members", {})
        named = {fold_name(name): member for name, member in members.items()}
        shape = shape.member if step.isdigit() else named.get(fold_name(step))
    return shape


def paths(template: Json) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    else:
        for item in template:
            yield from paths(item)


OF_EMR = {"ClusterId": ("JobFlowId", "JobFlowIds"), "StepId": ("StepIds",)}
"""Names of the API behind names of the integration."""


@pytest.mark.parametrize("resource", sorted(JOBS.keys() - {"eks:runJob"}))  # which has no API of AWS
def test_the_table_fits_the_models(resource: str) -> None:
    called, job = parse(resource), JOBS[resource]
    service = model(called.service)
    begun, described = service.operation_model(called.operation), service.operation_model(job.describe)
    for name, template in job.handle.items():
        assert shape_at(described.input_shape, name), name
        for path in paths(template):
            names = OF_EMR.get(path, (path,)) if called.service == "emr" else (path,)
            assert any(shape_at(begun.output_shape, each) or shape_at(begun.input_shape, each) for each in names), path
    status = shape_at(described.output_shape, job.status)
    assert status.type_name == "string"
    if status.enum:
        assert set(status.enum) > {*job.succeeded, *job.failed} - {"EXPIRED"}
    if job.result:
        assert shape_at(described.output_shape, job.result)
    if job.stop:
        stopped = service.operation_model(job.stop).input_shape
        assert all(shape_at(stopped, name) for name in job.stop_parameters or job.handle)
        assert {fold_name(name) for name in stopped.required_members} <= {
            fold_name(name) for name in job.stop_parameters or job.handle
        }


FAILURE = re.compile("fail|error|time|cancel|stop|fault|abort|terminat", re.IGNORECASE)

ENDED_ON_PURPOSE = {
    "ecs:runTask": {"STOPPED"},  # every task ends so; its containers tell of failures
    "elasticmapreduce:terminateCluster": {"TERMINATED", "TERMINATED_WITH_ERRORS"},
    "emr-serverless:createApplication": {"STOPPING", "STOPPED"},  # it exists, and was stopped since
    "emr-serverless:stopApplication": {"STOPPED"},
    "emr-serverless:deleteApplication": {"TERMINATED"},
    "emr-serverless:cancelJobRun": {"CANCELLED", "FAILED"},
}
"""Statuses that sound like failures and are successes of these jobs."""


@pytest.mark.parametrize("resource", JOBS)
def test_no_success_has_the_name_of_a_failure(resource: str) -> None:
    assert {each for each in JOBS[resource].succeeded if FAILURE.search(each)} == ENDED_ON_PURPOSE.get(resource, set())


@pytest.mark.parametrize("resource", JOBS)
def test_looks_become_rarer(resource: str) -> None:
    delays = [delay_ms(resource, polls) for polls in range(1000)]
    assert delays == sorted(delays)
    assert delays[0] == JOBS[resource].first_ms
    assert delays[-1] == 60_000


def test_an_execution_runs_until_it_is_stopped(aws: boto3.Session, clients: Clients, machine: str) -> None:
    parameters = {"StateMachineArn": machine, "Input": {"a": 1}}
    handle = begin("states:startExecution", parameters, clients=clients, token="t")
    assert json.loads(json.dumps(handle)) == {"ExecutionArn": machine.replace("stateMachine", "execution") + ":t"}
    assert poll("states:startExecution", handle, clients=clients) == Running("RUNNING")
    stop("states:startExecution", handle, clients=clients)
    with pytest.raises(StatesError) as caught:
        poll("states:startExecution", handle, clients=clients)
    assert caught.value.error == "States.TaskFailed"
    assert json.loads(caught.value.cause)["Status"] == "ABORTED"
    described = aws.client("stepfunctions").describe_execution(executionArn=handle["ExecutionArn"])
    assert described["status"] == "ABORTED"


def polled(clients: Clients, resource: str, handle: Json, method: str, response: dict[str, Any]) -> Any:
    with Stubber(clients.client(parse(resource).service)) as stub:
        stub.add_response(method, response)
        return poll(resource, handle, clients=clients)


EXECUTION = {
    "executionArn": "arn:aws:states:us-east-1:123456789012:execution:child:e",
    "stateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:child",
    "startDate": 1_800_000_000,
    "status": "SUCCEEDED",
    "input": "{}",
    "output": '{"a":1}',
}


@pytest.mark.parametrize(
    ("resource", "output"), [("states:startExecution", '{"a":1}'), ("states:startExecution:2", {"a": 1})]
)
def test_the_second_version_of_sync_parses_what_the_execution_gave(
    clients: Clients, resource: str, output: Json
) -> None:
    result = polled(clients, resource, {"ExecutionArn": "e"}, "describe_execution", EXECUTION)
    assert result["Output"] == output
    assert "SdkHttpMetadata" not in result


def task(**fields: Any) -> dict[str, Any]:
    return {"tasks": [{"taskArn": "t", "lastStatus": "STOPPED", **fields}]}


def test_a_task_of_ecs(clients: Clients) -> None:
    client = clients.client("ecs")
    with Stubber(client) as stub:
        stub.add_response("run_task", {"tasks": [{"clusterArn": "c", "taskArn": "t"}]}, {"taskDefinition": "d"} | TOKEN)
        handle = begin("ecs:runTask", {"TaskDefinition": "d"}, clients=clients, token="t" * 32)
        assert handle == {"Cluster": "c", "Tasks": ["t"]}
    running = task(lastStatus="PENDING")
    assert polled(clients, "ecs:runTask", handle, "describe_tasks", running) == Running("PENDING")
    ended = task(containers=[{"exitCode": 0}])
    assert polled(clients, "ecs:runTask", handle, "describe_tasks", ended)["Containers"] == [{"ExitCode": 0}]
    assert polled(clients, "ecs:runTask", handle, "describe_tasks", {"tasks": []}) == Running("")


TOKEN = {"clientToken": "t" * 32}


@pytest.mark.parametrize(
    "fields", [{"containers": [{"exitCode": 0}, {"exitCode": 1}]}, {"stopCode": "TaskFailedToStart"}]
)
def test_a_task_of_ecs_that_failed(clients: Clients, fields: dict[str, Any]) -> None:
    with pytest.raises(StatesError, match=r"States\.TaskFailed.*TaskArn"):
        polled(clients, "ecs:runTask", {"Tasks": ["t"]}, "describe_tasks", task(**fields))


def test_a_task_of_ecs_that_there_is_no_room_for(clients: Clients) -> None:
    with Stubber(clients.client("ecs")) as stub:
        stub.add_response("run_task", {"tasks": [], "failures": [{"reason": "RESOURCE:MEMORY"}]})
        with pytest.raises(StatesError, match="RESOURCE:MEMORY"):
            begin("ecs:runTask", {"TaskDefinition": "d"}, clients=clients, token="t" * 32)


def test_a_build_is_wrapped(clients: Clients) -> None:
    build = {"builds": [{"id": "b", "buildStatus": "SUCCEEDED", "reportArns": ["r"]}]}
    result = polled(clients, "codebuild:startBuild", {"Ids": ["b"]}, "batch_get_builds", build)
    assert result == {"Build": {"Id": "b", "BuildStatus": "SUCCEEDED", "ReportArns": ["r"]}}


def test_a_run_of_glue_names_its_job(clients: Clients) -> None:
    run = {"JobRun": {"JobRunState": "SUCCEEDED", "Id": "r"}}
    result = polled(clients, "glue:startJobRun", {"JobName": "j", "RunId": "r"}, "get_job_run", run)
    assert result == {"JobRunState": "SUCCEEDED", "Id": "r", "JobName": "j"}


def test_what_is_known_from_the_parameters_alone(clients: Clients) -> None:
    client = clients.client("sagemaker")
    with Stubber(client) as stub:
        stub.add_response("create_training_job", {"TrainingJobArn": "a" * 20})
        parameters = {"TrainingJobName": "n", "RoleArn": "r"}
        handle = begin("sagemaker:createTrainingJob", parameters, clients=clients, token="t")
    assert handle == {"TrainingJobName": "n"}
