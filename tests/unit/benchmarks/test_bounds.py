"""Messages of the check of exact figures, and texts of charts."""

import subprocess
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
BOUNDS = {"chain": {"calls": 11, "write_units": 11}, "map": {"calls": 204}}


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("bounds")


@pytest.fixture
def plot(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("plot")


def test_figures_at_their_bounds_are_neither_faults_nor_gains(bounds: Any) -> None:
    assert [*bounds.faults(BOUNDS, BOUNDS), *bounds.gains(BOUNDS, BOUNDS)] == []


def test_a_figure_above_its_bound_is_a_fault(bounds: Any) -> None:
    found = BOUNDS | {"map": {"calls": 1_205}}
    assert list(bounds.faults(found, BOUNDS)) == ["map: calls is 1,205; the bound is 204"]
    assert list(bounds.gains(found, BOUNDS)) == []


def test_a_figure_below_its_bound_is_told_and_is_no_fault(bounds: Any) -> None:
    found = BOUNDS | {"map": {"calls": 203}}
    (gain,) = bounds.gains(found, BOUNDS)
    assert gain == "map: calls is 203, better than its bound of 204; to keep that, run benchmarks/check.py --set"
    assert list(bounds.faults(found, BOUNDS)) == []


def test_what_is_only_measured_or_only_bounded_is_a_fault(bounds: Any) -> None:
    found = {"chain": {"calls": 11, "read_units": 0}, "loop": {"calls": 21}}
    faults = [fault.partition(";")[0] for fault in bounds.faults(found, BOUNDS)]
    assert faults == [
        "chain: read_units is measured, but has no bound",
        "chain: write_units has a bound, but is not measured",
        "loop: calls is measured, but has no bound",
        "map: calls has a bound, but is not measured",
    ]


@pytest.mark.parametrize(("calls", "factors"), [(10_100, []), (10_300, ["1.030"]), (9_700, ["0.970"])])
def test_wide_maps_grow_with_their_width(bounds: Any, calls: int, factors: list[str]) -> None:
    same = {"write_units": 0, "read_units": 100}
    small, large, how = bounds.LINEAR
    found = {
        f"{small}, {how}": {"calls": 1_000, **same},
        f"{large}, {how}": {"calls": calls, **same, "read_units": 1_000},
    }
    assert [bend.split()[6] for bend in bounds.nonlinear_growth(found)] == factors


def test_axes_are_labelled_and_their_numbers_written_out(plot: Any) -> None:
    lines = {"here": [(10, 0.02), (5_000, 4_100_000)]}
    texts = [each.text for each in ET.fromstring(plot.line_chart("Bytes", "branches", "moved", lines)).iter()]  # noqa: S314 - our own
    assert {"Bytes", "branches", "moved", "here", "0.01", "1", "10,000", "10,000,000"} <= set(texts)
    assert not [text for text in texts if text and "e+" in text]


def test_make_prints_nothing_but_what_the_benchmarks_print() -> None:
    command = ["make", "--no-print-directory", "--old-file=setup", "bench", "ARGS=--help"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - the Makefile's own
    assert ran.stdout.startswith("usage: run.py")
