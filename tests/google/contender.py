"""A process that contends with others for documents, and prints what it saw.

Arguments: address of the server, root collection, own number, number of keys, number of times to have the lease.
Before each key it prints a line and waits for one, so that no process gets ahead of the others.
"""

import json
import sys
import time
from typing import Any

from tests.google.firestore_server import firestore_client
from unum_google.firestore import FirestoreStore
from unum_runtime.model.naming import Key

LATER = 4_000_000_000


def contend(store: FirestoreStore, me: int, keys: int, turns: int) -> dict[str, Any]:
    """Create, extend, add and lease what the others do, too."""
    found: dict[str, Any] = {"won": [], "winners": [], "extended": [], "views": [], "held": []}
    for number in range(keys):
        wait_for_others()
        item = store.create(Key("items", str(number)), {"by": me}, expires_at_s=LATER)
        found["won"].append(item is None)
        found["winners"].append(me if item is None else item["by"])
        found["extended"].append(
            store.extend(Key("packs", str(number)), {"part": me}, unless="part", expires_at_s=LATER)[0]
        )
        found["views"].append(sorted(store.add(Key("sets", str(number)), me, expires_at_s=LATER)))
    lease = Key("lease", "1")
    while len(found["held"]) < turns:
        if store.acquire(lease, str(me), expires_at_ms=LATER * 1000) == str(me):
            begin = time.monotonic_ns()  # all processes of a machine read the same clock
            time.sleep(0.002)
            found["held"].append([begin, time.monotonic_ns()])
            store.release(lease, str(me))
        time.sleep(0.001)
    return found


def wait_for_others() -> None:
    """Tell the parent that this process is ready, and wait until all are."""
    print("ready", flush=True)
    sys.stdin.readline()


def main() -> None:
    """Connect to the server, then contend."""
    address, root, *numbers = sys.argv[1:]
    client = firestore_client(address)
    store = FirestoreStore(lambda: client, root=root)
    store.read([Key("any", "one")])
    print(json.dumps(contend(store, *map(int, numbers))))


if __name__ == "__main__":
    main()
