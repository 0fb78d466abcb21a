"""Tell a customer a price. It was here before the workflow, and calls the price function as it always did."""

import json
import os
from typing import Any

import boto3

LAMBDA = boto3.client("lambda")


def handle(order: dict[str, Any], _context: Any) -> str:
    """The price of `order`, ``{"article": str, "quantity": int}``, for humans."""
    answer = LAMBDA.invoke(FunctionName=os.environ["PRICE_FUNCTION"], Payload=json.dumps(order))
    result = json.load(answer["Payload"])
    if "FunctionError" in answer:
        return f"We cannot make you an offer: {result['errorMessage']}"
    return f"{order['quantity']} x {order['article']}: {result / 100:.2f}"
