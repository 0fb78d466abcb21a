"""Book priced orders in the shop's table."""

import os
from typing import Any

import boto3

TABLE = boto3.resource("dynamodb").Table(os.environ["ORDERS_TABLE"])


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Write every order; an order's id consists of file and line, so a second run changes nothing.

    Args:
        event: ``{"file": str, "orders": [{"article": str, "quantity": int, "cents": int}, ...]}``.
        context: Lambda's context, with the invocation's place in the workflow as ``unum``.

    Returns:
        ``{"file": str, "booked": int, "cents": int}``: number of orders, and sum of their prices.
    """
    with TABLE.batch_writer() as batch:
        # Fixed keys: a duplicate event overwrites each item with itself.
        for line, order in enumerate(event["orders"], start=1):
            batch.put_item({"file": event["file"], "line": f"{line:04}", "execution": context.unum.execution, **order})
    return {
        "file": event["file"],
        "booked": len(event["orders"]),
        "cents": sum(order["cents"] for order in event["orders"]),
    }
