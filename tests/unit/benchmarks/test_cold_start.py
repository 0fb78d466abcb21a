"""The benchmark of cold starts packs functions as synth does, and starts each kind."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def cold_start(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("cold_start")


def test_each_kind_of_function_starts(cold_start: Any) -> None:
    found = cold_start.measure(runs=1)
    assert found["starts"].keys() == cold_start.KINDS.keys()
    assert all(start["ready_ms"] > 0 for start in found["starts"].values())
    assert found["zipped_kb"]["layer, bytecode"] < found["zipped_kb"]["control function"]
