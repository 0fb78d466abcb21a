"""Functions of the snippets: price an order."""

from typing import Any

PRICES = {"apple": 30, "pear": 45, "plum": 20}


def split(event: dict[str, Any], _context: Any) -> list[dict[str, Any]]:
    """Return the lines of an order."""
    return [{"item": item, "count": count} for item, count in event["order"].items()]


def price(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Add the price to a line."""
    return {**event, "cents": PRICES[event["item"]] * event["count"]}


def total(event: list[dict[str, Any]], _context: Any) -> dict[str, Any]:
    """Return the number of lines and their total price."""
    return {"lines": len(event), "cents": sum(line["cents"] for line in event)}
