"""The permissions of service Tasks: exactly the calls, on exactly what the parameters name."""

from typing import Any

import pytest

from unum_compiler.services.service_arns import PASSED_TO
from unum_compiler.services.service_permissions import Condition
from unum_compiler.services.service_tasks import iam_statements
from unum_runtime.model.states import Pattern

HERE = "${AWS::Region}:${AWS::AccountId}"


def allowed(resource: str, parameters: Any, pattern: Pattern = Pattern.RESPONSE) -> list[str]:
    """Actions and resources, in a line for each statement; ``!`` marks the wide ones."""
    return [
        f"{'!' * statement.is_wide}{' '.join(statement.actions)} @ {' '.join(statement.resources)}"
        f"{_limit(statement.condition)}".replace("arn:${AWS::Partition}", "arn")
        for statement in iam_statements(resource, pattern, parameters)
    ]


def _limit(condition: Condition | None) -> str:
    """The condition of a statement; service principals by their names alone."""
    if condition is None:
        return ""
    assert condition.operator == "StringEquals"
    return f" if {condition.key} is {'|'.join(condition.values)}".replace(".amazonaws.com", "")


MACHINE = "arn:aws:states:us-east-1:1:stateMachine:m"
QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/q"
ENDPOINT = "a.execute-api.r.amazonaws.com"
TABLE = "arn:aws:dynamodb:r:1:table/t"
ROLE = "arn:aws:iam::1:role/r"

TO_EMR = " if iam:PassedToService is elasticmapreduce|elasticmapreduce.cn|ec2|ec2.cn|application-autoscaling"
ONLY_ROLE = f" if emr-containers:ExecutionRoleArn is {ROLE}"
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
    ("aws-sdk:s3:listObjectsV2", {"Bucket": "b", "Prefix": "p/"}, ["s3:ListBucket @ arn:s3:::b if s3:prefix is p/"]),
    ("aws-sdk:s3:listObjects", {"Bucket": "b", "Prefix.$": "$.p"}, ["s3:ListBucket @ arn:s3:::b"]),
    (
        "aws-sdk:s3:copyObject",
        {"Bucket": "b", "Key": "k", "CopySource": "/a/j?versionId=1"},
        ["s3:GetObject @ arn:s3:::a/j", "s3:PutObject @ arn:s3:::b/k"],
    ),
    (
        "aws-sdk:s3:deleteObjects",
        {"Bucket": "b", "Delete": {"Objects": [{"Key": "k"}, {"Key.$": "$.k"}]}},
        ["s3:DeleteObject @ arn:s3:::b/k arn:s3:::b/*"],
    ),
    ("aws-sdk:s3:deleteObjects", {"Bucket": "b", "Delete.$": "$"}, ["s3:DeleteObject @ arn:s3:::b/*"]),
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
        ["!scheduler:CreateSchedule @ *", f"iam:PassRole @ {ROLE} if iam:PassedToService is scheduler"],
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
        ["!elasticmapreduce:RunJobFlow @ *", f"!iam:PassRole @ *{TO_EMR}"],
    ),
    (
        "elasticmapreduce:createCluster",
        {"ServiceRole": "S", "JobFlowRole": "J"},
        [
            "!elasticmapreduce:RunJobFlow @ *",
            "iam:PassRole @ arn:iam::${AWS::AccountId}:role/S arn:iam::${AWS::AccountId}:role/J" + TO_EMR,
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
        [
            f"eks:CreateNodegroup @ arn:eks:{HERE}:cluster/c",
            f"iam:PassRole @ {ROLE} if iam:PassedToService is eks|eks-fargate-pods|ec2|ec2.cn|pods.eks",
        ],
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
            "!iam:PassRole @ * if iam:PassedToService is ecs-tasks|ecs",
        ],
    ),
    (
        "sagemaker:createTrainingJob",
        {"TrainingJobName": "n", "RoleArn": ROLE},
        [
            f"sagemaker:CreateTrainingJob @ arn:sagemaker:{HERE}:training-job/n",
            f"sagemaker:DescribeTrainingJob @ arn:sagemaker:{HERE}:training-job/n",
            f"sagemaker:StopTrainingJob @ arn:sagemaker:{HERE}:training-job/n",
            f"iam:PassRole @ {ROLE} if iam:PassedToService is sagemaker",
        ],
    ),
    (
        "emr-containers:startJobRun",
        {"VirtualClusterId": "v", "ExecutionRoleArn": ROLE},
        [
            f"emr-containers:StartJobRun @ arn:emr-containers:{HERE}:/virtualclusters/v{ONLY_ROLE}",
            f"emr-containers:DescribeJobRun @ arn:emr-containers:{HERE}:/virtualclusters/v/jobruns/*",
            f"emr-containers:CancelJobRun @ arn:emr-containers:{HERE}:/virtualclusters/v/jobruns/*",
        ],
    ),
]


@pytest.mark.parametrize(("resource", "parameters", "statements"), JOBS)
def test_jobs(resource: str, parameters: Any, statements: list[str]) -> None:
    assert allowed(resource, parameters, Pattern.SYNC) == statements


NAMED = [
    ("aws-sdk:glue:startCrawler", {"Name": "c"}, f"glue:StartCrawler @ arn:glue:{HERE}:crawler/c"),
    ("aws-sdk:glue:startWorkflowRun", {"Name": "w"}, f"glue:StartWorkflowRun @ arn:glue:{HERE}:workflow/w"),
    (
        "aws-sdk:glue:getTable",
        {"DatabaseName": "d", "Name.$": "$.t"},
        f"glue:GetTable @ arn:glue:{HERE}:catalog arn:glue:{HERE}:database/d arn:glue:{HERE}:table/d/*",
    ),
    ("aws-sdk:ssm:getParameter", {"Name": "/a/b"}, f"ssm:GetParameter @ arn:ssm:{HERE}:parameter/a/b"),
    ("aws-sdk:ssm:putParameter", {"Name": "a"}, f"ssm:PutParameter @ arn:ssm:{HERE}:parameter/a"),
    (
        "aws-sdk:secretsmanager:getSecretValue",
        {"SecretId": "s"},
        f"secretsmanager:GetSecretValue @ arn:secretsmanager:{HERE}:secret:s-??????",
    ),
    (
        "aws-sdk:secretsmanager:getSecretValue",
        {"SecretId": "arn:aws:secretsmanager:r:1:secret:s-abcdef"},
        "secretsmanager:GetSecretValue @ arn:aws:secretsmanager:r:1:secret:s-abcdef",
    ),
    ("aws-sdk:secretsmanager:getSecretValue", {"SecretId": "${S}"}, "!secretsmanager:GetSecretValue @ *"),
    ("aws-sdk:kms:encrypt", {"KeyId": "k"}, f"kms:Encrypt @ arn:kms:{HERE}:key/k"),
    ("aws-sdk:kms:encrypt", {"KeyId": "alias/a"}, f"kms:Encrypt @ arn:kms:{HERE}:key/*"),
    (
        "aws-sdk:ecs:updateService",
        {"Cluster": "arn:aws:ecs:r:1:cluster/c", "Service": "s"},
        f"ecs:UpdateService @ arn:ecs:{HERE}:service/c/s",
    ),
    ("aws-sdk:ecs:updateService", {"Service": "s"}, f"ecs:UpdateService @ arn:ecs:{HERE}:service/default/s"),
    (
        "aws-sdk:ecs:updateService",
        {"Cluster": "c", "Service.$": "$"},
        f"ecs:UpdateService @ arn:ecs:{HERE}:service/c/*",
    ),
    ("aws-sdk:ecs:updateService", {"Cluster": "${C}", "Service.$": "$"}, "!ecs:UpdateService @ *"),
    (
        "aws-sdk:scheduler:createSchedule",
        {"Name": "s"},
        f"scheduler:CreateSchedule @ arn:scheduler:{HERE}:schedule/default/s",
    ),
    ("aws-sdk:sfn:stopExecution", {"ExecutionArn": "arn:e"}, "states:StopExecution @ arn:e"),
    ("aws-sdk:sqs:getQueueUrl", {"QueueName": "q"}, f"sqs:GetQueueUrl @ arn:sqs:{HERE}:q"),
    ("aws-sdk:sns:createTopic", {"Name": "t"}, f"sns:CreateTopic @ arn:sns:{HERE}:t"),
    (
        "aws-sdk:cloudwatchlogs:putLogEvents",
        {"LogGroupName": "g", "LogStreamName": "s"},
        f"logs:PutLogEvents @ arn:logs:{HERE}:log-group:g:log-stream:s",
    ),
    (
        "aws-sdk:cloudwatch:setAlarmState",
        {"AlarmName": "a"},
        f"cloudwatch:SetAlarmState @ arn:cloudwatch:{HERE}:alarm:a",
    ),
    (
        "aws-sdk:firehose:putRecord",
        {"DeliveryStreamName": "d"},
        f"firehose:PutRecord @ arn:firehose:{HERE}:deliverystream/d",
    ),
    ("aws-sdk:kinesis:putRecord", {"StreamARN": "arn:k"}, "kinesis:PutRecord @ arn:k"),
    ("aws-sdk:kinesis:putRecord", {"StreamName": "s"}, f"kinesis:PutRecord @ arn:kinesis:{HERE}:stream/s"),
    ("aws-sdk:athena:getWorkGroup", {"WorkGroup": "w"}, f"athena:GetWorkGroup @ arn:athena:{HERE}:workgroup/w"),
    ("aws-sdk:route53:getHostedZone", {"Id": "/hostedzone/Z"}, "route53:GetHostedZone @ arn:route53:::hostedzone/Z"),
    (
        "aws-sdk:cognitoidentityprovider:adminGetUser",
        {"UserPoolId": "p", "Username": "u"},
        f"cognito-idp:AdminGetUser @ arn:cognito-idp:{HERE}:userpool/p",
    ),
    ("aws-sdk:batch:terminateJob", {"JobId": "j", "Reason": "r"}, "!batch:TerminateJob @ *"),
]


@pytest.mark.parametrize(("resource", "parameters", "statement"), NAMED)
def test_literal_name_scopes_the_permission(resource: str, parameters: Any, statement: str) -> None:
    assert allowed(resource, parameters)[0] == statement


@pytest.mark.parametrize("resource", [each[0] for each in NAMED])
def test_path_scopes_nothing(resource: str) -> None:
    parameters = next(parameters for each, parameters, _ in NAMED if each == resource)
    (statement,) = allowed(resource, {f"{name}.$": "$.at_run_time" for name in parameters})
    assert statement.startswith("!")
    assert statement.endswith(" @ *")


@pytest.mark.parametrize("service", ["gamelift"])
def test_role_known_at_run_time_alone_goes_to_the_called_service_only(service: str) -> None:
    """For services outside the table of principals."""
    assert service not in PASSED_TO
    statements = allowed(f"aws-sdk:{service}:createFleet", {"InstanceRoleArn.$": "$.role"})
    passing = [each for each in statements if "PassRole" in each]
    assert passing == [f"!iam:PassRole @ * if iam:PassedToService is {service}"]
