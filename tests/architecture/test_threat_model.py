"""The threat model names a test for each line, and each of them exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "threat-model.md"
_ROW = re.compile(r"^\|(?! who |---)(.*)\|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)(?:\[([\w-]+)\])?`")

ROWS = [row.strip() for row in _ROW.findall(PAGE.read_text())]


def test_the_page_has_lines() -> None:
    assert len(ROWS) > 20


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-release.txt", "emulator/requirements.txt"])
def test_every_requirement_is_locked_by_hash(lock: str) -> None:
    text = (ROOT / lock).read_text().replace("\\\n", "")
    named = [line for line in text.splitlines() if line and not line.startswith((" ", "#", "-"))]
    assert len(named) > 10
    assert [line for line in named if "--hash=sha256:" not in line or "==" not in line] == []


@pytest.mark.parametrize("row", ROWS)
def test_the_test_of_a_line_exists(row: str) -> None:
    *_, cell = (each.strip() for each in row.split("|"))
    found = _TEST.fullmatch(cell)
    assert found, cell
    path, name, parameter = found.groups()
    text = (ROOT / path).read_text()
    assert f"def {name}(" in text
    assert parameter is None or all(f'"{part}"' in text or f"def {part}(" in text for part in parameter.split("-"))
