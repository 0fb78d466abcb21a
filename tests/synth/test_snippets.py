"""Every piece of code in the documentation is a file, and each of them synthesizes."""

import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Template

from tests.synth.conftest import ROOT
from unum_constructs.testing import WorkflowResources

DOCS = ROOT / "docs"
SNIPPETS = sorted(path for path in (DOCS / "snippets").rglob("*.py") if "functions" not in path.parts)


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_snippet_synthesizes(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    (kind,) = stacks(module)
    template = Template.from_stack(kind(App(), "Stack"))
    if path.stem != "before":
        assert WorkflowResources.find(template).start_aliases


def test_every_snippet_is_shown() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    unseen = [path.name for path in SNIPPETS if str(path.relative_to(ROOT)) not in pages]
    assert unseen == []


def stacks(module: ModuleType) -> list[type[Stack]]:
    """The stacks that a module defines itself."""
    classes = [each for each in vars(module).values() if inspect.isclass(each)]
    return [each for each in classes if issubclass(each, Stack) and each.__module__ == module.__name__]
