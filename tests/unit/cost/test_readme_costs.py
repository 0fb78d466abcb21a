"""README's costs equal those measured and estimated for docs/performance."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROWS = {
    "chain of five Tasks": "chain of 5, read",
    "the same in one function": "chain of 5 in one function, read",
    "Map of 100 items with a join": "map of 100, read",
    "the same with small results, and the guard `commit`": "map of 100, small results, commit",
}


@pytest.mark.parametrize(("said", "estimated"), ROWS.items())
def test_readme_has_the_estimates_of_the_figures(said: str, estimated: str) -> None:
    here, standard = cells(ROOT / "README.md", said)
    _, ours, theirs, *_ = cells(ROOT / "docs" / "performance" / "figures.md", estimated)
    assert here == ours
    assert standard == round(theirs)


def cells(page: Path, row: str) -> list[float]:
    """The numbers in the row of a table in `page`."""
    (line,) = re.findall(rf"^\| {re.escape(row)} \|(.*)\|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [float(cell.strip().replace(",", "") or "nan") for cell in line.split("|")]
