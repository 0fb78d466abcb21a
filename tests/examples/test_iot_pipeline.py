from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from unum_runtime.model.checkpoint import Ending, Failure, Success

Load = Callable[[str, str], ModuleType]
Run = Callable[[list[float]], Ending]


def readings(*celsius: float) -> list[dict[str, Any]]:
    return [{"sensor": f"s{number}", "celsius": value} for number, value in enumerate(celsius)]


@pytest.fixture
def pipeline(run: Callable[..., Ending]) -> Run:
    def run_on(celsius: list[float]) -> Ending:
        event = {"room": "library", "comfort": {"from": 19.0, "to": 24.0}, "readings": readings(*celsius)}
        return run("iot_pipeline", event, Aggregate="aggregate", Decide="decide")

    return run_on


@pytest.mark.parametrize(
    ("celsius", "aggregate"),
    [
        ([20.0, 21.0, 25], {"accepted": 3, "rejected": [], "mean": 22.0}),
        ([850.0, 20.0, -40.1], {"accepted": 1, "rejected": ["s0", "s2"], "mean": 20.0}),
        ([850.0], {"accepted": 0, "rejected": ["s0"], "mean": None}),
        ([], {"accepted": 0, "rejected": [], "mean": None}),
    ],
)
def test_the_mean_is_of_plausible_readings(load: Load, celsius: list[float], aggregate: dict[str, Any]) -> None:
    assert load("iot_pipeline", "aggregate").handle(readings(*celsius), None) == aggregate


@pytest.mark.parametrize(
    ("celsius", "mode", "power"),
    [
        ([19.0], "keep", 0),
        ([24.0], "keep", 0),
        ([24.5], "cool", 10),
        ([18.0, 17.0], "heat", 30),
        ([60.0], "cool", 100),
        ([850.0, 26.5], "cool", 50),
    ],
)
def test_the_decision_follows_the_mean(pipeline: Run, celsius: list[float], mode: str, power: int) -> None:
    assert pipeline(celsius).outcome == Success({"room": "library", "mode": mode, "power": power})


def test_without_any_plausible_reading_the_execution_fails(pipeline: Run) -> None:
    failure = pipeline([850.0]).outcome
    assert isinstance(failure, Failure)
    assert failure.error == "NoSensorWorks"
