"""CPU time of a delivery from ingress to collection on in-memory services, compared with other libraries.

python benchmarks/overhead.py [--json] [--only-ours]

The other libraries are outside this project; uv creates an environment with them, which takes a minute once.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from peers.payload import PAYLOAD
from timing import VISITS, measure_in_turn
from workloads import Workload, chain, in_one_function, map_of

from unum_runtime.clock import SystemClock
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Guard, Json
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.fusion import Fusion
from unum_runtime.protocol.delivery.start import start
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS, Call, Runtime, silent
from unum_simulator.memory_store import MemoryStore

HOP = "chain hop, 1 KB"
TARGET_US = 150
PEERS = {
    "aws-lambda-powertools 3.37.0: idempotent call, 1 KB": ("powertools.py", ["aws-lambda-powertools==3.37.0"]),
    "aws-durable-execution-sdk-python 3.0.0: step, 1 KB": (
        "durable.py",
        ["aws-durable-execution-sdk-python==3.0.0"],
    ),
}
WIDTH = 10
FUSED = 10
"""Hops of one delivery, including the start."""


@dataclass
class Sink:
    """An invoker that only stores events."""

    events: list[bytes] = field(default_factory=list)

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """See `Invoker.invoke`."""
        self.events = [payload for _, payload in events]


class StillStore(MemoryStore):
    """A store without earlier outcomes: each delivery is the first one, and completes its scope."""

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:  # noqa: ARG002 - as in the store
        """Report a new item."""
        return None

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:  # noqa: ARG002 - the same
        """Return no items."""
        return {}

    def add(self, key: Key, member: int, *, expires_at_s: int) -> frozenset[int]:  # noqa: ARG002 - the same
        """Return a full set for the last branch, and a set with one member otherwise."""
        return frozenset(range(WIDTH)) if member == WIDTH - 1 else frozenset([member])


def measure_ours() -> dict[str, float]:
    """Return µs of CPU time by kind of delivery, measured alternately."""
    # Fused deliveries are longer, so the number of visits is smaller for all.
    found = measure_in_turn(dict(_deliveries()), VISITS // FUSED)
    return {name: value / FUSED if "fused" in name else value for name, value in found.items()}


def _deliveries() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield deliveries by kind; a delivery of fused hops has `FUSED` hops."""
    for guard in Guard:
        yield f"{HOP}, guard {guard}", _delivery(chain(3).guarded(guard), "Task1", PAYLOAD)
        yield f"{HOP}, fused, guard {guard}", _delivery(in_one_function(chain(FUSED)).guarded(guard), "Task0", PAYLOAD)
    mapped = map_of(WIDTH).guarded(Guard.COMMIT)
    yield f"fan-out to {WIDTH}", _delivery(mapped, "Make", None)
    yield "branch", _delivery(mapped, "Work", None, index=0)
    yield "last branch", _delivery(mapped, "Work", None, index=WIDTH - 1)
    yield f"join of {WIDTH}", _delivery(mapped, "Join", None)


def _delivery(workload: Workload, state: str, value: Json, index: int = 0) -> Callable[[], object]:
    """Return a function that delivers an event for `state`, or the start event for a workflow's first state."""
    stored, events = _run(workload, value)
    still = StillStore(stored.clock, stored._items)  # noqa: SLF001 - the items that a join reads
    fixed = _fixed(workload, still, Sink())
    if state == workload.workflow.start_at:
        return lambda: start(_in_delivery(fixed, workload), "execution", value)
    event = [event for event in events if event["state"] == state][index]
    return lambda: step(_in_delivery(fixed, workload), Envelope.from_json(event))


def _run(workload: Workload, value: Json) -> tuple[MemoryStore, list[dict[str, Any]]]:
    """Return an execution's items and events."""
    store, sink, events = MemoryStore(), Sink(), list[dict[str, Any]]()
    fixed = _fixed(workload, store, sink)
    start(_in_delivery(fixed, workload), "execution", value)
    ahead = sink.events
    while ahead:
        event = json.loads(ahead.pop(0))
        events.append(event)
        sink.events = []
        step(_in_delivery(fixed, workload), Envelope.from_json(event))
        ahead += sink.events
    return store, events


def _in_delivery(fixed: Runtime, workload: Workload) -> Runtime:
    """Return the runtime of one delivery, made as in `unum_runtime.functions.task_function`."""
    return fixed.in_delivery(
        call=lambda call, value: workload.functions[call.state](value, None),
        log=silent,
        remaining_ms=_remaining_ms,
        fuses=Fusion(fixed.own_address, _remaining_ms, _remaining_ms()),
    )


def _fixed(workload: Workload, store: MemoryStore, sink: Sink) -> Runtime:
    """Return the runtime of one function version, made as in `unum_runtime.functions.task_function`."""
    functions = frozenset(task.function for task in workload.workflow.tasks)
    return Runtime(
        workflow=workload.workflow,
        store=store,
        invoker=sink,
        clock=_CLOCK,
        call=_no_delivery,
        hosts=functions,
        routes={function: _address(function) for function in functions},
        own_address=_address("work"),
    )


def _no_delivery(_call: Call, _value: Json) -> NoReturn:
    # A runtime outside a delivery must never run user code.
    raise AssertionError


def _remaining_ms() -> int:
    return MAX_DELIVERY_MS


def _address(function: str) -> str:
    return f"arn:aws:lambda:us-east-1:123456789012:function:{function}:1"


def measure_peers() -> Iterator[tuple[str, float]]:
    """Yield µs of CPU time by library."""
    folder = Path(__file__).parent
    for name, (script, packages) in PEERS.items():
        required = [argument for package in [*packages, "boto3"] for argument in ("--with", package)]
        uv = [str(Path(sys.executable).with_name("uv")), "run", "--quiet", "--no-project", "--python", sys.executable]
        command = [*uv, *required, "python", str(folder / "peers" / script)]
        # The scripts import `payload` and `timing` from this folder.
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        ran = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)  # noqa: S603 - ours
        yield name, float(ran.stdout)


def measure(*, only_ours: bool) -> dict[str, float]:
    """Return µs of CPU time of all measurements."""
    return {**measure_ours(), **({} if only_ours else dict(measure_peers()))}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only-ours", action="store_true", help="skip the other libraries")
    options = parser.parse_args()
    found = measure(only_ours=options.only_ours)
    print(json.dumps(found) if options.json else "\n".join(table(found)))


def table(found: Mapping[str, float]) -> Iterator[str]:
    """Yield one line per figure, with its ratio to a hop."""
    hop = found[f"{HOP}, guard {Guard.READ}"]
    yield f"{'':<55}{'µs of CPU':>12}{'hops':>8}"
    for name, value in found.items():
        yield f"{name:<55}{value:>12.1f}{value / hop:>8.2f}"


_CLOCK = SystemClock()

if __name__ == "__main__":
    main()
