"""Bucket for values that exceed a table item."""

from aws_cdk import Annotations, Duration
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from unum_compiler.payload_storage import Payload, wants_bucket
from unum_constructs.cdk.buckets import new_bucket
from unum_constructs.errors import ConstructError
from unum_runtime.model.ir import Workflow
from unum_runtime.store.large_items import object_lifetime_days


def payload_bucket_for(  # noqa: PLR0913 - keywords, but for the first
    workflow: Construct,
    *,
    compiled: Workflow,
    payload: Payload | str,
    bucket: s3.IBucket | None,
    key: kms.IKey | None,
    retention_s: int,
    name: str | None,
) -> s3.IBucket | None:
    """Return the workflow's bucket for large values; make one if needed.

    Args:
        workflow: the workflow.
        compiled: its compiled definition.
        payload: the option `payload`.
        bucket: bucket of the user.
        key: customer managed key of a new bucket, that of the other state.
        retention_s: longest lifetime of items that refer to objects, in seconds.
        name: name of a new bucket; None leaves it to CloudFormation.

    Raises:
        ConstructError: the arguments contradict each other.
    """
    if not _needs_bucket(workflow, compiled, payload, bucket):
        return None
    days = Duration.days(object_lifetime_days(retention_s))
    if bucket is None:
        return new_bucket(workflow, "Payloads", key=key, name=name, rules=[s3.LifecycleRule(expiration=days)])
    if isinstance(bucket, s3.Bucket):
        # Only below the workflow's name: other objects of the user's bucket stay.
        # With versions, expiry leaves an object as a noncurrent version, and then a marker without versions.
        folder, day = f"{compiled.name}/", Duration.days(1)
        bucket.add_lifecycle_rule(prefix=folder, expiration=days, noncurrent_version_expiration=day)
        bucket.add_lifecycle_rule(prefix=folder, expired_object_delete_marker=True)
    else:
        Annotations.of(workflow).add_warning_v2(
            "unum:payloadBucketLifecycle",
            f"execution_data.payload_bucket: {bucket.node.path} is imported, so this app cannot make its objects "
            f"expire; let those below {compiled.name}/ expire after {days.to_days()} days, or later, and noncurrent "
            "versions after a day",
        )
    return bucket


def _needs_bucket(workflow: Construct, compiled: Workflow, payload: Payload | str, bucket: s3.IBucket | None) -> bool:
    if payload not in [*Payload]:
        raise ConstructError(
            workflow, f"execution_data.payload: expected one of {[str(each) for each in Payload]}, got {payload!r}"
        )
    if payload == Payload.INLINE and bucket is not None:
        raise ConstructError(
            workflow, 'execution_data.payload: "inline" uses no bucket, got `payload_bucket` as well; remove one'
        )
    if bucket is not None and not hasattr(bucket, "bucket_name"):
        raise ConstructError(
            workflow,
            f"execution_data.payload_bucket: expected an aws_s3.IBucket, got {bucket!r}; see Bucket.from_bucket_name",
        )
    return bucket is not None or wants_bucket(compiled, payload)
