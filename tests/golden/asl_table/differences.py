"""Differences from Step Functions, each with the test that shows it."""

import tomllib
from pathlib import Path
from typing import NamedTuple


class Different(NamedTuple):
    """One difference.

    Attributes:
        text: the behaviour here, beside that of Step Functions.
        test: file and name of a test that shows the behaviour.
    """

    text: str
    test: str


def _read() -> dict[str, tuple[Different, ...]]:
    groups = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {
        group: tuple(Different(" ".join(entry["text"].split()), entry["test"]) for entry in entries)
        for group, entries in groups.items()
    }


DIFFERENT = _read()
"""All differences by group, in the order of the page."""
