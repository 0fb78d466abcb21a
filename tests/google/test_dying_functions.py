"""Functions that die for ever by signal 9, and events that Cloud Tasks drops: executions end all the same."""

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.google.local_platform import WORKFLOW, Deployment, Platform, platform
from tests.patience import PATIENCE_S
from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Failure, Success

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]

PRICE = {
    "Type": "Task",
    "Resource": "Price",
    "Retry": [{"ErrorEquals": ["Lambda.Unknown"], "IntervalSeconds": 1, "MaxAttempts": 1}],
    "Catch": [{"ErrorEquals": ["Lambda.Unknown"], "ResultPath": "$.failure", "Next": "Is caught"}],
    "End": True,
}
DEFINITION = {
    "StartAt": "Split",
    "States": {
        "Split": {"Type": "Task", "Resource": "Split", "Next": "Price"},
        "Price": PRICE,
        "Is caught": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.mends", "BooleanEquals": True, "Next": "Mend"}],
            "Default": "Give up",
        },
        "Mend": {"Type": "Task", "Resource": "Mend", "End": True},
        "Give up": {"Type": "Fail", "Error": "GivenUp"},
    },
}
FRAGILE = Deployment(
    Path(__file__).with_name("fragile"),
    {"split": {"Split": "main.split", "Mend": "main.mend"}, "price": {"Price": "main.price"}, "recovery": {}},
    lambda: Definition.from_asl(DEFINITION).compile(WORKFLOW, None).to_json().encode(),
    attempts=2,
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with platform(tmp_path_factory.mktemp("fragile"), FRAGILE) as found:
        yield found


def order(folder: Path, *, dies: bool, mends: bool) -> dict[str, object]:
    return {"notes": str(folder / "notes"), "dies": dies, "mends": mends}


def test_a_task_that_kills_its_function_is_retried_and_caught(running: Platform, tmp_path: Path) -> None:
    running.start("mended", order(tmp_path, dies=True, mends=True))
    assert running.result("mended") == Success("caught Lambda.Unknown")
    assert (tmp_path / "notes").read_text(encoding="utf-8") == "xxxx", "two deliveries of two tries"


def test_a_task_that_kills_its_function_fails_its_execution(running: Platform, tmp_path: Path) -> None:
    running.start("failed", order(tmp_path, dies=True, mends=False))
    outcome = running.result("failed")
    assert isinstance(outcome, Failure)
    assert outcome.error == "GivenUp"


def test_a_function_that_is_gone_and_an_event_that_is_dropped(running: Platform, tmp_path: Path) -> None:
    """The last test of the module: nothing starts the function again."""
    running.end("price")
    running.start("dropped", order(tmp_path, dies=False, mends=True))
    end_s = time.monotonic() + PATIENCE_S
    while not running.queued("price"):
        assert time.monotonic() < end_s, "expected an event for the function that is gone"
        time.sleep(0.05)
    running.purge("price")
    stop, chance = threading.Event(), random.Random(7)  # noqa: S311 - the same each time

    def kill() -> None:
        while not stop.wait(chance.uniform(0.5, 3)):
            running.kill("recovery")

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        statuses = [running.sweep(1, 1) for _ in range(8)]
        while not running.ended("dropped") and time.monotonic() < end_s:  # a slow sweep may be killed each time
            statuses.append(running.sweep(1, 1))
    finally:
        stop.set()
        killer.join()
    running.sweep(1, 1)
    assert running.result("dropped") == Success("caught Lambda.Unknown"), statuses
    assert not (tmp_path / "notes").exists()
