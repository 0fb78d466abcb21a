"""Pages name source files that exist, and the glossary marks the terms to learn first."""

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


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_glossary_marks_the_terms_that_it_lists_first() -> None:
    listed = re.search(r"## Learn these (\d+) first\n(.*?)\n## ", GLOSSARY, re.DOTALL)
    assert listed
    terms = [
        term
        for _, cell in re.findall(r"^\| \[(.*?)\]\(#.*?\) \| (.*) \|$", listed[2], re.MULTILINE)
        for term in cell.split(", ")
    ]
    assert len(terms) == int(listed[1])
    assert sorted(terms) == sorted(re.findall(r"^\| \*\*(.*?)\*\* \|", GLOSSARY, re.MULTILINE))
