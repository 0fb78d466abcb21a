"""The number of modules that a reader of one delivery has to open: every module whose code a delivery runs."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import unum_runtime
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.protocol.delivery.deliver import step

MOST_IN_A_HOP = 18
MOST_IN_A_JOIN = 22

PACKAGE = Path(unum_runtime.__file__).parent
A_MAP = {
    "StartAt": "M",
    "States": {
        "M": {
            "Type": "Map",
            "ItemProcessor": {"StartAt": "X", "States": {"X": {"Type": "Task", "Resource": "X", "End": True}}},
            "Next": "J",
        },
        "J": {"Type": "Task", "Resource": "J", "End": True},
    },
}


def entered(work: Callable[[], object]) -> set[str]:
    """The runtime's modules in which `work` calls a function."""
    files = set()

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return {str(Path(file).relative_to(PACKAGE)) for file in files if Path(file).is_relative_to(PACKAGE)}


def delivery_of(platform: Platform, state: str) -> set[str]:
    """The modules that the first delivery of `state` enters."""
    for event in platform.sent:
        runtime = platform.runtime()
        found = entered(lambda event=event, runtime=runtime: step(runtime, event))  # type: ignore[misc]
        if event.state == state:
            return found
    raise AssertionError(f"no event of {state}")


def test_a_hop_of_a_chain() -> None:
    platform = Platform.of(chain("A", "B", "C"), A=lambda _: 1, B=lambda _: 2, C=lambda _: 3)
    platform.start()
    platform.options["arrival"] = Arrival(platform.clock.ms)
    found = delivery_of(platform, "B")
    assert "protocol/delivery/deliver.py" in found
    assert len(found) <= MOST_IN_A_HOP, sorted(found)


def test_the_join_of_a_map() -> None:
    platform = Platform.of(A_MAP, X=lambda event: event, J=lambda event: event)
    platform.start(value=[1, 2, 3])
    found = delivery_of(platform, "J")
    assert "protocol/delivery/join.py" in found
    assert len(found) <= MOST_IN_A_JOIN, sorted(found)


def test_a_workflow_without_regions_loads_none_of_their_modules() -> None:
    loads = (
        "import sys; import unum_runtime.functions.task_function;"
        "print([name for name in sys.modules if name.endswith(('.region', '.arrivals'))])"
    )
    found = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)  # noqa: S603 - our own
    assert found.stdout.strip() == "[]"
