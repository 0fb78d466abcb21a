"""Every Task that the CDK can write compiles, or is refused by the name of what it calls."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest
from aws_cdk import Duration, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_bedrock as bedrock
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_eks as eks
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks

from tests.synth.deployment import Deployment
from unum_constructs import Definition
from unum_runtime.errors import DefinitionError

Props: TypeAlias = dict[str, Any]

ARN = "arn:aws:{}:eu-west-1:111111111111:{}"
TEXT = sfn.TaskInput.from_text("text")
OBJECT = sfn.TaskInput.from_object({"a": "b"})
JOB = sfn.IntegrationPattern.RUN_JOB
KEY = {"k": tasks.DynamoAttributeValue.from_string("v")}

REFUSED = {"EmrContainersDeleteVirtualCluster"}
"""And all that call `elasticmapreduce`."""


def table(stack: Stack) -> dynamodb.ITable:
    return dynamodb.Table.from_table_name(stack, "Table", "table")


def bucket(stack: Stack, name: str = "Bucket") -> s3.IBucket:
    return s3.Bucket.from_bucket_name(stack, name, "bucket")


def model(stack: Stack) -> bedrock.FoundationModel:
    titan = bedrock.FoundationModelIdentifier.AMAZON_TITAN_TEXT_G1_EXPRESS_V1
    return bedrock.FoundationModel.from_foundation_model_id(stack, "Model", titan)


def role(stack: Stack) -> iam.IRole:
    return iam.Role.from_role_arn(stack, "Role", "arn:aws:iam::111111111111:role/r")


def project(stack: Stack) -> codebuild.IProject:
    return codebuild.Project.from_project_name(stack, "Project", "project")


def rest_api(stack: Stack) -> apigateway.IRestApi:
    return apigateway.RestApi.from_rest_api_id(stack, "Api", "api")


def connection(stack: Stack) -> events.IConnection:
    arn, secret = ARN.format("events", "connection/c/i"), ARN.format("secretsmanager", "secret:s")
    return events.Connection.from_connection_attributes(
        stack, "Connection", connection_name="c", connection_arn=arn, connection_secret_arn=secret
    )


def run_task(stack: Stack) -> Props:
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-1", availability_zones=["a"], private_subnet_ids=["subnet-1"]
    )
    definition = ecs.FargateTaskDefinition(stack, "Definition")
    container = definition.add_container("Container", image=ecs.ContainerImage.from_registry("image"))
    return {
        "cluster": ecs.Cluster(stack, "Cluster", vpc=vpc),
        "task_definition": definition,
        "launch_target": tasks.EcsFargateLaunchTarget(platform_version=ecs.FargatePlatformVersion.LATEST),
        "container_overrides": [tasks.ContainerOverride(container_definition=container, command=["a"])],
        "integration_pattern": JOB,
    }


def call_kubernetes(stack: Stack) -> Props:
    cluster = eks.Cluster.from_cluster_attributes(
        stack, "Eks", cluster_name="c", cluster_endpoint="https://c", cluster_certificate_authority_data="d"
    )
    return {"cluster": cluster, "http_method": tasks.HttpMethods.GET, "http_path": "/"}


def customize(stack: Stack) -> Props:
    return {
        "base_model": model(stack),
        "custom_model_name": "m",
        "job_name": "j",
        "output_data": tasks.OutputBucketConfiguration(bucket=bucket(stack), path="p"),
        "training_data": tasks.TrainingBucketConfiguration(bucket=bucket(stack, "Data"), path="p"),
        "validation_data": [tasks.ValidationBucketConfiguration(bucket=bucket(stack, "Valid"), path="p")],
    }


def train(stack: Stack) -> Props:
    place = tasks.S3Location.from_bucket(bucket(stack), "p")
    source = tasks.DataSource(s3_data_source=tasks.S3DataSource(s3_location=place))
    return {
        "algorithm_specification": tasks.AlgorithmSpecification(algorithm_name="BlazingText"),
        "input_data_config": [tasks.Channel(channel_name="c", data_source=source)],
        "output_data_config": tasks.OutputDataConfig(s3_output_location=place),
        "training_job_name": "j",
        "role": role(stack),
        "integration_pattern": JOB,
    }


def transform(stack: Stack) -> Props:
    source = tasks.TransformDataSource(s3_data_source=tasks.TransformS3DataSource(s3_uri="s3://b/k"))
    return {
        "model_name": "m",
        "transform_input": tasks.TransformInput(transform_data_source=source),
        "transform_job_name": "j",
        "transform_output": tasks.TransformOutput(s3_output_path="s3://b/o"),
        "role": role(stack),
    }


def schedule(stack: Stack) -> Props:
    return {
        "schedule": tasks.Schedule.rate(Duration.hours(1)),
        "schedule_name": "s",
        "target": tasks.EventBridgeSchedulerTarget(arn=ARN.format("sqs", "queue"), role=role(stack)),
    }


PROPS: Mapping[str, Callable[[Stack], Props]] = {
    "AthenaGetQueryExecution": lambda _: {"query_execution_id": "i"},
    "AthenaGetQueryResults": lambda _: {"query_execution_id": "i", "max_results": 3},
    "AthenaStartQueryExecution": lambda _: {"query_string": "q", "work_group": "w", "integration_pattern": JOB},
    "AthenaStopQueryExecution": lambda _: {"query_execution_id": "i"},
    "BatchSubmitJob": lambda _: {
        "job_definition_arn": ARN.format("batch", "job-definition/d:1"),
        "job_name": "j",
        "job_queue_arn": ARN.format("batch", "job-queue/q"),
        "container_overrides": tasks.BatchContainerOverrides(command=["a"], environment={"a": "b"}, vcpus=1),
        "payload": OBJECT,
    },
    "BedrockCreateModelCustomizationJob": customize,
    "BedrockInvokeModel": lambda stack: {"model": model(stack), "body": OBJECT, "trace_enabled": True},
    "CallApiGatewayHttpApiEndpoint": lambda stack: {
        "api_id": "i",
        "api_stack": stack,
        "method": tasks.HttpMethod.GET,
    },
    "CallApiGatewayRestApiEndpoint": lambda stack: {
        "api": rest_api(stack),
        "stage_name": "s",
        "method": tasks.HttpMethod.POST,
        "request_body": OBJECT,
        "auth_type": tasks.AuthType.IAM_ROLE,
    },
    "CallAwsService": lambda _: {
        "service": "cloudwatchlogs",
        "action": "createLogStream",
        "iam_resources": ["*"],
        "parameters": {"LogGroupName": "g", "LogStreamName": "s"},
    },
    "CallAwsServiceCrossRegion": lambda _: {
        "service": "s3",
        "action": "getObject",
        "iam_resources": ["*"],
        "region": "us-east-1",
        "parameters": {"Bucket": "b", "Key": "k"},
    },
    "CodeBuildStartBuild": lambda stack: {"project": project(stack), "integration_pattern": JOB},
    "CodeBuildStartBuildBatch": lambda stack: {"project": project(stack), "integration_pattern": JOB},
    "DynamoDeleteItem": lambda stack: {"key": KEY, "table": table(stack), "condition_expression": "c"},
    "DynamoGetItem": lambda stack: {"key": KEY, "table": table(stack), "consistent_read": True},
    "DynamoPutItem": lambda stack: {"item": KEY, "table": table(stack)},
    "DynamoUpdateItem": lambda stack: {"key": KEY, "table": table(stack), "update_expression": "SET a = b"},
    "EcsRunTask": run_task,
    "EksCall": call_kubernetes,
    "EmrAddStep": lambda _: {"cluster_id": "c", "jar": "j", "name": "n"},
    "EmrCancelStep": lambda _: {"cluster_id": "c", "step_id": "s"},
    "EmrContainersCreateVirtualCluster": lambda _: {"eks_cluster": tasks.EksClusterInput.from_task_input(TEXT)},
    "EmrContainersDeleteVirtualCluster": lambda _: {"virtual_cluster_id": TEXT},
    "EmrContainersStartJobRun": lambda stack: {
        "job_driver": tasks.JobDriver(spark_submit_job_driver=tasks.SparkSubmitJobDriver(entry_point=TEXT)),
        "release_label": tasks.ReleaseLabel.EMR_6_2_0,
        "virtual_cluster": tasks.VirtualClusterInput.from_virtual_cluster_id("v"),
        "execution_role": role(stack),
    },
    "EmrCreateCluster": lambda stack: {
        "instances": tasks.EmrCreateCluster.InstancesConfigProperty(),
        "name": "n",
        "cluster_role": role(stack),
        "service_role": iam.Role.from_role_arn(stack, "Service", "arn:aws:iam::111111111111:role/s"),
    },
    "EmrModifyInstanceFleetByName": lambda _: {
        "cluster_id": "c",
        "instance_fleet_name": "f",
        "target_on_demand_capacity": 1,
        "target_spot_capacity": 1,
    },
    "EmrModifyInstanceGroupByName": lambda _: {
        "cluster_id": "c",
        "instance_group": tasks.EmrModifyInstanceGroupByName.InstanceGroupModifyConfigProperty(instance_count=1),
        "instance_group_name": "g",
    },
    "EmrSetClusterTerminationProtection": lambda _: {"cluster_id": "c", "termination_protected": True},
    "EmrTerminateCluster": lambda _: {"cluster_id": "c"},
    "EvaluateExpression": lambda _: {"expression": "$.a + 1"},
    "EventBridgePutEvents": lambda _: {
        "entries": [tasks.EventBridgePutEventsEntry(detail=OBJECT, detail_type="d", source="s")]
    },
    "EventBridgeSchedulerCreateScheduleTask": schedule,
    "GlueDataBrewStartJobRun": lambda _: {"name": "n", "integration_pattern": JOB},
    "GlueStartCrawlerRun": lambda _: {"crawler_name": "c"},
    "GlueStartJobRun": lambda _: {"glue_job_name": "g", "arguments": OBJECT, "integration_pattern": JOB},
    "HttpInvoke": lambda stack: {
        "api_endpoint": TEXT,
        "api_root": "https://api.example.com",
        "connection": connection(stack),
        "method": sfn.TaskInput.from_text("POST"),
        "body": OBJECT,
        "url_encoding_format": tasks.URLEncodingFormat.BRACKETS,
    },
    "LambdaInvoke": lambda stack: {
        "lambda_function": lambda_.Function.from_function_name(stack, "Function", "f"),
        "payload": OBJECT,
    },
    "MediaConvertCreateJob": lambda _: {
        "create_job_request": {"Role": "r", "Settings": {}},
        "integration_pattern": JOB,
    },
    "SageMakerCreateEndpoint": lambda _: {"endpoint_config_name": "c", "endpoint_name": "e"},
    "SageMakerCreateEndpointConfig": lambda _: {
        "endpoint_config_name": "c",
        "production_variants": [
            tasks.ProductionVariant(instance_type=ec2.InstanceType("m5.large"), model_name="m", variant_name="v")
        ],
    },
    "SageMakerCreateModel": lambda stack: {
        "model_name": "m",
        "primary_container": tasks.ContainerDefinition(image=tasks.DockerImage.from_registry("i")),
        "role": role(stack),
    },
    "SageMakerCreateTrainingJob": train,
    "SageMakerCreateTransformJob": transform,
    "SageMakerUpdateEndpoint": lambda _: {"endpoint_config_name": "c", "endpoint_name": "e"},
    "SnsPublish": lambda stack: {
        "message": OBJECT,
        "topic": sns.Topic.from_topic_arn(stack, "Topic", ARN.format("sns", "topic")),
        "subject": "s",
    },
    "SqsSendMessage": lambda stack: {
        "message_body": OBJECT,
        "queue": sqs.Queue.from_queue_arn(stack, "Queue", ARN.format("sqs", "queue")),
    },
    "StepFunctionsInvokeActivity": lambda stack: {"activity": sfn.Activity.from_activity_name(stack, "Activity", "a")},
    "StepFunctionsStartExecution": lambda stack: {
        "state_machine": sfn.StateMachine.from_state_machine_name(stack, "Machine", "m"),
        "associate_with_parent": True,
        "integration_pattern": JOB,
    },
}
"""What each class is made of."""


def test_no_class_is_missing() -> None:
    classes = (item for _, item in inspect.getmembers(tasks, inspect.isclass) if issubclass(item, sfn.TaskStateBase))
    assert {each.__name__ for each in classes} - {"TaskStateBase"} == PROPS.keys()


@pytest.mark.parametrize("name", PROPS)
def test_a_class_compiles_or_is_refused_by_name(name: str) -> None:
    stack = Deployment.new().stack
    state = getattr(tasks, name)(stack, name, **PROPS[name](stack))
    definition = Definition.from_chainable(state)
    try:
        definition.compile("w", None)
    except DefinitionError as error:
        (problem,) = error.problems
        assert problem.feature
        assert name in REFUSED or "elasticmapreduce" in problem.feature
    else:
        assert name not in REFUSED
        assert definition.warnings() == ()
