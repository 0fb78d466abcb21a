"""The queues of a workflow: encrypted, reached by TLS alone, and keeping what they have for as long as SQS allows."""

from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

KEPT_DAYS = 14
"""Source: Amazon SQS API Reference, SetQueueAttributes, MessageRetentionPeriod."""


def new_queue(scope: Construct, construct_id: str, **options: Any) -> sqs.Queue:
    """A queue; `options` are those of `aws_sqs.Queue`."""
    return sqs.Queue(
        scope,
        construct_id,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=Duration.days(KEPT_DAYS),
        **options,
    )
