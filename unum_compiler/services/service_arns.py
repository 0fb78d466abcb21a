"""Names of a service's IAM actions, and ARNs of the resources in a Task's parameters.

An action has the name of its operation and the signing prefix; the exceptions are here. ARNs follow from the parameters
of an operation: ``resource_types.json`` has, for each IAM prefix, templates of ARNs and the operations on such
resources. A template is what follows the account in the ARN, or a whole ARN; names in braces are folded names of
parameters. An operation on several resources has a template for each. Only operations are in the table whose every
resource is named by their parameters: a statement without one of the resources would allow nothing.

Source: AWS Service Authorization Reference, the tables of actions and resource types of each service, joined with the
parameters in the services' models.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files

from unum_runtime.features.services.spelling import fold_name
from unum_runtime.json_text import parse_json
from unum_runtime.model.states import Json

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

ANY = "*"
PARTITION = "${AWS::Partition}"
_QUEUE_URL = re.compile(r"https?://(?:sqs\.(?P<region>[^./]+)\.[^/]+|[^/]+)/(?P<account>[^/]+)/(?P<name>[^/]+)")
_ENDPOINT = re.compile(r"(?:https://)?(?P<api>[^./]+)\.execute-api\.(?P<region>(?:\$\{[^}]*\}|[^./])+)\..*")
_SUBSTITUTION = re.compile(r"\$\{[^{}]*\}")
_FUNCTION_COLONS = 6
"""Colons in the ARN of a function without a qualifier."""
_PARAMETER = re.compile(r"(?<!\$)\{(\w+)\}")
_ALIAS, _ZONE = "alias/", "/hostedzone/"
_REGIONAL_MODEL = re.compile(r"(?:us|eu|apac|au|jp|ca|us-gov|global)\..*")


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


def literals(parameters: Json) -> dict[str, str | None]:
    """Return first-level parameters by folded name; run-time values become None."""
    fields = parameters if isinstance(parameters, dict) else {}
    return {fold_name(key.removesuffix(".$")): literal(key, value) for key, value in fields.items()}


def literal(key: str, value: Json) -> str | None:
    """Return text `value` of field `key`; None for other types and expressions."""
    dynamic = key.endswith(".$") or not isinstance(value, str) or value.lstrip().startswith("{%")
    return None if dynamic else str(value)


def resources(prefix: str, operation: str, parameters: Json) -> tuple[str, ...]:
    """Return ARNs in `parameters` of `operation`, of a service with IAM prefix `prefix`; `ANY` if unknown."""
    values = literals(parameters)
    match prefix:
        case "s3":
            found = [*_objects(operation, values, parameters)]
        case "sqs":  # parameters have the URL of a queue, IAM its ARN
            found = [_queue(values)]
        case "events" if operation == "PutEvents":
            found = list(_buses(parameters))
        case "dynamodb":
            found = list(_tables(parameters))
        case _:
            found = [_filled(prefix, template, values) for template in resource_templates(prefix, operation)]
            if not found or ANY in found:
                # By the parameter alone, for operations that are not in the table, and those that poll a job.
                named = {name: templates for name, templates in ARNS.get(prefix, {}).items() if name in values}
                found = [_named(name, values[name], each) for name, templates in named.items() for each in templates]
    return (ANY,) if ANY in found or not found else tuple(dict.fromkeys(found))


def functions(name: str | None, values: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the ARNs of a Lambda function: IAM names an unqualified call by the function, others by its qualifier.

    Args:
        name: name or ARN, with or without a qualifier; None if only the run time knows it.
        values: parameters of the call, by folded name.
    """
    if name is None or _SUBSTITUTION.fullmatch(name):
        yield ANY  # a substitution may be a name or an ARN
        return
    # Lambda API Reference, "Invoke": a name, a partial ARN that begins with the account, or an ARN.
    partial = f"arn:{PARTITION}:lambda:${{AWS::Region}}:{name}"
    full = name if name.startswith("arn:") else partial if ":function:" in name else arn("lambda", f"function:{name}")
    is_qualified = _SUBSTITUTION.sub("", full).count(":") > _FUNCTION_COLONS
    if "qualifier" not in values or is_qualified:
        yield full
    elif (qualifier := values["qualifier"]) is not None:
        yield f"{full}:{qualifier}"
    else:
        yield from (full, f"{full}:*")


def route(values: Mapping[str, str | None]) -> str:
    """Return the ARN that ``apigateway:invoke`` calls."""
    match = _ENDPOINT.fullmatch(values.get("apiendpoint") or "")
    if match is None:
        return ANY
    path = (values["path"] or ANY).strip("/") if "path" in values else ""
    region = "${AWS::Region}" if match["region"].startswith("${") else match["region"]
    parts = (match["api"], values.get("stage") or ANY, values.get("method") or ANY, path)
    return f"arn:{PARTITION}:execute-api:{region}:${{AWS::AccountId}}:{'/'.join(parts)}"


def _named(name: str, value: str | None, template: str) -> str:
    # A cross-region inference profile reaches models in several regions, each with an ARN of its own.
    if value is None or _REGIONAL_MODEL.fullmatch(value) or (name in OFTEN_ARNS and _SUBSTITUTION.fullmatch(value)):
        return ANY
    if value.startswith("arn:"):
        return value + ":*" if template.endswith(":*") else value
    return template.replace("{}", value)


def _filled(prefix: str, template: str, values: Mapping[str, str | None]) -> str:
    """Return `template` with parameters in place of their names, and `*` in place of those that are unknown.

    `ANY`, if no parameter is known.
    """
    names = _PARAMETER.findall(template)
    if not names:
        return arn(prefix, template)
    known = [name for name in names if _value_of(prefix, name, values) is not None]
    if not any(name in values or _as_arn(name) in values for name in known):
        return ANY  # a default alone names nothing that the author has named
    last = names[-1]
    whole = _value_of(prefix, last, values)
    if whole is not None and whole.startswith("arn:"):
        return whole + (":*" if template.endswith(":*") else "")
    if last.endswith("arn"):  # a placeholder of the deployment
        return whole or ANY
    text = _PARAMETER.sub(lambda match: _in_template(_value_of(prefix, match[1], values)), template)
    return text if text.startswith("arn:") else arn(prefix, text)


def _value_of(prefix: str, name: str, values: Mapping[str, str | None]) -> str | None:
    """Return parameter `name`, or the ARN in its place, if the definition tells which of both it is."""
    found = values.get(name, values.get(_as_arn(name), DEFAULT_NAMES.get((prefix, name))))
    # A placeholder of the deployment could be a name or an ARN.
    may_be_arn = name in OFTEN_ARNS or not name.endswith(("name", "id", "arn"))
    return None if found is not None and may_be_arn and _SUBSTITUTION.fullmatch(found) else found


def _as_arn(name: str) -> str:
    """Return the parameter that takes an ARN in place of the name `name`: ``streamarn`` for ``streamname``."""
    return f"{name.removesuffix('name')}arn"


def _in_template(value: str | None) -> str:
    """Return `value` as a part of an ARN."""
    if value is None or value.startswith(_ALIAS):
        return ANY  # permissions name keys, not their aliases
    if value.startswith("arn:"):
        return value.rpartition("/")[2]
    return value.removeprefix(_ZONE).removeprefix("/")


def _objects(operation: str, values: Mapping[str, str | None], parameters: Json) -> Iterator[str]:
    bucket = values.get("bucket")
    if bucket is None:
        yield ANY
        return
    found = bucket if bucket.startswith("arn:") else f"arn:{PARTITION}:s3:::{bucket}"
    if operation == "DeleteObjects":
        yield from (f"{found}/{key or ANY}" for key in _deleted(parameters))
    else:
        yield f"{found}/{values['key'] or ANY}" if "key" in values else found


def _deleted(parameters: Json) -> Iterator[str | None]:
    """Yield the keys of the objects that ``DeleteObjects`` deletes."""
    named = parameters.get("Delete") if isinstance(parameters, dict) else None
    every = named.get("Objects") if isinstance(named, dict) else None
    for each in every if isinstance(every, list) else [None]:
        yield literals(each).get("key")


def copied_object(values: Mapping[str, str | None]) -> str:
    """Return the ARN of the object that an operation with `values` copies."""
    source = (values.get("copysource") or "").removeprefix("/").partition("?")[0]
    if not source:
        return ANY
    return source if source.startswith("arn:") else f"arn:{PARTITION}:s3:::{source}"


def _queue(values: Mapping[str, str | None]) -> str:
    if name := values.get("queuename"):
        return arn("sqs", name)
    match = _QUEUE_URL.fullmatch(values.get("queueurl") or "")
    if match is None:
        return ANY
    return f"arn:{PARTITION}:sqs:{match['region'] or '${AWS::Region}'}:{match['account']}:{match['name']}"


def _buses(parameters: Json) -> Iterator[str]:
    """Yield the event buses of the entries of ``PutEvents``."""
    entries = parameters.get("Entries") if isinstance(parameters, dict) else None
    for entry in entries if isinstance(entries, list) else [None]:
        # EventBridge sends entries without a bus to the bus called "default".
        bus = literals(entry).get("eventbusname", "default") if isinstance(entry, dict) else None
        yield bus if bus and bus.startswith("arn:") else arn("events", f"event-bus/{bus}") if bus else ANY


def _tables(value: Json) -> Iterator[str]:
    """Yield tables in the parameters: direct, inside transaction items, or keys of ``RequestItems``."""
    if isinstance(value, list):
        for item in value:
            yield from _tables(item)
    if not isinstance(value, dict):
        return
    values = literals(value)
    if "tablename" in values:
        yield from _table(values["tablename"], values)
    for key, item in value.items():
        match fold_name(key.removesuffix(".$")):
            case "requestitems":
                yield from (each for name in _keys(item) for each in _table(name, {}))
            case "transactitems" if not isinstance(item, list):
                yield ANY
            case "transactitems" | "put" | "update" | "delete" | "get" | "conditioncheck":
                yield from _tables(item)


def _keys(value: Json) -> Iterable[str | None]:
    return value if isinstance(value, dict) else [None]


def _table(name: str | None, values: Mapping[str, str | None]) -> Iterator[str]:
    if name is None:
        yield ANY
        return
    table = name if name.startswith("arn:") else f"arn:{PARTITION}:dynamodb:{HERE}:table/{name}"
    yield f"{table}/index/{values['indexname'] or ANY}" if "indexname" in values else table


def resource_templates(prefix: str, operation: str) -> tuple[str, ...]:
    """Return the templates of the ARNs on which `operation` needs permission; none if the table has no row."""
    return _templates(prefix).get(operation, ())


@cache
def resource_table() -> Mapping[str, Mapping[str, str]]:
    """Return the operations in the table, separated by spaces, by IAM prefix and templates."""
    text = files(__package__).joinpath("resource_types.json").read_text("utf-8")
    found: Mapping[str, Mapping[str, str]] = parse_json(text)
    return found


@cache
def _templates(prefix: str) -> Mapping[str, tuple[str, ...]]:
    rows = resource_table().get(prefix, {})
    return {each: tuple(templates.split()) for templates, operations in rows.items() for each in operations.split()}
