"""Pages that name source files name existing ones."""

import re
from pathlib import Path

import pytest

from tests.architecture.house import ROOT

LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
