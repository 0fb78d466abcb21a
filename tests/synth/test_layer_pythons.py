"""Layers for the Pythons that functions have, and who makes their bytecode."""

import hashlib
import os
import platform
import sys
import zipfile
from pathlib import Path

import pytest
from aws_cdk import App, Environment, Stack, Stage
from aws_cdk import aws_lambda as lambda_

from tests import pythons
from tests.synth.deployment import Deployment, function
from tests.synth.machines import chain
from unum_compiler import compile_workflow
from unum_constructs.layer import bytecode, interpreters
from unum_constructs.layer.archive import archive
from unum_constructs.layer.bytecode import this_python
from unum_constructs.layer.content import (
    Content,
    compilable_modules,
    deployed_files,
    layer_content,
    runtime_content,
    runtime_folder,
)
from unum_constructs.layer.features import LayerFacts, unused_folders
from unum_constructs.layer.interpreters import FOLDERS
from unum_constructs.layer.workflow_layer import RuntimeLayer
from unum_runtime.model.ir import Workflow

PYTHON = str(this_python())
SOURCES = "sources"
OTHER = "python3.12" if PYTHON == "python3.11" else "python3.11"


@pytest.fixture
def workflow() -> Workflow:
    return compile_workflow(chain("A"), name="Flow", functions=None)


def files_of(content: Content, python: str) -> Content:
    """Return the deployed files of `content`: bytecode for functions with this Python, or all sources."""
    return deployed_files(
        content, {} if python == SOURCES else interpreters.compile_modules(compilable_modules(content), python)
    )


def unpacked(file: Path) -> Content:
    """Return an archive's files by path."""
    with zipfile.ZipFile(file) as zipped:
        return {name: zipped.read(name) for name in zipped.namelist()}


def runtime_named(name: str) -> lambda_.Runtime:
    return lambda_.Runtime(name, lambda_.RuntimeFamily.PYTHON, supports_inline_code=True)


def with_pythons(**pythons: str) -> Deployment:
    """A chain of functions with these runtimes."""
    deployment = Deployment.new()
    functions = {key: function(deployment.stack, key, runtime=runtime_named(name)) for key, name in pythons.items()}
    deployment.flow(chain(*functions), functions)
    return deployment


def layers_of(deployment: Deployment, path: str) -> list[str]:
    """The logical ids of the layers that a function takes."""
    return [layer["Ref"] for layer in deployment.properties(path)["Layers"]]


def test_functions_of_one_python_share_one_layer_with_the_workflow() -> None:
    deployment = with_pythons(A=OTHER, B=OTHER)
    for path in "AB":
        assert layers_of(deployment, path) == [deployment.logical_id(f"UnumRuntime-{OTHER}")]
    assert {each["Properties"]["Runtime"] for each in deployment.all("Lambda::Function").values()} == {OTHER}


def test_a_python_that_the_cdk_does_not_know_yet() -> None:
    deployment = Deployment.new()
    newer = lambda_.Runtime("python3.99", lambda_.RuntimeFamily.PYTHON, supports_inline_code=True)
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A", runtime=newer)})
    assert deployment.properties("Flow/OnFailure/Handler")["Runtime"] == "python3.99"


def test_functions_of_each_python_take_a_layer_for_it() -> None:
    deployment = with_pythons(A="python3.12", B="python3.13", C="python3.12")
    older, newest = (deployment.logical_id(f"UnumRuntime-python3.{minor}") for minor in (12, 13))
    assert layers_of(deployment, "A") == layers_of(deployment, "C") == [older]
    assert layers_of(deployment, "B") == [newest]
    assert deployment.properties("Flow/OnFailure/Handler")["Runtime"] == "python3.13"


def test_who_starts_more_slowly_than_needed_is_told() -> None:
    assert with_pythons(A=PYTHON).starts_told() == []
    (reply,) = with_pythons(A=PYTHON, B=OTHER).starts_told()
    assert {"Stack/A", "Stack/B"} & {*reply.text.replace(":", ",").split(", ")} == {"Stack/B"}
    by = f"this app is synthesized by cpython {platform.python_version()}, and no {OTHER} is on {FOLDERS}"
    assert f"without bytecode for their runtime {OTHER}: {by}; synthesize with {OTHER}, set {FOLDERS}" in reply.text


def test_who_declines_other_pythons_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the emulator does, where the advice to set the variable would be wrong."""
    monkeypatch.setenv(FOLDERS, "")
    assert with_pythons(A=OTHER).starts_told() == []


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Lets this Python be another than that of functions; the folder of an interpreter of their version."""
    monkeypatch.setattr(bytecode, "this_python", lambda: "python3.99")
    folder = str(pythons.this_one(tmp_path / "bin", PYTHON).parent)
    monkeypatch.setenv(FOLDERS, folder)
    return folder


@pytest.mark.usefixtures("foreign")
def test_an_interpreter_of_the_machine_makes_bytecode() -> None:
    assert with_pythons(A=PYTHON).starts_told() == []
    (reply,) = with_pythons(A=PYTHON, B=OTHER).starts_told()
    assert f"no {OTHER} is on {FOLDERS}" in reply.text


@pytest.mark.usefixtures("foreign")
def test_template_is_the_same_with_and_without_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    with_bytecode = with_pythons(A=PYTHON).template
    monkeypatch.setenv(FOLDERS, "")
    assert with_pythons(A=PYTHON).template == with_bytecode


def test_an_interpreter_that_nobody_named_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, workflow: Workflow, tmp_path: Path
) -> None:
    """Its answer would be deployed without review."""
    asked = tmp_path / "asked"
    folder = pythons.this_one(tmp_path / "bin", OTHER, before=f"touch '{asked}'").parent
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.delenv(FOLDERS, raising=False)
    with pytest.raises(interpreters.NoBytecodeError, match=f"no {OTHER} is on {FOLDERS}"):
        files_of(layer_content(LayerFacts(workflow), runtime_folder()), OTHER)
    assert not asked.exists()


ADDS_TO_EACH_MODULE = """
import json, subprocess, sys
asked = {path: (bytes.fromhex(source) + b"\\nadded = 1\\n").hex() for path, source in json.load(sys.stdin).items()}
subprocess.run([sys.executable, *sys.argv[1:]], input=json.dumps(asked), text=True, check=True)
"""


def test_same_sources_have_the_same_asset_whatever_compiles_them(
    foreign: str, workflow: Workflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "adds.py").write_text(ADDS_TO_EACH_MODULE)
    other = pythons.written(tmp_path / "other", PYTHON, f'exec "{sys.executable}" "{tmp_path}/adds.py" "$@"')
    hashes: list[str] = []
    for folder in (foreign, str(other.parent), ""):
        monkeypatch.setenv(FOLDERS, folder)
        stack = Stack(App(outdir=str(tmp_path / f"{len(hashes)}.out")), "Stack")
        hashes.append(RuntimeLayer.of(stack, PYTHON, unused_folders(LayerFacts(workflow))).digest)
    assert len({*hashes}) == 1


@pytest.mark.parametrize("stage", [None, "Nested"])
def test_an_assembly_has_under_each_hash_what_belongs_to_it(
    stage: str | None, workflow: Workflow, foreign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CDK keeps what it finds under the same hash: here what the first synthesis has written."""
    content, out = runtime_content(unused_folders(LayerFacts(workflow)), runtime_folder()), tmp_path / "cdk.out"
    expected = [files_of(content, PYTHON), files_of(content, SOURCES)]
    for folders in ("", foreign, ""):
        monkeypatch.setenv(FOLDERS, folders)
        app = App(outdir=str(out))
        stack = Stack(
            Stage(app, stage) if stage else app, "Stack", env=Environment(account="1" * 12, region="eu-west-1")
        )
        RuntimeLayer.of(stack, PYTHON, unused_folders(LayerFacts(workflow)))
        app.synth()
    (found,) = [unpacked(asset) for asset in out.glob("asset.*.zip")]
    assert found in expected


def test_of_many_functions_the_first_are_named() -> None:
    (reply,) = with_pythons(**{f"F{number}": OTHER for number in range(5)}).starts_told()
    assert reply.text.startswith(
        "Stack/Flow/ControlFunction/Function, Stack/Flow/OnFailure/Handler, Stack/F0 and 4 more: "
    )


def test_a_layer_has_nothing_that_lay_in_its_place(workflow: Workflow, tmp_path: Path) -> None:
    expected = files_of(runtime_content(unused_folders(LayerFacts(workflow)), runtime_folder()), PYTHON)
    stale = tmp_path / f"unum-{hashlib.sha256(archive(expected)).hexdigest()}.zip"
    stale.write_bytes(archive({"python/stale.py": b""}))
    stack = Stack(App(outdir=str(tmp_path)), "Stack")
    RuntimeLayer.of(stack, PYTHON, unused_folders(LayerFacts(workflow)))
    assert unpacked(stale) == expected
