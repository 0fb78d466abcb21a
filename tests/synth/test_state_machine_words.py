"""The guide to moving a state machine names each word of `StateMachine` in the installed CDK."""

import inspect
import re
from pathlib import Path

import pytest
from aws_cdk import Resource
from aws_cdk import aws_stepfunctions as sfn

GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "migrate.md"
ARGUMENTS = [
    each for each in inspect.signature(sfn.StateMachine.__init__).parameters if each not in ("self", "scope", "id")
]
METHODS = sorted(
    each for each in {*dir(sfn.StateMachine)} - {*dir(Resource)} if not each.startswith("_") and each.islower()
)


def named() -> list[str]:
    """The words in the first column of the table; a star stands for any rest."""
    rows = re.findall(r"^\| (`.*?) \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    return [word for row in rows for word in re.findall(r"`(\w+\*?)", row)]


@pytest.mark.parametrize("word", [*ARGUMENTS, *METHODS])
def test_the_guide_names_it(word: str) -> None:
    assert any(word == each or (each.endswith("*") and word.startswith(each[:-1])) for each in named()), word
