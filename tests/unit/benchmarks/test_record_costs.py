"""Records of deliveries cost no request, no item and no write unit, for results of up to 700 bytes."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from unum_runtime.model.delivery_record import Arrival
from unum_simulator.metering import BEGUN_MS, meter

ROOT = Path(__file__).parents[3]
USUAL = Arrival(
    BEGUN_MS - 1234,
    request_id="6a7e8feb-b491-4cf7-a9f1-bf3703467718",
    log_stream="2026/11/23/[12]0123456789abcdef0123456789abcdef",
    init_ms=431,
)
FREE = ("calls", "write_units", "invocations", "payload_bytes", "items")


@pytest.fixture
def workloads(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("workloads")


def figures(workload: Any, arrival: Arrival | None) -> dict[str, int]:
    found = meter(
        workload.workflow,
        workload.functions,
        workload.value,
        by_reference=workload.by_reference,
        arrival=arrival,
    )
    return {name: getattr(found.usage, name) for name in (*FREE, "read_units", "stored_bytes")}


@pytest.mark.parametrize(
    "made",
    [
        lambda kinds: kinds.chain(5),
        lambda kinds: kinds.chain(5, "x" * 400),
        lambda kinds: kinds.chain(5, "x" * 700),
        lambda kinds: kinds.in_one_function(kinds.chain(5)),
        lambda kinds: kinds.parallel(3),
        lambda kinds: kinds.map_of(100),
        lambda kinds: kinds.map_of(10, 2),
        lambda kinds: kinds.with_small_results(kinds.map_of(100)),
        lambda kinds: kinds.nested(4),
    ],
)
def test_no_write_costs_more(made: Any, workloads: Any) -> None:
    workload = made(workloads)
    without, reply = figures(workload, None), figures(workload, USUAL)
    assert {name: reply[name] for name in FREE} == {name: without[name] for name in FREE}
    assert reply["stored_bytes"] > without["stored_bytes"]
    # A join reads 80 bytes more of each branch: a read unit, of 4 KB, for 51 branches.
    assert reply["read_units"] <= without["read_units"] + without["invocations"] // 51 + 1
