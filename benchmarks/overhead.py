"""What a delivery computes: CPU time from ingress to collection, beside peers, with nothing but dictionaries behind it.

python benchmarks/overhead.py [--json] [--only-ours]

The peers' packages are none of this project's: uv makes an environment with them, which takes a minute once.
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
from timing import VISITS, in_turn
from workloads import Workload, chain, in_one_function, map_of

from unum_runtime.clock import SystemClock
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Guard, Json
from unum_runtime.model.naming import Key
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.fusion import Fusion
from unum_runtime.protocol.delivery.start import start
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS, Call, Runtime, silent
from unum_runtime.store.memory import MemoryStore

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
"""Hops of one delivery, the start included."""


@dataclass
class Sink:
    """An invoker that only keeps what it is given."""

    events: list[bytes] = field(default_factory=list)

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """See `Invoker.invoke`."""
        self.events = [payload for _, payload in events]


class StillStore(MemoryStore):
    """A store in which nothing new is ever found, so that each delivery is the first, and the last of its scope."""

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:  # noqa: ARG002 - as in the store
        """Take it as new."""
        return None

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:  # noqa: ARG002 - the same
        """Nothing."""
        return {}

    def add(self, key: Key, member: int, *, expires_at_s: int) -> frozenset[int]:  # noqa: ARG002 - the same
        """A full set for the last branch, else one with a single member."""
        return frozenset(range(WIDTH)) if member == WIDTH - 1 else frozenset([member])


def ours() -> dict[str, float]:
    """µs of CPU time by kind of delivery; all of them in turn."""
    found = in_turn(dict(_deliveries()), VISITS // FUSED)
    return {name: value / FUSED if "fused" in name else value for name, value in found.items()}


def _deliveries() -> Iterator[tuple[str, Callable[[], object]]]:
    """Deliveries by kind; that of fused hops has `FUSED` of them."""
    for guard in Guard:
        yield f"{HOP}, guard {guard}", _delivery(chain(3).guarded(guard), "Task1", PAYLOAD)
        yield f"{HOP}, fused, guard {guard}", _delivery(in_one_function(chain(FUSED)).guarded(guard), "Task0", PAYLOAD)
    mapped = map_of(WIDTH).guarded(Guard.COMMIT)
    yield f"fan-out to {WIDTH}", _delivery(mapped, "Make", None)
    yield "branch", _delivery(mapped, "Work", None, index=0)
    yield "last branch", _delivery(mapped, "Work", None, index=WIDTH - 1)
    yield f"join of {WIDTH}", _delivery(mapped, "Join", None)


def _delivery(workload: Workload, state: str, value: Json, index: int = 0) -> Callable[[], object]:
    """The delivery of an event for `state`; the one of a fan-out's first state is a start."""
    stored, events = _run(workload, value)
    still = StillStore(stored.clock, stored._items)  # noqa: SLF001 - what a join reads
    fixed = _fixed(workload, still, Sink())
    if state == workload.workflow.start_at:
        return lambda: start(_in_delivery(fixed, workload), "execution", value)
    event = [event for event in events if event["state"] == state][index]
    return lambda: step(_in_delivery(fixed, workload), Envelope.from_json(event))


def _run(workload: Workload, value: Json) -> tuple[MemoryStore, list[dict[str, Any]]]:
    """An execution's items and events."""
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
    """The runtime as `unum_runtime.functions.task_function` makes it for each delivery."""
    return fixed.in_delivery(
        call=lambda call, value: workload.functions[call.state](value, None),
        log=silent,
        remaining_ms=_remaining_ms,
        fuses=Fusion(fixed.own_address, _remaining_ms, _remaining_ms()),
    )


def _fixed(workload: Workload, store: MemoryStore, sink: Sink) -> Runtime:
    """The runtime as `unum_runtime.functions.task_function` makes it once for each function version."""
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
    raise AssertionError


def _remaining_ms() -> int:
    return MAX_DELIVERY_MS


def _address(function: str) -> str:
    return f"arn:aws:lambda:us-east-1:123456789012:function:{function}:1"


def theirs() -> Iterator[tuple[str, float]]:
    """µs of CPU time by peer."""
    folder = Path(__file__).parent
    for name, (script, packages) in PEERS.items():
        required = [argument for package in [*packages, "boto3"] for argument in ("--with", package)]
        uv = [str(Path(sys.executable).with_name("uv")), "run", "--quiet", "--no-project", "--python", sys.executable]
        command = [*uv, *required, "python", str(folder / "peers" / script)]
        ran = subprocess.run(  # noqa: S603 - our own command
            command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(folder)}
        )
        yield name, float(ran.stdout)


def overhead(*, only_ours: bool) -> dict[str, float]:
    """µs of CPU time of everything that is measured."""
    return {**ours(), **({} if only_ours else dict(theirs()))}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only-ours", action="store_true", help="leave the peers out")
    options = parser.parse_args()
    found = overhead(only_ours=options.only_ours)
    print(json.dumps(found) if options.json else "\n".join(table(found)))


def table(found: Mapping[str, float]) -> Iterator[str]:
    """The figures, one on each line, beside the hop that is the measure of the others."""
    hop = found[f"{HOP}, guard {Guard.READ}"]
    yield f"{'':<55}{'µs of CPU':>12}{'hops':>8}"
    for name, value in found.items():
        yield f"{name:<55}{value:>12.1f}{value / hop:>8.2f}"


_CLOCK = SystemClock()

if __name__ == "__main__":
    main()
