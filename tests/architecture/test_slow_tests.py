"""Reasons of tests that need much processor time, which `make slowest` measures."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.house import ROOT, modules
from tests.slowest import REASON, unexplained

FEWEST_WORDS = 5


def reasons(source: str) -> Iterator[str]:
    """Yield the reason of each mark `slow`; "" for one without."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.slow":
            reason = node.args[0] if len(node.args) == 1 else None
            yield reason.value if isinstance(reason, ast.Constant) and isinstance(reason.value, str) else ""
        elif isinstance(node, ast.FunctionDef):
            yield from ("" for mark in node.decorator_list if ast.unparse(mark) == "pytest.mark.slow")


def test_slow_tests_have_reasons() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in modules(ROOT / "tests")}
    found = [(path, reason) for path, text in texts.items() if "mark.slow" in text for reason in reasons(text)]
    assert [path for path, reason in found if len(reason.split()) < FEWEST_WORDS] == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@pytest.mark.slow\ndef test_a(): ...", [""]),
        ("@pytest.mark.slow()\ndef test_a(): ...", [""]),
        ("@pytest.mark.slow('it reads all models')\ndef test_a(): ...", ["it reads all models"]),
        ("pytest.param(1, marks=pytest.mark.slow('it reads all models'))", ["it reads all models"]),
    ],
)
def test_marks_without_reasons_are_found(source: str, expected: list[str]) -> None:
    assert list(reasons(source)) == expected


def test_unit_tests_above_two_seconds_need_reasons() -> None:
    explained = f"2.5 tests/unit/test_a.py::test_a{REASON}it reads all models"
    lines = [
        "2.0 tests/unit/test_b.py::test_b",
        "2.1 tests/unit/test_c.py::test_c",
        "9.0 tests/synth/test_d.py::test_d",
    ]
    assert unexplained([explained, *lines]) == ["tests/unit/test_c.py::test_c"]
