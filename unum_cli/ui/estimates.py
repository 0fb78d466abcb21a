"""Costs of operations, before they are carried out; list prices, least amounts."""

from collections.abc import Mapping
from dataclasses import dataclass

from unum_cli.timing.levels import Shown
from unum_cli.ui.past_reading import Reading
from unum_client.client import Client
from unum_compiler.cost.prices import list_prices
from unum_compiler.cost.receipt import StoredReceipt, stored_receipt
from unum_runtime.errors import UnumError

_STEP = (1, 2)
"""Least requests and write units of a step that runs again: its invocation, its commit and one addition to a set."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of an operation.

    Attributes:
        usd: least price in US dollars; None if nothing tells.
        why: what it consists of.
    """

    usd: float | None
    why: str

    @property
    def source(self) -> str:
        """Region and date of the prices."""
        prices = list_prices()
        return f"list prices of {prices.region}, {prices.as_of}"

    @classmethod
    def of(cls, requests: int, writes: int, beside: str = "") -> "Cost":
        """Return the cost of `requests` to Lambda and `writes` units of DynamoDB."""
        usd = list_prices().usd
        why = f"{requests:,} {'request' if requests == 1 else 'requests'} to Lambda, {writes:,} write units"
        total = requests * usd["lambda_request"] + writes * usd["dynamodb_write_unit"]
        return cls(total, f"{why}; {beside}" if beside else why)

    @classmethod
    def answer(cls) -> "Cost":
        """Return the cost of answering a Task."""
        return cls.of(2, 2, "and the steps that follow")


def cost_of(verb: str, reading: Reading) -> Cost:
    """Return the cost of an operation on an execution."""
    rows, receipt = reading.rows(), reading.receipt()
    match verb:
        case "stop":
            return Cost.of(1, 1)
        case "nudge":
            waits = reading.client.why(reading.description.name)
            return Cost.of(1 + waits.count, 0, f"{waits.count:,} events, and the steps that follow")
        case "redrive":
            again = [row for row in rows if row.status in (Shown.FAILED, Shown.STOPPED)]
            count = sum(1 if row.branches is None else _unfinished(row.branches) for row in again) or 1
            requests, writes = _STEP
            beside = f"{count:,} steps run again at least, and what follows them; at most what a whole execution costs"
            return Cost.of(1 + count * requests, 1 + count * writes, beside)
        case "fork":
            copies = 0 if receipt is None else receipt.writes
            usd = None if receipt is None else receipt.usd
            return Cost(
                usd,
                f"at most {copies:,} results are copied, and later states run again: about what this execution cost",
            )
        case "delete":
            items = 0 if receipt is None else receipt.write_units
            return Cost.of(1, items, "the deleted items, by their size")
    return Cost(None, "nothing tells it beforehand")


def _unfinished(branches: Mapping[Shown, int]) -> int:
    return max(1, sum(count for status, count in branches.items() if status is not Shown.SUCCEEDED))


def cost_of_start(client: Client) -> Cost:
    """Return what the latest execution cost, as an estimate of the next."""
    receipt, name = _latest(client)
    if receipt is None:
        return Cost(None, "there is no earlier execution to tell by; `unum cost FILE` estimates it")
    return Cost(receipt.usd, f"what the latest execution, {name}, has cost so far")


def _latest(client: Client) -> tuple[StoredReceipt | None, str]:
    try:
        for one in client.list(limit=1).executions:
            return stored_receipt(client.store, client.workflow, one.name, retention_s=client.retention_s), one.name
    except UnumError:
        pass
    return None, ""
