"""Read orders from an uploaded file."""

import csv
from typing import Any

import boto3

S3 = boto3.resource("s3")


def handle(uploaded: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Read orders from a CSV file with columns ``article`` and ``quantity``.

    Args:
        uploaded: ``{"bucket": {"name": str}, "object": {"key": str}}``, as S3 reports it to EventBridge.

    Returns:
        ``{"file": key, "orders": [{"article": str, "quantity": int}, ...]}``.
    """
    key = uploaded["object"]["key"]
    body = S3.Object(uploaded["bucket"]["name"], key).get()["Body"].read().decode("utf-8-sig")
    return {"file": key, "orders": [parse(row) for row in csv.DictReader(body.splitlines())]}


def parse(row: dict[str, str]) -> dict[str, Any]:
    """Parse one line of the file."""
    return {"article": row["article"].strip(), "quantity": int(row["quantity"])}
