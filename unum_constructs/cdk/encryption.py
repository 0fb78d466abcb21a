"""Permissions for customer managed KMS keys, through one AWS service each.

Functions get their permissions by policies of their own. The key policy changes for CloudWatch Logs alone, which has no
role.
"""

from typing import TypeAlias

from aws_cdk import Annotations, Aws, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

Actions: TypeAlias = tuple[str, ...]

READING_ITEMS: Actions = ("kms:Decrypt", "kms:DescribeKey")
WRITING_ITEMS: Actions = (
    *READING_ITEMS,
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
"""Source: Amazon DynamoDB Developer Guide, "Authorizing use of your customer managed key"; without grants, which only
the creator of a table needs."""

SENDING: Actions = ("kms:Decrypt", "kms:GenerateDataKey")
RECEIVING: Actions = ("kms:Decrypt",)
"""Source: Amazon SQS Developer Guide, "Amazon SQS Key management"."""

SCHEDULING: Actions = ("kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey")
"""Source: Amazon EventBridge Scheduler User Guide, "Using identity-based policies", CreateSchedule."""

READING_OBJECTS: Actions = ("kms:Decrypt",)
WRITING_OBJECTS: Actions = ("kms:Decrypt", "kms:GenerateDataKey")
"""Source: Amazon S3 User Guide, "Using server-side encryption with AWS KMS keys"."""

_LOGGING: Actions = ("kms:Decrypt*", "kms:Describe*", "kms:Encrypt*", "kms:GenerateDataKey*", "kms:ReEncrypt*")
"""Source: Amazon CloudWatch Logs User Guide, "Encrypt log data in CloudWatch Logs using AWS KMS"."""


def key_statement(key: kms.IKey, actions: Actions, *, through: str) -> iam.PolicyStatement:
    """Return permission for `actions` with `key` through the service `through`.

    Source: AWS KMS Developer Guide, "kms:ViaService".
    """
    service = {"kms:ViaService": f"{through}.{Aws.REGION}.amazonaws.com"}
    return iam.PolicyStatement(actions=[*actions], resources=[key.key_arn], conditions={"StringEquals": service})


def schedule_key_statement(key: kms.IKey, schedules: str) -> iam.PolicyStatement:
    """Return permission for EventBridge Scheduler to decrypt `schedules`, an ARN pattern, with `key`.

    Source: Amazon EventBridge Scheduler User Guide, "Encryption at rest".
    """
    encrypted = {"kms:EncryptionContext:aws:scheduler:schedule:arn": schedules}
    return iam.PolicyStatement(actions=["kms:Decrypt"], resources=[key.key_arn], conditions={"ArnLike": encrypted})


def allow_logs(key: kms.IKey, scope: Construct) -> None:
    """Let CloudWatch Logs use `key` for log groups of its account and region; warn if the key's policy is not ours."""
    groups = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:*"
    statement = iam.PolicyStatement(
        actions=[*_LOGGING],
        principals=[iam.ServicePrincipal(f"logs.{Aws.REGION}.amazonaws.com")],
        resources=["*"],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
    )
    # The CDK cannot change an imported key's policy, and then adds nothing.
    if not key.add_to_resource_policy(statement).statement_added:
        Annotations.of(scope).add_warning_v2(
            "unum:keyPolicy",
            f"the policy of the imported key {key.node.path} must let logs.REGION.amazonaws.com use it for log "
            f"groups of {Stack.of(scope).stack_name}; the app cannot change it, and the deployment fails otherwise",
        )
