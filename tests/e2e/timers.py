"""The timers of deployed workflows, stopped for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.e2e.conftest import Deployment


def forwarder_of(deployment: Deployment, stack: str) -> Any:
    """Return Lambda's configuration of the function behind the timer queue of `stack`."""
    pages = deployment.session.client("lambda").get_paginator("list_functions").paginate()
    functions = [function for page in pages for function in page["Functions"]]
    (found,) = [one for one in functions if one["FunctionName"].startswith(f"{stack}-WorkflowTimerForwarder")]
    return found


@contextmanager
def idle(deployment: Deployment, forwarder: Any) -> Iterator[str]:
    """Nothing is handed on meanwhile; the URL of the timer's queue."""
    functions = deployment.session.client("lambda")
    (mapping,) = functions.list_event_source_mappings(FunctionName=forwarder["FunctionName"])["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    try:
        name = mapping["EventSourceArn"].rpartition(":")[2]
        yield deployment.session.client("sqs").get_queue_url(QueueName=name)["QueueUrl"]
    finally:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
