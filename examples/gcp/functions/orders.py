"""User code of the example: plain functions of an event and a context."""

from typing import Any

PRICES = {"bolt": 1, "nut": 2, "plate": 30}
DISCOUNT_FROM = 100


class PriceListBusy(Exception):
    """The price list is read by too many."""


def split(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Split an order such as ``2 bolt, 3 plate`` into lines."""
    lines = [{"count": int(each.split()[0]), "part": each.split()[1]} for each in event["order"].split(",")]
    return {"lines": lines}


def price(line: dict[str, Any], context: Any) -> int:
    """Price one line; the price list is busy on the first attempt for plates."""
    if line["part"] == "plate" and context.unum.attempt == 0:
        raise PriceListBusy(line["part"])
    return int(line["count"]) * PRICES[line["part"]]


def total(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Add the prices; once they are added, take off a tenth."""
    if "total" in event:
        return {**event, "total": event["total"] - event["total"] // 10}
    return {"total": sum(event["prices"])}
