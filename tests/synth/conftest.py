import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unum_constructs.layer.interpreters import FOLDERS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def nobody_asked() -> Iterator[None]:
    """Make tests independent of the machine's other interpreters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(FOLDERS, raising=False)
        yield


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The example stacks' templates by name, as the command line synthesizes them: with the context of cdk.json."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CDK_CONTEXT_JSON", json.dumps(context))
        patch.setenv("CDK_OUTDIR", str(tmp_path_factory.mktemp("cdk")))
        app = runpy.run_path(str(ROOT / "app.py"))["app"]
        return {stack.stack_name: stack.template for stack in app.synth().stacks}
