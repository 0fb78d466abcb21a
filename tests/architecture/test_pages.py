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


GUIDES = sorted((ROOT / "docs" / "contributing").glob("*.md"))
QUOTED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+/[\w.-]+\.(?:py|json|toml|md|tf|cjs|mjs)")
COMMANDED = re.compile(r"(?<= )tests/[\w./]+")
DEFINED = re.compile(r"^\s*(?:def|class) (\w+)", re.MULTILINE)


def test_guides_name_files_and_tests_that_exist() -> None:
    tests = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    defined, modules = {*DEFINED.findall(tests)}, {path.name for path in (ROOT / "tests").rglob("*.py")}
    assert GUIDES
    missing = []
    for text in (page.read_text(encoding="utf-8") for page in GUIDES):
        for quoted in QUOTED.findall(text):
            path, _, test = quoted.partition("::")
            if re.fullmatch(r"test_\w+", test or path) and (test or path) not in defined:
                missing.append(quoted)
            if re.fullmatch(r"test_\w+\.py", path) and path not in modules:
                missing.append(quoted)
            if FILE.fullmatch(path) and not (ROOT / path).exists():
                missing.append(quoted)
        missing += [each for each in COMMANDED.findall(text) if not (ROOT / each).exists()]
    assert missing == []


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
