"""Supported optimized integrations, and their differences from plain API calls.

Source: Developer Guide, "Integrating optimized services with Step Functions", and the pages of the services. Names in
causes are those of the AWS SDK for Java 1.x, the base of most integrations; recorded for DynamoDB, SNS and Step
Functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Integration:
    """Optimized integration.

    Attributes:
        service: botocore's service name; empty for calls without an AWS API.
        prefix: prefix of error names.
        client: service name in causes.
        actions: operations, named as in ``Resource``; a name of its own for an HTTP call.
        has_callback: True if the integration can wait for a task token.
    """

    service: str
    prefix: str
    client: str
    actions: tuple[str, ...]
    has_callback: bool = False

    @property
    def unmodelled_error(self) -> str:
        """Name of errors that are absent from the service model."""
        return f"{self.client.removesuffix('v2')}Exception"


_SAGEMAKER = (
    *("createEndpoint", "createEndpointConfig", "createHyperParameterTuningJob", "createLabelingJob", "createModel"),
    *("createProcessingJob", "createTrainingJob", "createTransformJob", "updateEndpoint"),
)
_CODEBUILD = (
    *("startBuild", "stopBuild", "batchDeleteBuilds", "batchGetReports"),
    *("startBuildBatch", "stopBuildBatch", "retryBuildBatch", "deleteBuildBatch"),
)
_EMR_SERVERLESS = (
    *("createApplication", "startApplication", "stopApplication", "deleteApplication"),
    *("startJobRun", "cancelJobRun"),
)
_EKS = ("createCluster", "createFargateProfile", "createNodegroup")
_EMR = (
    *("createCluster", "setClusterTerminationProtection", "terminateCluster", "addStep", "cancelStep"),
    *("modifyInstanceFleetByName", "modifyInstanceGroupByName"),
)
_ATHENA = ("startQueryExecution", "stopQueryExecution", "getQueryExecution", "getQueryResults")

OPTIMIZED: Mapping[str, Integration] = {
    "apigateway": Integration("", "ApiGateway", "", ("invoke",), has_callback=True),
    "athena": Integration("athena", "Athena", "AmazonAthena", _ATHENA),
    "batch": Integration("batch", "Batch", "AWSBatch", ("submitJob",)),
    "bedrock": Integration(
        "bedrock", "Bedrock", "Bedrock", ("invokeModel", "createModelCustomizationJob"), has_callback=True
    ),
    "codebuild": Integration("codebuild", "CodeBuild", "AWSCodeBuild", _CODEBUILD),
    "databrew": Integration("databrew", "DataBrew", "AWSGlueDataBrew", ("startJobRun",)),
    "dynamodb": Integration(
        "dynamodb", "DynamoDB", "AmazonDynamoDBv2", ("getItem", "putItem", "updateItem", "deleteItem")
    ),
    "ecs": Integration("ecs", "ECS", "AmazonECS", ("runTask",), has_callback=True),
    "eks": Integration(
        "eks", "EKS", "AmazonEKS", (*_EKS, *(name.replace("create", "delete") for name in _EKS), "call", "runJob")
    ),
    "elasticmapreduce": Integration("emr", "ElasticMapReduce", "AmazonElasticMapReduce", _EMR),
    "emr-containers": Integration(
        "emr-containers", "EMRContainers", "AmazonEMRContainers", ("createVirtualCluster", "startJobRun")
    ),
    "emr-serverless": Integration("emr-serverless", "EmrServerless", "EmrServerless", _EMR_SERVERLESS),
    "events": Integration("events", "EventBridge", "AmazonEventBridge", ("putEvents",), has_callback=True),
    "glue": Integration("glue", "Glue", "AWSGlue", ("startJobRun",)),
    "http": Integration("", "States.Http", "", ("invoke",)),
    "lambda": Integration("lambda", "Lambda", "AWSLambda", ("invoke",), has_callback=True),
    "mediaconvert": Integration("mediaconvert", "MediaConvert", "AWSMediaConvert", ("createJob",)),
    "sagemaker": Integration("sagemaker", "SageMaker", "AmazonSageMaker", _SAGEMAKER),
    "sns": Integration("sns", "SNS", "AmazonSNS", ("publish",), has_callback=True),
    "sqs": Integration("sqs", "SQS", "AmazonSQS", ("sendMessage",), has_callback=True),
    "states": Integration("stepfunctions", "StepFunctions", "AWSStepFunctions", ("startExecution",), has_callback=True),
}

OTHER_SERVICES: Mapping[str, str] = {"bedrock:invokeModel": "bedrock-runtime", "eks:call": "", "eks:runJob": ""}
"""botocore services of actions that differ from their integration's service; empty for calls without an AWS API."""

OTHER_OPERATIONS: Mapping[str, str] = {
    "elasticmapreduce:addStep": "AddJobFlowSteps",
    "elasticmapreduce:cancelStep": "CancelSteps",
    "elasticmapreduce:createCluster": "RunJobFlow",
    "elasticmapreduce:modifyInstanceFleetByName": "ModifyInstanceFleet",
    "elasticmapreduce:modifyInstanceGroupByName": "ModifyInstanceGroups",
    "elasticmapreduce:setClusterTerminationProtection": "SetTerminationProtection",
    "elasticmapreduce:terminateCluster": "TerminateJobFlows",
}
"""API operations of actions with a name of their own."""

WITHOUT_ENVELOPE = frozenset(("events:putEvents", "bedrock:invokeModel"))
"""Integrations without HTTP metadata in their results."""
