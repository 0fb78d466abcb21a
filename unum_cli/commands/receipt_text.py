"""The receipt of ``unum describe --receipt``."""

from dataclasses import asdict

from unum_compiler.cost.receipt import UNKNOWN, StoredReceipt, stored_receipt
from unum_runtime.client.client import Client
from unum_runtime.model.states import Json


def receipt_of(client: Client, execution: str) -> StoredReceipt:
    """Return the receipt of execution `execution`."""
    return stored_receipt(client.store, client.workflow, execution, retention_s=client.retention_s)


def receipt_json(receipt: StoredReceipt) -> Json:
    """Return the fields of a receipt, with its price."""
    return asdict(receipt) | {"usd": receipt.usd}


def print_receipt(receipt: StoredReceipt) -> None:
    """Print the resources that an execution used, and their minimum price."""
    stored = f"{receipt.writes:,} writes of {receipt.write_units:,} units, {receipt.item_bytes:,} bytes"
    if receipt.object_writes:
        stored += f", {receipt.object_writes:,} objects"
    tasks = f"{receipt.tasks:,} Tasks in {receipt.invocations:,} invocations"
    print(f"receipt  {tasks}, {stored}, {receipt.user_code_ms:,} ms of user code")
    print(f"         {receipt.usd:.9f} USD at least; not known: {UNKNOWN}")
