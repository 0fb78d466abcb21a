"""Sections of docs/research.md that programs write."""

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "research.md"


def write_section(name: str, text: str) -> None:
    """Replace the text between the marks of a section.

    Raises:
        ValueError: the page has no such section.
    """
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, found, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"{PAGE}: expected a section between {begin.strip()} and {end.strip()}")
    PAGE.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")
