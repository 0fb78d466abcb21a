"""Exceptions in IAM's names of actions, and the ARNs that follow from parameters.

Source: AWS Service Authorization Reference, "Actions, resources, and condition keys for AWS services", a page for each
service. Other names follow from the service's model: an action has the name of its operation and the signing prefix.
"""

from collections.abc import Mapping

PREFIXES: Mapping[str, str] = {
    "cloudcontrol": "cloudformation",
    "cloudwatch": "cloudwatch",
    "iot-data": "iot",
    "iot-jobs-data": "iotjobsdata",
    "mturk": "mechanicalturk",
    "resourcegroupstaggingapi": "tag",
}
"""Prefixes of IAM actions that differ from the signing name, by botocore's name of the service."""

_PARTIQL = "dynamodb:PartiQLDelete dynamodb:PartiQLInsert dynamodb:PartiQLSelect dynamodb:PartiQLUpdate"
_BY_WORDS = {
    # Service Authorization Reference, "Amazon S3": multipart uploads, copies and bucket settings share actions.
    "s3:CompleteMultipartUpload": "s3:PutObject",
    "s3:CopyObject": "s3:GetObject s3:PutObject",
    "s3:CreateMultipartUpload": "s3:PutObject",
    "s3:DeleteBucketEncryption": "s3:PutEncryptionConfiguration",
    "s3:DeleteBucketLifecycle": "s3:PutLifecycleConfiguration",
    "s3:DeleteBucketReplication": "s3:PutReplicationConfiguration",
    "s3:DeleteBucketTagging": "s3:PutBucketTagging",
    "s3:DeleteObjects": "s3:DeleteObject",
    "s3:DeletePublicAccessBlock": "s3:PutBucketPublicAccessBlock",
    "s3:GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "s3:GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
    "s3:GetBucketNotificationConfiguration": "s3:GetBucketNotification",
    "s3:GetBucketReplication": "s3:GetReplicationConfiguration",
    "s3:GetObjectAttributes": "s3:GetObject s3:GetObjectAttributes",
    "s3:GetObjectLockConfiguration": "s3:GetBucketObjectLockConfiguration",
    "s3:GetPublicAccessBlock": "s3:GetBucketPublicAccessBlock",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:HeadObject": "s3:GetObject",
    "s3:ListBuckets": "s3:ListAllMyBuckets",
    "s3:ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "s3:ListObjectVersions": "s3:ListBucketVersions",
    "s3:ListObjects": "s3:ListBucket",
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:ListParts": "s3:ListMultipartUploadParts",
    "s3:PutBucketEncryption": "s3:PutEncryptionConfiguration",
    "s3:PutBucketLifecycleConfiguration": "s3:PutLifecycleConfiguration",
    "s3:PutBucketNotificationConfiguration": "s3:PutBucketNotification",
    "s3:PutBucketReplication": "s3:PutReplicationConfiguration",
    "s3:PutObjectLockConfiguration": "s3:PutBucketObjectLockConfiguration",
    "s3:PutPublicAccessBlock": "s3:PutBucketPublicAccessBlock",
    "s3:SelectObjectContent": "s3:GetObject",
    "s3:UploadPart": "s3:PutObject",
    "s3:UploadPartCopy": "s3:GetObject s3:PutObject",
    "bedrock:Converse": "bedrock:InvokeModel",
    # IAM has an action for each kind of PartiQL statement; the text of a statement may be known only at run time.
    "dynamodb:BatchExecuteStatement": _PARTIQL,
    "dynamodb:ExecuteStatement": _PARTIQL,
    "dynamodb:ExecuteTransaction": _PARTIQL,
    "dynamodb:TransactGetItems": "dynamodb:GetItem",
    "dynamodb:TransactWriteItems": (
        "dynamodb:ConditionCheckItem dynamodb:DeleteItem dynamodb:PutItem dynamodb:UpdateItem"
    ),
    "lambda:Invoke": "lambda:InvokeFunction",
    "lambda:InvokeAsync": "lambda:InvokeFunction",
    "elasticmapreduce:modifyInstanceFleetByName": (
        "elasticmapreduce:ListInstanceFleets elasticmapreduce:ModifyInstanceFleet"
    ),
    "elasticmapreduce:modifyInstanceGroupByName": (
        "elasticmapreduce:ListInstanceGroups elasticmapreduce:ModifyInstanceGroups"
    ),
    "ses:SendBulkEmail": "ses:SendBulkTemplatedEmail ses:SendEmail",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sns:PublishBatch": "sns:Publish",
}
ACTIONS: Mapping[str, tuple[str, ...]] = {name: tuple(actions.split()) for name, actions in _BY_WORDS.items()}
"""The IAM actions that an operation requires, by its name in the form of an action, or that a resource requires."""

# Reference pages of these services: no resource type in the row of the action.
ANYWHERE = frozenset(
    (
        *("batch:DescribeJobs", "batch:TerminateJob", "ecs:DescribeTasks", "ecs:StopTask"),
        *("s3:ListAllMyBuckets", "sqs:ListQueues", "sns:ListTopics"),
        *("dynamodb:ListTables", "lambda:ListFunctions", "secretsmanager:ListSecrets", "states:ListStateMachines"),
    )
)
"""Actions that IAM cannot restrict to a resource, or not to one in the parameters."""

_ROLES_OF_THEIR_OWN = """
    appsync athena backup bedrock cloudformation codebuild codepipeline comprehend databrew datasync dlm dms
    emr-serverless events firehose glue iot kinesisanalytics lambda logs mediaconvert medialive personalize pipes
    redshift rekognition sagemaker scheduler ssm states textract transcribe transfer translate
"""
_ROLES_OF_SEVERAL = {
    "batch": "batch ecs-tasks",
    "ecs": "ecs-tasks ecs",
    "eks": "eks eks-fargate-pods ec2 pods.eks",
    "elasticmapreduce": "elasticmapreduce ec2 application-autoscaling",
    "rds": "rds monitoring.rds",
    "s3": "s3 batchoperations.s3",
}
_PRINCIPALS_IN_CHINA = {"ec2": ("ec2.amazonaws.com.cn",), "elasticmapreduce": ("elasticmapreduce.amazonaws.com.cn",)}
"""Names that two services have in China, besides the usual ones."""


def _principals(services: str) -> tuple[str, ...]:
    return tuple(
        name for each in services.split() for name in (f"{each}.amazonaws.com", *_PRINCIPALS_IN_CHINA.get(each, ()))
    )


PASSED_TO: Mapping[str, tuple[str, ...]] = {
    name: _principals(services)
    for name, services in {**{each: each for each in _ROLES_OF_THEIR_OWN.split()}, **_ROLES_OF_SEVERAL}.items()
}
"""Service principals that get the role in an operation's parameters, by IAM prefix of the operation.

Source: IAM User Guide, "Grant a user permissions to pass a role to an AWS service"; pages of the services on roles."""

HERE = "${AWS::Region}:${AWS::AccountId}"


def arn(service: str, rest: str) -> str:
    """Return the ARN of `rest` in the deployment's account and region."""
    return f"arn:${{AWS::Partition}}:{service}:{HERE}:{rest}"


ARNS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "athena": {"workgroup": (arn("athena", "workgroup/{}"),)},
    "batch": {
        "jobdefinition": (arn("batch", "job-definition/{}"), arn("batch", "job-definition/{}:*")),
        "jobqueue": (arn("batch", "job-queue/{}"),),
    },
    "bedrock": {"modelid": ("arn:${AWS::Partition}:bedrock:${AWS::Region}::foundation-model/{}",)},
    "cloudformation": {"stackname": (arn("cloudformation", "stack/{}/*"),)},
    "codebuild": {"projectname": (arn("codebuild", "project/{}"),)},
    "ecs": {"taskdefinition": (arn("ecs", "task-definition/{}"), arn("ecs", "task-definition/{}:*"))},
    "elasticmapreduce": dict.fromkeys(("clusterid", "jobflowid"), (arn("elasticmapreduce", "cluster/{}"),)),
    "emr-containers": {"virtualclusterid": (arn("emr-containers", "/virtualclusters/{}"),)},
    "emr-serverless": {"applicationid": (arn("emr-serverless", "/applications/{}"),)},
    "glue": {"jobname": (arn("glue", "job/{}"),)},
    "kinesis": {"streamname": (arn("kinesis", "stream/{}"),), "streamarn": ("{}",)},
    "kms": {"keyid": (arn("kms", "key/{}"),)},
    "lambda": {"functionname": (arn("lambda", "function:{}"), arn("lambda", "function:{}:*"))},
    "sagemaker": {
        "endpointname": (arn("sagemaker", "endpoint/{}"),),
        "endpointconfigname": (arn("sagemaker", "endpoint-config/{}"),),
        "hyperparametertuningjobname": (arn("sagemaker", "hyper-parameter-tuning-job/{}"),),
        "labelingjobname": (arn("sagemaker", "labeling-job/{}"),),
        "modelname": (arn("sagemaker", "model/{}"),),
        "processingjobname": (arn("sagemaker", "processing-job/{}"),),
        "trainingjobname": (arn("sagemaker", "training-job/{}"),),
        "transformjobname": (arn("sagemaker", "transform-job/{}"),),
    },
    # Secrets Manager appends a hyphen and six random characters to the name of a secret.
    "secretsmanager": {"secretid": (arn("secretsmanager", "secret:{}-??????"),)},
    "sns": {"topicarn": ("{}",), "targetarn": ("{}",)},
    "states": {"statemachinearn": ("{}",), "activityarn": ("{}",), "executionarn": ("{}",)},
}
"""ARNs by IAM prefix and folded name of the parameter with the resource; ``{}`` is the parameter's value."""

OFTEN_ARNS = frozenset(("functionname", "jobdefinition", "jobqueue", "keyid", "modelid", "secretid", "taskdefinition"))
"""Parameters of `ARNS` that take a name or an ARN; a substitution could be either."""

DEFAULT_NAMES: Mapping[tuple[str, str], str] = {("ecs", "cluster"): "default", ("scheduler", "groupname"): "default"}
"""Names that services take for parameters that are not given, by IAM prefix and folded name of the parameter."""

TRANSACTION: Mapping[str, str] = {
    "conditioncheck": "dynamodb:ConditionCheckItem",
    "delete": "dynamodb:DeleteItem",
    "put": "dynamodb:PutItem",
    "update": "dynamodb:UpdateItem",
}
"""Actions by kind of item in a writing transaction."""
