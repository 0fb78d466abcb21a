"""The layer: the runtime and the IR, the same bytes everywhere."""

import io
import marshal
import os
import py_compile
import shutil
import subprocess
import sys
import traceback
import zipfile
from collections.abc import Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from aws_cdk import App, Stack

from tests.synth.machines import chain, machine
from unum_constructs.bytecode import compiled
from unum_constructs.compiler import compile_workflow
from unum_constructs.layer import Content, WorkflowLayer, bytecode, digest, layer_content, runtime_folder
from unum_runtime import handler
from unum_runtime.model.ir import Workflow

SOURCES_KB, LAYER_KB = 270, 560
"""Budgets for the layer of a small workflow, zipped: sources, and all of it."""


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


def test_jsonata_is_there_where_a_state_is_in_it(workflow: Workflow) -> None:
    definition = {"QueryLanguage": "JSONata", **machine(P={"Type": "Pass", "Output": "{% 1 %}", "End": True})}
    content = layer_content(compile_workflow(definition, name="Flow", functions=None), runtime_folder())
    own = {path: len(data) for path, data in content.items() if "jsonata" in Path(path).parts[1]}
    assert "python/jsonata/jsonata.py" in own
    assert [path for path in own if path.endswith("/LICENSE")]
    assert all(path.endswith((".py", "/LICENSE")) for path in own)
    assert not [path for path in own if "/cli/" in path]
    plain = layer_content(workflow, runtime_folder())
    ours = {path for path in content if path.startswith("python/unum_runtime/asl/jsonata/")}
    assert "python/unum_runtime/asl/jsonata/program.py" in ours
    assert content.keys() - plain.keys() == own.keys() | ours


def test_a_layer_with_jsonata_evaluates_it(tmp_path: Path) -> None:
    definition = {"QueryLanguage": "JSONata", **machine(P={"Type": "Pass", "Output": "{% 1 + 1 %}", "End": True})}
    content = layer_content(compile_workflow(definition, name="Flow", functions=None), runtime_folder())
    code = """
from unum_runtime.asl.languages import program
from unum_runtime.asl.scene import Scene
from unum_runtime.handler import load_workflow
print(program(load_workflow("Flow").states["P"]).leave(1, 1, Scene({}, {}, 0, "")).value)
"""
    assert ran(content, tmp_path, code) == "2\n"


def ran(content: Content, folder: Path, code: str) -> str:
    """What `code` prints where the layer is on the path."""
    for path, data in content.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    environment = {"PYTHONPATH": str(folder / "python"), "PATH": os.environ["PATH"]}
    completed = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return completed.stdout


def test_what_is_left_out_is_not_needed(workflow: Workflow, tmp_path: Path) -> None:
    content = layer_content(workflow, runtime_folder())
    assert ran(content, tmp_path, "import unum_runtime.handler as h; print(h.load_workflow('Flow').name)") == "Flow\n"


def test_all_that_lambda_calls_can_be_loaded(workflow: Workflow, tmp_path: Path) -> None:
    content = layer_content(workflow, runtime_folder())
    code = (
        "import unum_runtime.aws.forwarder as f, unum_runtime.service_function as s; print(f.handle and s.handle and 1)"
    )
    assert ran(content, tmp_path, code) == "1\n"


def test_bytecode_is_used_without_a_look_at_the_sources(workflow: Workflow, tmp_path: Path) -> None:
    content = layer_content(workflow, runtime_folder())
    changed = {path: b"raise AssertionError" if path.endswith("handler.py") else data for path, data in content.items()}
    code = "import unum_runtime.handler as h; print(h.__cached__.endswith('.pyc'), h.handle.__code__.co_filename)"
    own = str(tmp_path / "python" / "unum_runtime" / "handler.py")
    assert ran({**changed, **bytecode(content)}, tmp_path, code) == f"True {own}\n"


def test_the_same_source_makes_the_same_bytecode(workflow: Workflow, runtime: Path) -> None:
    made = [bytecode(layer_content(workflow, folder)) for folder in (runtime_folder(), runtime)]
    assert made[0] == made[1]
    assert f"python/unum_runtime/__pycache__/handler.{sys.implementation.cache_tag}.pyc" in made[0]


LONG = (
    """
def place(far: int = 1, *, near: "Far" = 2) -> Missing:
    wanted: int = far


    def inner(*all: Unknown, **named: Unknown) -> None:
        return [far
                // (near - 2)
                for _ in (1,)]
"""
    + "\n" * 2_000
    + """
    return inner() if wanted else (lambda:
        1)()
"""
)


def test_tracebacks_say_the_lines_of_the_source() -> None:
    known = LONG.replace('"Far"', "0").replace("Missing", "0").replace("Unknown", "0")
    plain, ours = compile(known, "m", "exec"), marshal.loads(compiled(LONG.encode(), "m")[16:])  # noqa: S302 - our own
    assert told(ours) == told(plain)
    assert {2_011, 7} <= {line for line, _ in told(ours)}
    for one, other in list(zip(codes(ours), codes(plain), strict=True))[1:]:
        assert [line for *_, line in spans(one)] == [line for *_, line in spans(other)]


def told(code: CodeType) -> list[tuple[int | None, str]]:
    """Lines and names in the traceback of `place`."""
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own
    with pytest.raises(ZeroDivisionError) as raised:
        names["place"]()
    return [(frame.lineno, frame.name) for frame in traceback.extract_tb(raised.value.__traceback__)[1:]]


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes(const)


def spans(code: CodeType) -> list[tuple[int, int, int | None]]:
    """The lines of instructions, neighbours of the same line put together."""
    found: list[tuple[int, int, int | None]] = []
    for start, end, line in code.co_lines():
        if found and found[-1][2] == line:
            start, _, _ = found.pop()  # noqa: PLW2901 - it goes on
        found.append((start, end, line))
    return found


def test_all_lines_of_the_runtime_stay_and_no_annotations(workflow: Workflow, tmp_path: Path) -> None:
    content = layer_content(workflow, runtime_folder())
    for path in ("step", "run", "advance"):
        source = content[f"python/unum_runtime/protocol/{path}.py"]
        made, plain = marshal.loads(compiled(source, "m")[16:]), compile(source, "m", "exec", optimize=2)  # noqa: S302
        pairs = list(zip(codes(made), codes(plain), strict=True))
        assert len(pairs) > 2
        for ours, theirs in pairs:
            if ours.co_name != "<module>" and ours.co_flags & CO_OPTIMIZED:  # what is defined inside has annotations
                assert spans(ours) == spans(theirs)
            assert all(column is None for *_, column in ours.co_positions())
    code = "from unum_runtime.protocol.step import step; print(step.__annotations__, step.__doc__)"
    assert ran({**content, **bytecode(content)}, tmp_path, code) == "{} None\n"


def test_size(workflow: Workflow) -> None:
    content = layer_content(workflow, runtime_folder())
    assert zipped_kb(content) < SOURCES_KB
    assert zipped_kb({**content, **bytecode(content)}) < LAYER_KB


def zipped_kb(content: Content) -> float:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in content.items():
            archive.writestr(path, data)
    return len(zipped.getvalue()) / 1000


def test_same_on_every_machine(workflow: Workflow, runtime: Path) -> None:
    before = digest(layer_content(workflow, runtime_folder()))
    for file in runtime.rglob("*.py"):
        compiled = file.parent / "__pycache__" / f"{file.stem}.{sys.implementation.cache_tag}.pyc"
        py_compile.compile(str(file), str(compiled))
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
