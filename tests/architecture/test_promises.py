"""The page of promises names tests for each line, and each of them exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "design" / "promises.md"
_ROW = re.compile(r"^\|(?! promise |---)(.*)\|$", re.MULTILINE)
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")

ROWS = [row.strip() for row in _ROW.findall(PAGE.read_text(encoding="utf-8"))]


def test_the_page_has_all_promises_of_five_documents() -> None:
    assert len(ROWS) == 46
    assert len(set(ROWS)) == len(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_the_tests_of_a_line_exist(row: str) -> None:
    promise, here, tests = (each.strip() for each in row.split(" | "))
    assert promise
    assert here
    found = _TEST.findall(tests)
    assert found, tests
    assert _TEST.sub("", tests).replace(",", "").strip() == "", "only tests"
    for path, name in found:
        assert re.search(rf"^def {name}\(", (ROOT / "tests" / path).read_text(encoding="utf-8"), re.MULTILINE), name
