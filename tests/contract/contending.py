"""One of several processes that contend for the same keys of a store; `test_cosmos_processes` starts them.

Reads a line before each round, so that all processes begin it together, and prints what the round returned as JSON.
"""

import json
import sys
from itertools import count
from typing import Any

from azure.cosmos import CosmosClient

from tests.contract import broken_stores
from tests.contract.cosmos_service import DATABASE, KEY, OPTIONS
from unum_azure.cosmos import CosmosStore
from unum_runtime.clock import SystemClock
from unum_runtime.model.naming import Key

HOUR_S = 3_600
MEMBERS = 8
"""Additions of one process to the set, each in a request of its own."""


def contend(store: CosmosStore, me: int, round_: int) -> dict[str, object]:
    """Contend for one item, one lease, one part of an item, and one set; return what this process sees."""
    place = f"w/e:{round_}"
    now_ms = SystemClock().now_ms()
    later_s = now_ms // 1000 + HOUR_S
    present = store.create(Key(place, "item"), {"writer": me}, expires_at_s=later_s)
    owner = store.acquire(Key(f"{place}/lease", "item"), str(me), expires_at_ms=now_ms + HOUR_S * 1000)
    is_mine, pack = store.extend(Key(place, "pack"), {f"e{me % 2}": me}, unless=f"e{me % 2}", expires_at_s=later_s)
    views = [
        sorted(store.add(Key(f"{place}/done", "done"), me * MEMBERS + number, expires_at_s=later_s))
        for number in range(MEMBERS)
    ]
    winner = present["writer"] if present else me
    return {"winner": winner, "owner": int(owner), "is_mine": is_mine, "pack": pack, "views": views}


def main(url: str, container: str, variant: str, me: str) -> None:
    """Contend in the store at `url`, once for each line of the input."""
    client = CosmosClient(url, KEY, **OPTIONS)
    kind: Any = getattr(broken_stores, variant, CosmosStore)
    store = kind(client.get_database_client(DATABASE).get_container_client(container))
    for round_, _ in zip(count(), sys.stdin, strict=False):
        print(json.dumps(contend(store, int(me), round_)), flush=True)  # noqa: T201 - its parent reads


if __name__ == "__main__":
    main(*sys.argv[1:])
