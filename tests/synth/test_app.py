"""The app's example stacks, as the command line synthesizes them."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.synth.linting import complaints

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Templates by stack name, with the context of cdk.json."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CDK_CONTEXT_JSON", json.dumps(context))
        patch.setenv("CDK_OUTDIR", str(tmp_path_factory.mktemp("cdk")))
        app = runpy.run_path(str(ROOT / "app.py"))["app"]
        return {stack.stack_name: stack.template for stack in app.synth().stacks}


def test_every_example_has_its_stack(templates: dict[str, Any]) -> None:
    assert len(templates) == len(list(ROOT.glob("examples/*/stack.py")))


def test_cfn_lint(templates: dict[str, Any]) -> None:
    found = {name: complaints(template) for name, template in templates.items()}
    assert not any(found.values()), found
