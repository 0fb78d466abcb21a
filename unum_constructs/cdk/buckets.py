"""Buckets that workflows make."""

from collections.abc import Sequence

from aws_cdk import RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from unum_constructs.cdk.nag import LARGE_VALUES, acknowledge


def new_bucket(
    scope: Construct,
    construct_id: str,
    *,
    key: kms.IKey | None,
    name: str | None,
    rules: Sequence[s3.LifecycleRule] = (),
) -> s3.Bucket:
    """Make a private bucket for parts of execution state, which expire by `rules`.

    Args:
        scope: the workflow.
        construct_id: id below `scope`.
        key: customer managed key; None for a key of S3.
        name: name of the bucket; None leaves it to CloudFormation.
        rules: lifecycle rules.
    """
    bucket = s3.Bucket(
        scope,
        construct_id,
        bucket_name=name,
        encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
        encryption_key=key,
        # Bucket keys replace a KMS request for each object by one for many.
        # Source: Amazon S3 User Guide, "Reducing the cost of SSE-KMS with Amazon S3 Bucket Keys".
        bucket_key_enabled=True if key else None,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        enforce_ssl=True,
        lifecycle_rules=[*rules],
        # CloudFormation cannot delete a bucket with objects. They expire, and an empty bucket costs nothing.
        removal_policy=RemovalPolicy.RETAIN,
    )
    acknowledge(bucket, LARGE_VALUES)
    return bucket
