"""Shop prices: a function older than the workflow, and independent of workflows."""

from typing import Any

CENTS = {"bolt": 12, "gear": 250, "loom": 129_900}
REBATE_FROM = 100
REBATE_PERCENT = 5


class UnknownArticleError(Exception):
    """Unknown article."""


def handle(order: dict[str, Any], _context: Any) -> int:
    """Return an order's price in cents, including rebates for large orders.

    Args:
        order: ``{"article": str, "quantity": int}``.

    Raises:
        UnknownArticleError: the shop does not sell the article.
    """
    article: str = order["article"]
    quantity: int = order["quantity"]
    if article not in CENTS:
        raise UnknownArticleError(f"article {article!r}: expected one of {sorted(CENTS)}")
    full = CENTS[article] * quantity
    return full * (100 - REBATE_PERCENT) // 100 if quantity >= REBATE_FROM else full
