"""What executions cost here, and in Step Functions."""

from typing import TYPE_CHECKING

from unum_compiler.cost.estimate import Bill, Receipt, total

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMN = 24


def bills(receipt: Receipt) -> str:
    """Return both bills in US dollars for a million executions, item by item."""
    sides: Mapping[str, Bill] = {"here": receipt.here(), "Step Functions Standard": receipt.standard()}
    items = dict.fromkeys(item for bill in sides.values() for item, usd in bill.items() if usd)
    here, there = (total(bill) for bill in sides.values())
    rows = [(item.replace("_", " "), [_usd(bill.get(item)) for bill in sides.values()]) for item in items]
    title = f"US dollars for a million executions; {receipt.prices.region}, list prices of {receipt.prices.as_of}"
    lines = [_row("", [*sides]), *(_row(*row) for row in rows), _row("total", [_usd(here), _usd(there)])]
    return "\n".join([title, *lines, f"Step Functions costs {there / here:.0f} times as much."])


def _usd(amount: float | None) -> str:
    return f"{amount:,.2f}" if amount else ""


def _row(label: str, cells: list[str]) -> str:
    return f"{label:<22}" + "".join(f"{cell:>{COLUMN}}" for cell in cells)
