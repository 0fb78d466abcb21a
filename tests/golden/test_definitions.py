"""The IR of each definition, read for ever: a change here changes what running executions were planned with.

`UNUM_WRITE_GOLDEN=1` writes the files anew; whoever does so reviews the difference.
"""

import json
import os
from pathlib import Path

import pytest

from unum_compiler.definition import Definition
from unum_compiler.lowering.lower import with_pace
from unum_runtime.model.ir import Workflow

DEFINITIONS = sorted(Path(__file__).with_name("definitions").glob("*.asl.json"))


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.name.removesuffix(".asl.json"))
def test_definition_compiles_to_its_ir(path: Path) -> None:
    workflow = Definition.from_asl_file(path).compile("golden", None)
    golden = path.with_name(path.name.replace(".asl.", ".ir."))
    if os.environ.get("UNUM_WRITE_GOLDEN"):
        golden.write_text(
            json.dumps(json.loads(workflow.to_json()), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    # The texts are older than the default limit of a Map, which is all that the compiler adds to them.
    stored = Workflow.from_json(golden.read_text(encoding="utf-8"))
    assert json.loads(stored.to_json()) == json.loads(golden.read_text(encoding="utf-8"))
    assert json.loads(workflow.to_json()) == json.loads(with_pace(stored).to_json())
    assert with_pace(stored).digest == workflow.digest
