"""The compiler's messages about service Tasks."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unum_compiler.services.service_permissions import operation
from unum_compiler.services.service_tasks import check_parameters, check_spelling, iam_statements, refusal_reason
from unum_runtime.features.services.integrations import OPTIMIZED
from unum_runtime.features.services.jobs import JOBS
from unum_runtime.features.services.operation import parse
from unum_runtime.model.states import Pattern

RESPONSE, SYNC, CALLBACK = Pattern.RESPONSE, Pattern.SYNC, Pattern.CALLBACK

UNKNOWN = [
    ("aws-sdk:s3:getObjekt", RESPONSE, 'did you mean "getObject"?'),
    ("aws-sdk:dynamo:getItem", RESPONSE, 'did you mean "dynamodb"?'),
    ("aws-sdk:stepfunctions2:startExecution", RESPONSE, "there is no service"),
    ("aws-sdk:s3:getObject", SYNC, "has no .sync"),
    ("aws-sdk:bedrockruntime:invokeModelWithResponseStream", RESPONSE, "streams events"),
    ("dynamodb:query", RESPONSE, "Or call aws-sdk:dynamodb:query"),
    ("states:describeExecution", RESPONSE, "Or call aws-sdk:sfn:describeExecution"),
    ("dynamodb:nothing", RESPONSE, "known here"),
    ("sqss:sendMessage", RESPONSE, 'did you mean "sqs"?'),
    ("sqs:sendMessage", SYNC, "has no .sync"),
    ("dynamodb:putItem", CALLBACK, "these services have it"),
    ("glue:startJobRun:2", SYNC, "write .sync"),
    ("states:startExecution:2", RESPONSE, "has no action"),
    ("eks:call", SYNC, "eks:call has no .sync"),
    ("elasticmapreduce:cancelStep", SYNC, "has no .sync"),
]


@pytest.mark.parametrize(("resource", "pattern", "reason"), UNKNOWN)
def test_unknown(resource: str, pattern: Pattern, reason: str) -> None:
    assert reason in str(refusal_reason(resource, pattern))


def integrations() -> Iterator[tuple[str, Pattern]]:
    for service, integration in OPTIMIZED.items():
        for action in integration.actions:
            yield f"{service}:{action}", RESPONSE
            if integration.has_callback:
                yield f"{service}:{action}", CALLBACK
    yield from ((name, SYNC) for name in JOBS)


@pytest.mark.parametrize(
    ("resource", "pattern"),
    [
        *integrations(),
        ("states:startExecution:2", SYNC),
        ("aws-sdk:sfn:startExecution", CALLBACK),
        ("aws-sdk:cloudwatchlogs:putLogEvents", RESPONSE),
        ("aws-sdk:rds:createDBInstance", RESPONSE),
    ],
)
def test_known(resource: str, pattern: Pattern) -> None:
    assert refusal_reason(resource, pattern) is None


OVER_HTTP = {"apigateway:invoke", "http:invoke", "eks:call", "eks:runJob"}
"""Actions that are no operation of an AWS API."""


@pytest.mark.parametrize("resource", sorted({name for name, _ in integrations()} - OVER_HTTP))
def test_action_is_an_operation_of_the_model(resource: str) -> None:
    assert operation(resource).name == parse(resource).operation


def problems(resource: str, parameters: Any, pattern: Pattern = RESPONSE) -> list[str]:
    return [str(problem) for problem in check_parameters(resource, pattern, parameters, "$.P")]


@pytest.mark.parametrize(
    ("resource", "parameters"),
    [
        ("dynamodb:putItem", {"TableName": "t", "Item.$": "$"}),
        ("aws-sdk:rds:describeDBInstances", {"DbInstanceIdentifier.$": "$.id"}),
        ("aws-sdk:s3:listBuckets", None),
        ("aws-sdk:s3:putObject", "{% $states.input %}"),
        ("athena:startQueryExecution", {"QueryString": "q"}),
        ("aws-sdk:emrserverless:startJobRun", {"ApplicationId": "a", "ExecutionRoleArn": "r"}),
        ("http:invoke", {"ApiEndpoint": "e", "Method": "GET", "InvocationConfig": {}}),
        ("bedrock:invokeModel", {"ModelId": "m", "Input": {"S3Uri": "s3://b/k"}, "Output": {"S3Uri.$": "$.to"}}),
        ("elasticmapreduce:createCluster", {"Name": "c", "Instances": {"KeepJobFlowAliveWhenNoSteps": True}}),
        ("elasticmapreduce:addStep", {"ClusterId.$": "$.id", "Step": {"Name": "s"}}),
        ("eks:createNodegroup", {"ClusterName": "c", "NodegroupName": "n", "Subnets": [], "NodeRole": "r"}),
        ("states:startExecution", {"StateMachineArn": "a", "Input.$": "$"}),
    ],
)
def test_right_parameters(resource: str, parameters: Any) -> None:
    assert problems(resource, parameters) == []


@pytest.mark.parametrize(
    ("resource", "parameters", "found"),
    [
        (
            "dynamodb:putItem",
            {"TabelName": "t", "Item": {}},
            ['did you mean "TableName"?', 'needs the parameter "Table'],
        ),
        ("aws-sdk:s3:getObject", {"Bucket": "b"}, ['$.P: aws-sdk:s3:getObject needs the parameter "Key"']),
        ("apigateway:invoke", {"ApiEndpoint": "e", "Method": "GET", "Pat": "p"}, ['did you mean "Path"?']),
        ("apigateway:invoke", {"AllowNullValues": True}, ["apigateway:invoke with AllowNullValues: not supported"]),
        (
            "elasticmapreduce:createCluster",
            {"Name": "c", "Steps": []},
            ['parameter "Instances"', 'no parameter "Steps"'],
        ),
        ("elasticmapreduce:addStep", {"JobFlowId": "j"}, ["no parameter", '"ClusterId"', '"Step"']),
        ("aws-sdk:s3:listBuckets", {"Bukket.$": "$"}, ["$.P['Bukket.$']: ", 'did you mean "MaxBuckets"?']),
        ("aws-sdk:ecs:listTasks", {"cluster.$": "$.c"}, ["$.P['cluster.$']: ", 'expected "Cluster.$"']),
    ],
)
def test_wrong_parameters(resource: str, parameters: Any, found: list[str]) -> None:
    text = "\n".join(problems(resource, parameters))
    assert all(part in text for part in found), text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("aws-sdk:s3:GetObject", "aws-sdk:s3:getObject"),
        ("aws-sdk:S3:getObject", "aws-sdk:s3:getObject"),
        ("aws-sdk:logs:CreateLogStream", "aws-sdk:cloudwatchlogs:createLogStream"),
        ("aws-sdk:cognito-idp:listUsers", "aws-sdk:cognitoidentityprovider:listUsers"),
        ("aws-sdk:stepfunctions:startExecution", "aws-sdk:sfn:startExecution"),
    ],
)
def test_names_that_step_functions_does_not_recognize(given: str, expected: str) -> None:
    assert check_spelling(given) == f'expected "{expected}", got "{given}"'
    assert check_spelling(expected) is None


def test_an_unsupported_parameter_is_a_feature_not_a_mistake() -> None:
    parameters = {"ApiEndpoint": "e", "Method": "GET", "AllowNullValues": True}
    (problem,) = check_parameters("apigateway:invoke", RESPONSE, parameters, "$.P")
    assert problem.feature == "apigateway:invoke with AllowNullValues"


CASES = Path(os.environ.get("UNUM_ASL_CASES", Path(__file__).parents[4] / "shared" / "asl-cases")) / "corpus.jsonl"
SUBSTITUTION = re.compile(r"\$\{[^}]*\}")
SERVICE = re.compile(r"arn:[^:]*:states:[^:]*:[^:]*:(?!lambda:|activity:)(?P<resource>.+?)(?P<suffix>\.\w+(:2)?)?")
PATTERNS = {None: RESPONSE, ".sync": SYNC, ".sync:2": SYNC, ".waitForTaskToken": CALLBACK}


def tasks(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("Type") == "Task":
            yield value
        for item in value.values():
            yield from tasks(item)
    elif isinstance(value, list):
        for item in value:
            yield from tasks(item)


@pytest.mark.skipif(not CASES.exists(), reason=f"no definitions at {CASES}; set UNUM_ASL_CASES")
def test_every_service_task_of_real_definitions_is_known() -> None:
    checked = 0
    for line in CASES.read_text(encoding="utf-8").splitlines():
        for task in tasks(json.loads(line)["definition"]):
            match = SERVICE.fullmatch(SUBSTITUTION.sub("x", str(task.get("Resource"))))
            if match:
                resource = match["resource"] + ":2" * (match["suffix"] == ".sync:2")
                pattern, parameters = PATTERNS[match["suffix"]], task.get("Parameters", task.get("Arguments"))
                assert refusal_reason(resource, pattern) is None
                assert check_parameters(resource, pattern, parameters, "$") == []
                assert iam_statements(resource, pattern, parameters) or resource == "apigateway:invoke"
                checked += 1
    assert checked > 300
