from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
CODE = '''"""A module."""

import os


# why
def path(
    name: str,
) -> str:
    """Return a path.

    More of it.
    """
    text = """one
two"""  # a value counts
    return os.path.join(text, name)
'''


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("lines")


def test_blank_lines_comments_and_docstrings_do_not_count(lines: Any) -> None:
    assert lines.python_lines(CODE) == 7


def test_the_page_has_what_is_counted_now(lines: Any) -> None:
    assert lines.table() in (ROOT / "docs" / "research.md").read_text(encoding="utf-8")


def test_only_a_definition_without_counterpart_has_no_lines_in_asl(lines: Any) -> None:
    assert [each.name for each in lines.ALL if lines.asl_lines(each) is None] == ["excamera", "genome"]
