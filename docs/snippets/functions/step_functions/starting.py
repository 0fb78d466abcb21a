"""A function that starts executions; it was written for a state machine, and one line of it has changed."""

import json
import os
from typing import Any

from unum_stepfunctions import boto3  # before: import boto3

stepfunctions = boto3.client("stepfunctions")


def start(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Start the execution of an order, unless the order had one."""
    try:
        started = stepfunctions.start_execution(
            stateMachineArn=os.environ["MACHINE"], name=f"order-{event['order']}", input=json.dumps(event)
        )
    except stepfunctions.exceptions.ExecutionAlreadyExists:
        return {"new": False}
    return {"new": True, "executionArn": started["executionArn"]}
