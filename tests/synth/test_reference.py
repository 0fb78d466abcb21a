"""The reference names everything that is public."""

from pathlib import Path

import unum_constructs

REFERENCE = Path(__file__).parents[2] / "docs" / "reference.md"


def test_every_public_construct_is_in_the_reference() -> None:
    """By the module that it is in: from the package, names are resolved when they are used, which mkdocs cannot."""
    named = {line.removeprefix("::: ") for line in REFERENCE.read_text().splitlines() if line.startswith("::: ")}
    public = {f"{unum_constructs._MODULES[name]}.{name}" for name in unum_constructs.__all__}
    assert public <= named
