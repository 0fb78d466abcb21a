"""Queues of a workflow: encrypted, TLS only, with the longest retention."""

from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.cdk.nag import DEAD_LETTERS, acknowledge

KEPT_DAYS = 14
"""Source: Amazon SQS API Reference, SetQueueAttributes, MessageRetentionPeriod."""


def new_queue(
    scope: Construct, construct_id: str, *, encryption_key: kms.IKey | None = None, **options: Any
) -> sqs.Queue:
    """Make a queue, encrypted with a key of SQS by default; `options` are arguments of `aws_sqs.Queue`."""
    return sqs.Queue(
        scope,
        construct_id,
        encryption=sqs.QueueEncryption.KMS if encryption_key else sqs.QueueEncryption.SQS_MANAGED,
        encryption_master_key=encryption_key,
        enforce_ssl=True,
        retention_period=Duration.days(KEPT_DAYS),
        **options,
    )


def new_dead_letter_queue(scope: Construct, construct_id: str, encryption_key: kms.IKey | None) -> sqs.Queue:
    """Make a queue for messages and events that could not be processed."""
    queue = new_queue(scope, construct_id, encryption_key=encryption_key)
    acknowledge(queue, DEAD_LETTERS)
    return queue
