"""Quote a price to a customer; older than the workflow, and still a caller of the price function."""

import json
import os
from typing import Any

import boto3

LAMBDA = boto3.client("lambda")


def handle(order: dict[str, Any], _context: Any) -> str:
    """Return the price of `order`, ``{"article": str, "quantity": int}``, as text."""
    answer = LAMBDA.invoke(FunctionName=os.environ["PRICE_FUNCTION"], Payload=json.dumps(order))
    result = json.load(answer["Payload"])
    if "FunctionError" in answer:
        return f"We cannot make you an offer: {result['errorMessage']}"
    return f"{order['quantity']} x {order['article']}: {result / 100:.2f}"
