from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def wavefront(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("wavefront")


def film(*encode: int) -> dict[str, Any]:
    return {"chunks": [{"ms": {"encode": ms, "decode": 10, "reencode": 10, "rebase": 100}} for ms in encode]}


@pytest.mark.parametrize(
    ("encode", "wave_s", "barrier_s"),
    [
        ((50, 50, 50), 0.37, 0.37),  # equal chunks have one longest path
        ((50, 50, 250), 0.37, 0.57),  # the last chunk is encoded while the others are rebased
        ((250, 50, 50), 0.57, 0.57),  # all others wait for the first
        ((50,), 0.17, 0.17),
    ],
)
def test_the_bounds_are_the_longest_paths(
    wavefront: Any, encode: tuple[int, ...], wave_s: float, barrier_s: float
) -> None:
    assert wavefront.bounds(film(*encode)) == pytest.approx((wave_s, barrier_s))


def test_the_section_compares_runs_pair_by_pair(wavefront: Any) -> None:
    text = wavefront.section({"a video": wavefront.Found((1.0, 3.0, 2.0), (2.0, 3.0, 4.0), (0.5, 1.0))})
    rows = [line for line in text.splitlines() if "a video" in line]
    assert [row.split(" | ")[-1] for row in rows] == ["0.50 |", "1.00 |", "0.50 |", "0.67 |", "0.50 |"]
