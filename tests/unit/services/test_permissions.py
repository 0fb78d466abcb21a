"""The permissions of service Tasks: exactly the calls, on exactly what the parameters name."""

from typing import Any

import pytest

from unum_compiler.services.service_tasks import iam_statements
from unum_runtime.model.states import Pattern

HERE = "${AWS::Region}:${AWS::AccountId}"


def allowed(resource: str, parameters: Any, pattern: Pattern = Pattern.RESPONSE) -> list[str]:
    """Actions and resources, in a line for each statement; ``!`` marks the wide ones."""
    return [
        f"{'!' * statement.is_wide}{' '.join(statement.actions)} @ {' '.join(statement.resources)}".replace(
            "arn:${AWS::Partition}", "arn"
        )
        for statement in iam_statements(resource, pattern, parameters)
    ]


MACHINE = "arn:aws:states:us-east-1:1:stateMachine:m"
QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/q"
ENDPOINT = "a.execute-api.r.amazonaws.com"
TABLE = "arn:aws:dynamodb:r:1:table/t"
ROLE = "arn:aws:iam::1:role/r"

GROUPS = ("elasticmapreduce:ListInstanceGroups", "elasticmapreduce:ModifyInstanceGroups")
STATEMENTS = [
    ("dynamodb:putItem", {"TableName": "t"}, [f"dynamodb:PutItem @ arn:dynamodb:{HERE}:table/t"]),
    ("dynamodb:putItem", {"TableName": TABLE}, [f"dynamodb:PutItem @ {TABLE}"]),
    ("dynamodb:putItem", {"TableName.$": "$.t"}, ["!dynamodb:PutItem @ *"]),
    ("dynamodb:putItem", {"TableName": "{% $t %}"}, ["!dynamodb:PutItem @ *"]),
    (
        "aws-sdk:dynamodb:query",
        {"TableName": "t", "IndexName": "i"},
        [f"dynamodb:Query @ arn:dynamodb:{HERE}:table/t/index/i"],
    ),
    (
        "aws-sdk:dynamodb:batchWriteItem",
        {"RequestItems": {"t": [], "u": []}},
        [f"dynamodb:BatchWriteItem @ arn:dynamodb:{HERE}:table/t arn:dynamodb:{HERE}:table/u"],
    ),
    (
        "aws-sdk:dynamodb:transactWriteItems",
        {"TransactItems": [{"Put": {"TableName": "t"}}, {"Update": {"TableName": "u"}}]},
        [f"dynamodb:PutItem dynamodb:UpdateItem @ arn:dynamodb:{HERE}:table/t arn:dynamodb:{HERE}:table/u"],
    ),
    (
        "aws-sdk:dynamodb:transactWriteItems",
        {"TransactItems.$": "$"},
        ["!dynamodb:ConditionCheckItem dynamodb:DeleteItem dynamodb:PutItem dynamodb:UpdateItem @ *"],
    ),
    ("aws-sdk:s3:getObject", {"Bucket": "b", "Key": "k"}, ["s3:GetObject @ arn:s3:::b/k"]),
    ("aws-sdk:s3:headObject", {"Bucket": "b", "Key.$": "$.k"}, ["s3:GetObject @ arn:s3:::b/*"]),
    ("aws-sdk:s3:listObjectsV2", {"Bucket": "b"}, ["s3:ListBucket @ arn:s3:::b"]),
    ("aws-sdk:s3:listBuckets", {}, ["!s3:ListAllMyBuckets @ *"]),
    ("sqs:sendMessage", {"QueueUrl": QUEUE}, ["sqs:SendMessage @ arn:sqs:eu-west-1:123456789012:q"]),
    ("sns:publish", {"TopicArn": "arn:aws:sns:r:1:t"}, ["sns:Publish @ arn:aws:sns:r:1:t"]),
    ("sns:publish", {"PhoneNumber": "1"}, ["!sns:Publish @ *"]),
    (
        "lambda:invoke",
        {"FunctionName": "f"},
        [f"lambda:InvokeFunction @ arn:lambda:{HERE}:function:f"],
    ),
    ("aws-sdk:lambda:invoke", {"FunctionName": "${f}"}, ["!lambda:InvokeFunction @ *"]),
    (
        "events:putEvents",
        {"Entries": [{"EventBusName": "b"}, {}]},
        [f"events:PutEvents @ arn:events:{HERE}:event-bus/b arn:events:{HERE}:event-bus/default"],
    ),
    ("events:putEvents", {"Entries.$": "$"}, ["!events:PutEvents @ *"]),
    ("aws-sdk:cloudwatch:putMetricData", {}, ["!cloudwatch:PutMetricData @ *"]),
    ("aws-sdk:bedrockagent:getPrompt", {}, ["!bedrock:GetPrompt @ *"]),
    ("aws-sdk:apigateway:getRestApis", {}, ["!apigateway:GET @ *"]),
    ("aws-sdk:sts:assumeRole", {"RoleArn": ROLE}, ["!sts:AssumeRole @ *"]),
    (
        "aws-sdk:scheduler:createSchedule",
        {"Target": {"RoleArn": ROLE}},
        ["!scheduler:CreateSchedule @ *", f"iam:PassRole @ {ROLE}"],
    ),
    (
        "bedrock:invokeModel",
        {"ModelId": "m", "Body": {"messages": [{"role": "user"}]}},
        ["bedrock:InvokeModel @ arn:bedrock:${AWS::Region}::foundation-model/m"],
    ),
    (
        "bedrock:invokeModel",
        {"ModelId": "eu.m", "Input": {"S3Uri": "s3://b/k"}},
        ["!bedrock:InvokeModel @ *", "s3:GetObject @ arn:s3:::b/k"],
    ),
    (
        "bedrock:invokeModel",
        {"ModelId": "m", "Body": {}, "Output": {"S3Uri.$": "$.to"}},
        ["bedrock:InvokeModel @ arn:bedrock:${AWS::Region}::foundation-model/m", "!s3:PutObject @ *"],
    ),
    (
        "elasticmapreduce:createCluster",
        {"ServiceRole": "S", "JobFlowRole": "arn:aws:iam::1:instance-profile/p"},
        ["!elasticmapreduce:RunJobFlow @ *", "!iam:PassRole @ *"],
    ),
    (
        "elasticmapreduce:createCluster",
        {"ServiceRole": "S", "JobFlowRole": "J"},
        [
            "!elasticmapreduce:RunJobFlow @ *",
            "iam:PassRole @ arn:iam::${AWS::AccountId}:role/S arn:iam::${AWS::AccountId}:role/J",
        ],
    ),
    (
        "elasticmapreduce:modifyInstanceGroupByName",
        {"ClusterId": "j"},
        [f"{' '.join(GROUPS)} @ arn:elasticmapreduce:{HERE}:cluster/j"],
    ),
    (
        "eks:createNodegroup",
        {"ClusterName": "c", "NodeRole": ROLE},
        ["!eks:CreateNodegroup @ *", f"iam:PassRole @ {ROLE}"],
    ),
    (
        "http:invoke",
        {"InvocationConfig": {"ConnectionArn": "arn:c"}},
        [
            "events:DescribeConnection @ arn:c",
            f"!secretsmanager:GetSecretValue @ arn:secretsmanager:{HERE}:secret:events!connection/*",
        ],
    ),
    ("apigateway:invoke", {"ApiEndpoint": ENDPOINT, "Method": "GET"}, []),
    (
        "apigateway:invoke",
        {"ApiEndpoint": ENDPOINT, "Method": "GET", "Path": "/p", "Stage": "s", "AuthType": "IAM_ROLE"},
        ["execute-api:Invoke @ arn:execute-api:r:${AWS::AccountId}:a/s/GET/p"],
    ),
]


@pytest.mark.parametrize(("resource", "parameters", "statements"), STATEMENTS)
def test_request_response(resource: str, parameters: Any, statements: list[str]) -> None:
    assert allowed(resource, parameters) == statements


JOBS = [
    (
        "states:startExecution:2",
        {"StateMachineArn": MACHINE},
        [
            f"states:StartExecution @ {MACHINE}",
            "states:DescribeExecution states:StopExecution @ arn:aws:states:us-east-1:1:execution:m:*",
        ],
    ),
    (
        "states:startExecution",
        {"StateMachineArn.$": "$.m"},
        [
            "!states:StartExecution @ *",
            f"!states:DescribeExecution states:StopExecution @ arn:states:{HERE}:execution:*",
        ],
    ),
    (
        "glue:startJobRun",
        {"JobName": "j"},
        [
            f"glue:StartJobRun @ arn:glue:{HERE}:job/j",
            f"glue:GetJobRun @ arn:glue:{HERE}:job/j",
            f"glue:BatchStopJobRun @ arn:glue:{HERE}:job/j",
        ],
    ),
    (
        "ecs:runTask",
        {"TaskDefinition": "d"},
        [
            f"ecs:RunTask @ arn:ecs:{HERE}:task-definition/d arn:ecs:{HERE}:task-definition/d:*",
            "!ecs:DescribeTasks @ *",
            "!ecs:StopTask @ *",
            "!iam:PassRole @ *",
        ],
    ),
    (
        "sagemaker:createTrainingJob",
        {"TrainingJobName": "n", "RoleArn": ROLE},
        [
            f"sagemaker:CreateTrainingJob @ arn:sagemaker:{HERE}:training-job/n",
            f"sagemaker:DescribeTrainingJob @ arn:sagemaker:{HERE}:training-job/n",
            f"sagemaker:StopTrainingJob @ arn:sagemaker:{HERE}:training-job/n",
            f"iam:PassRole @ {ROLE}",
        ],
    ),
]


@pytest.mark.parametrize(("resource", "parameters", "statements"), JOBS)
def test_jobs(resource: str, parameters: Any, statements: list[str]) -> None:
    assert allowed(resource, parameters, Pattern.SYNC) == statements
