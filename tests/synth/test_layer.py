"""The layer: the runtime and the IR, the same bytes everywhere."""

import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from aws_cdk import App, Stack

from tests.synth.machines import chain
from unum_constructs.compiler import compile_workflow
from unum_constructs.layer import WorkflowLayer, digest, layer_content, runtime_folder
from unum_runtime import handler
from unum_runtime.model.ir import Workflow


@pytest.fixture
def workflow() -> Workflow:
    return compile_workflow(chain("A"), name="Flow", functions=None)


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """A copy of the runtime to change."""
    return Path(shutil.copytree(runtime_folder(), tmp_path / "unum_runtime"))


def test_content(workflow: Workflow) -> None:
    content = layer_content(workflow, runtime_folder())
    assert (
        Workflow.from_json(content[f"python/{handler.WORKFLOWS_FOLDER}/Flow.json"].decode()).digest == workflow.digest
    )
    assert "python/unum_runtime/handler.py" in content
    assert "python/unum_runtime/__init__.py" in content
    assert all(path.endswith((".py", ".json")) for path in content)
    assert not [path for path in content if "client" in Path(path).parts or "simulator" in Path(path).parts]


def test_what_is_left_out_is_not_needed(workflow: Workflow, tmp_path: Path) -> None:
    for path, data in layer_content(workflow, runtime_folder()).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    environment = {"PYTHONPATH": str(tmp_path / "python"), "PATH": os.environ["PATH"]}
    completed = subprocess.run(
        [sys.executable, "-c", "import unum_runtime.handler as h; print(h.load_workflow('Flow').name)"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert completed.stdout == "Flow\n"


def test_same_on_every_machine(workflow: Workflow, runtime: Path) -> None:
    before = digest(layer_content(workflow, runtime_folder()))
    for file in runtime.rglob("*.py"):
        py_compile.compile(str(file))
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        file.chmod(0o700)
        os.utime(file, (1, 1))
    (runtime / "py.typed").touch()
    (runtime / "model" / ".hidden").write_text("left by an editor")
    assert list(runtime.rglob("__pycache__"))
    assert digest(layer_content(workflow, runtime)) == before


def test_every_byte_counts(workflow: Workflow, runtime: Path) -> None:
    before = digest(layer_content(workflow, runtime))
    other = compile_workflow(chain("B"), name="Flow", functions=None)
    assert digest(layer_content(other, runtime)) != before
    (runtime / "handler.py").write_text("changed = True\n")
    assert digest(layer_content(workflow, runtime)) != before


def test_moving_bytes_between_files_counts() -> None:
    assert digest({"a": b"xy", "b": b""}) != digest({"a": b"x", "b": b"y"})


def test_same_asset_in_every_folder(workflow: Workflow, tmp_path: Path) -> None:
    assets = []
    for outdir in ("one", "two"):
        app = App(outdir=str(tmp_path / outdir))
        stack = Stack(app, "Stack")
        WorkflowLayer(stack, "Layer", workflow=workflow)
        app.synth()
        assets.append({path.name for path in (tmp_path / outdir).glob("asset.*")})
    assert assets[0] == assets[1] != set()
