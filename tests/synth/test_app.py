"""The app's example stacks, as the command line synthesizes them."""

from pathlib import Path
from typing import Any

from tests.synth.linting import complaints

ROOT = Path(__file__).parents[2]


def test_every_example_has_its_stack(templates: dict[str, Any]) -> None:
    assert len(templates) == len(list(ROOT.glob("examples/*/stack.py")))


def test_cfn_lint(templates: dict[str, Any]) -> None:
    found = {name: complaints(template) for name, template in templates.items()}
    assert not any(found.values()), found
