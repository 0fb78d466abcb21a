"""The app's example stacks, as the command line synthesizes them."""

from pathlib import Path
from typing import Any

from tests.synth.linting import complaints

ROOT = Path(__file__).parents[2]


def test_every_example_has_its_stack(templates: dict[str, Any]) -> None:
    """Examples with their own app have their own tests."""
    folders = [each.parent for each in ROOT.glob("examples/*/stack.py")]
    assert len(templates) == len([folder for folder in folders if not (folder / "app.py").exists()])


def test_cfn_lint(templates: dict[str, Any]) -> None:
    found = {name: complaints(template) for name, template in templates.items()}
    assert not any(found.values()), found
