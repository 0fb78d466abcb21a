"""Not of the workflow: invokes what comes from its failure queue again, and keeps a note of it."""

import json
import os
from typing import Any

import boto3

DEATHS = boto3.resource("dynamodb").Table(os.environ["DEATHS_TABLE"])
LAMBDA = boto3.client("lambda")


def redrive(event: Any, _context: Any) -> None:
    for message in event["Records"]:
        record = json.loads(message["body"])
        DEATHS.put_item(Item={"key": f"redriven chaos {message['messageId']}"})
        LAMBDA.invoke(
            FunctionName=record["requestContext"]["functionArn"],
            InvocationType="Event",
            Payload=json.dumps(record["requestPayload"]),
        )
