"""Function outside of the workflow that calls Step Functions as it is told, with boto3's methods."""

import json
from typing import Any

from unum_stepfunctions import boto3

client = boto3.client("stepfunctions")


def handle(event: Any, _context: Any) -> Any:
    try:
        found = getattr(client, event["operation"])(**event["arguments"])
    except client.exceptions.ClientError as error:
        return {"error": error.response["Error"]["Code"], "message": str(error)}
    except NotImplementedError as error:
        return {"error": "NotImplementedError", "message": str(error)}
    return json.loads(json.dumps(found, default=str))
