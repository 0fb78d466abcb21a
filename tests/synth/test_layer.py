"""The layer: the runtime and the IR, the same bytes everywhere."""

import ast
import io
import marshal
import os
import py_compile
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from inspect import CO_OPTIMIZED
from itertools import groupby
from pathlib import Path, PurePosixPath
from types import CodeType
from typing import Any

import pytest
from aws_cdk import App, Stack

from tests import pythons
from tests.synth.machines import chain, machine
from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_constructs.layer import interpreters
from unum_constructs.layer.bytecode import this_python
from unum_constructs.layer.content import (
    TASK_HANDLERS,
    Content,
    compilable_modules,
    deployed_files,
    digest,
    layer_content,
    runtime_content,
    runtime_folder,
)
from unum_constructs.layer.features import USED_BY, LayerFacts, unused_by_own_functions, unused_folders
from unum_constructs.layer.interpreters import FOLDERS
from unum_constructs.layer.strip import strip_source
from unum_constructs.layer.workflow_layer import RuntimeLayer
from unum_runtime.model import ir
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER

FORWARDER = "unum_runtime.aws.forwarder.handle"
SOURCES_KB, LAYER_KB, SERVICES_KB, JSONATA_KB = 162, 235, 270, 353
"""Budgets for the layer of a small workflow, zipped: of sources, of bytecode, of that where Tasks request services, and
of that in JSONata."""

OWN_KB = {"unum_runtime.control.handle": 376, "unum_runtime.failure_handler.handle": 358, FORWARDER: 73}
"""Budgets for the code of the functions that a workflow makes for itself, by their handlers."""

PYTHON = str(this_python())
PARQUET = Path(__file__).parents[1] / "unit" / "items" / "parquet" / "files" / "snappy.parquet"
SOURCES = "sources"

SERVICE = {"Type": "Task", "Resource": "arn:aws:states:::sns:publish", "Parameters": {"TopicArn": "a", "Message": "m"}}
IN_JSONATA = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": 1}
LONG_WAIT = {"Type": "Wait", "SecondsPath": "$.seconds"}
RETRIED = {"Type": "Task", "Resource": "A", "Retry": [{"ErrorEquals": ["States.ALL"]}]}
CLUSTER = {"ClusterName": "c", "CertificateAuthority": "a", "Endpoint": "e"}
KUBERNETES_JOB = {
    "Type": "Task",
    "Resource": "arn:aws:states:::eks:runJob.sync",
    "Parameters": {**CLUSTER, "Job": {}},
}
DATA_SET = {
    "Type": "Map",
    "ItemReader": {
        "Resource": "arn:aws:states:::s3:getObject",
        "Parameters": {"Bucket": "b", "Key": "k"},
        "ReaderConfig": {"InputType": "JSON"},
    },
    "ItemProcessor": {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}},
}
INTRINSIC = {"Type": "Pass", "Parameters": {"said.$": "States.Format('{}', $.name)"}}


@pytest.fixture
def workflow() -> Workflow:
    return compile_workflow(chain("A"), name="Flow", functions=None)


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """A copy of the runtime to change."""
    return Path(shutil.copytree(runtime_folder(), tmp_path / "unum_runtime"))


def test_content(workflow: Workflow) -> None:
    content = layer_content(LayerFacts(workflow), runtime_folder())
    assert Workflow.from_json(content[f"python/{WORKFLOWS_FOLDER}/Flow.json"].decode()).digest == workflow.digest
    assert "python/unum_runtime/handler.py" in content
    assert "python/unum_runtime/__init__.py" in content
    assert all(path.endswith((".py", ".json")) for path in content)
    assert {Path(path).parts[1] for path in content} == {"unum_runtime", WORKFLOWS_FOLDER}


def test_jsonata_is_there_where_a_state_is_in_it(workflow: Workflow) -> None:
    definition = {"QueryLanguage": "JSONata", **machine(P={"Type": "Pass", "Output": "{% 1 %}", "End": True})}
    content = layer_content(LayerFacts(compile_workflow(definition, name="Flow", functions=None)), runtime_folder())
    own = {path: len(data) for path, data in content.items() if "jsonata" in Path(path).parts[1]}
    assert "python/jsonata/jsonata.py" in own
    assert [path for path in own if path.endswith("/LICENSE")]
    assert all(path.endswith((".py", "/LICENSE")) for path in own)
    assert not [path for path in own if "/cli/" in path]
    plain = layer_content(LayerFacts(workflow), runtime_folder())
    ours, others = modules_in(content, "asl/jsonata/"), modules_in(plain, "asl/jsonpath/")
    assert "python/unum_runtime/asl/jsonata/jsonata_program.py" in ours
    assert "python/unum_runtime/asl/jsonpath/jsonpath_program.py" in others
    assert content.keys() - plain.keys() == own.keys() | ours
    assert plain.keys() - content.keys() == others


def test_a_workflow_may_be_in_both_languages() -> None:
    states = {"P": {"Type": "Pass", "Next": "Q"}, "Q": {**IN_JSONATA, "End": True}}
    definition = machine(**states)  # type: ignore[arg-type]  # by name
    content = layer_content(LayerFacts(compile_workflow(definition, name="Flow", functions=None)), runtime_folder())
    assert modules_in(content, "asl/jsonata/") == modules_in(layer_of(**IN_JSONATA), "asl/jsonata/")
    assert modules_in(content, "asl/jsonpath/") == modules_in(layer_of(Type="Pass"), "asl/jsonpath/")


def made(content: Content, python: str = PYTHON) -> Content:
    """Return the deployed files of `content`: bytecode for functions with this Python, or all sources."""
    return deployed_files(
        content, {} if python == SOURCES else interpreters.compile_modules(compilable_modules(content), python)
    )


@pytest.mark.parametrize("python", [PYTHON, SOURCES])
def test_a_layer_with_jsonata_evaluates_it(python: str, tmp_path: Path) -> None:
    definition = {"QueryLanguage": "JSONata", **machine(P={"Type": "Pass", "Output": "{% 1 + 1 %}", "End": True})}
    content = layer_content(LayerFacts(compile_workflow(definition, name="Flow", functions=None)), runtime_folder())
    code = """
from unum_runtime.asl.languages import program
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.functions.task_function import load_workflow
print(program(load_workflow("Flow").states["P"]).output(1, 1, ExpressionContext({}, {}, 0, "")).value)
"""
    assert ran(made(content, python), tmp_path, code) == "2\n"


@pytest.mark.parametrize("python", pythons.PYTHONS)
def test_what_an_interpreter_makes_runs_under_it(python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All modules load, except botocore's users where that interpreter lacks botocore."""
    executable = pythons.installed(python)
    monkeypatch.setenv(FOLDERS, str(executable.parent))
    sources = {**layer_of(**INTRINSIC), **layer_of(**IN_JSONATA)}
    content = made(sources, python)
    modules = [module_name(path.removeprefix("/opt/")) for path in compilable_modules(sources)]
    code = f"""
from importlib import import_module
loaded = []
for module in {modules}:
    try: loaded.append(import_module(module))
    except ModuleNotFoundError as error: assert error.name.startswith("botocore"), error
name = import_module("unum_runtime.functions.task_function").load_workflow("Flow").name
print(len(loaded), *{{each.__spec__.origin[-4:] for each in loaded}}, name)
"""
    loaded, suffix, name = ran(content, tmp_path, code, "-S", executable=str(executable)).split()
    assert (suffix, name) == (".pyc", "Flow")
    assert 100 < int(loaded) <= len(modules)


def layer_of(**state: Any) -> Content:
    """The sources in the layer of a workflow of one state."""
    return layer_content(LayerFacts(workflow_of(**state)), runtime_folder())


def workflow_of(**state: Any) -> Workflow:
    return compile_workflow(machine(S={**state, "End": True}), name="Flow", functions=None)


def modules_in(content: Content, *folders: str) -> set[str]:
    return {path for path in content if any(path.startswith(f"python/unum_runtime/{folder}") for folder in folders)}


INTRINSICS, SERVICES = ("asl/jsonpath/intrinsics/",), ("features/services/", "service_function/")


@pytest.mark.parametrize(("state", "folders"), [(SERVICE, SERVICES), (INTRINSIC, INTRINSICS)])
def test_what_only_some_workflows_need_is_there_for_these(state: Any, folders: tuple[str, ...]) -> None:
    with_it, without = layer_of(**state), layer_of(Type="Pass", Parameters={"States.": "States (", "at.$": "$.a"})
    assert with_it.keys() - without.keys() >= modules_in(with_it, *folders)
    assert all(modules_in(with_it, folder) for folder in folders)


NONE: Mapping[str, FunctionOptions] = {}
MEMOIZED = {"a": FunctionOptions(memoize=True)}
WAVES = g.map(g.task("a") >> g.task("b").after_previous("a"), items=g.out)
REGION = g.dag({"a": g.task("a"), "b": g.task("b").after("a")})


def facts_of(flow: Any, functions: Mapping[str, FunctionOptions] = NONE, **facts: Any) -> LayerFacts:
    return LayerFacts(Definition.from_graph(flow).compile("Flow", None, functions), **facts)


@pytest.mark.parametrize(
    ("facts", "folders"),
    [
        (facts_of(g.task("a")), ()),
        (facts_of(REGION), ("features/regions",)),
        (facts_of(WAVES), ("features/waves",)),
        (facts_of(g.wait_for("go")), ("features/services", "features/signals", "features/task_tokens")),
        (facts_of(g.task("a"), MEMOIZED), ("features/memo", "features/timers")),
        (LayerFacts(workflow_of(**SERVICE)), ("features/services",)),
        (LayerFacts(workflow_of(**KUBERNETES_JOB)), ("features/kubernetes", "features/services", "features/timers")),
        (LayerFacts(workflow_of(**LONG_WAIT)), ("features/timers",)),
        (LayerFacts(workflow_of(**RETRIED)), ("features/timers",)),
        (facts_of(g.task("a"), keeps_timer=True), ("features/timers",)),
        (LayerFacts(replace(workflow_of(Type="Pass"), collection=ir.Collection.EAGER)), ("features/eager_collection",)),
        (
            LayerFacts(workflow_of(**DATA_SET)),
            ("features/data_sets", "features/data_sets/parquet", "features/services"),
        ),
        (facts_of(g.task("a"), events=True), ("features/status_events",)),
        (facts_of(g.task("a"), in_bucket=True), ("features/bucket_state", "features/document_stores")),
        (facts_of(g.task("a"), traces=["xray"]), ("features/traces", "features/traces/xray")),
        (facts_of(g.task("a"), traces=["opentelemetry"]), ("features/traces", "features/traces/opentelemetry")),
    ],
)
def test_layer_has_the_features_of_its_workflow_alone(facts: LayerFacts, folders: tuple[str, ...]) -> None:
    content = layer_content(facts, runtime_folder())
    there = {str(PurePosixPath(path).parent).removeprefix("python/unum_runtime/") for path in content}
    assert {folder for folder in there if folder.startswith("features/")} == {*folders}


def test_each_feature_has_a_condition() -> None:
    features = runtime_folder() / "features"
    folders = {path.parent.relative_to(features).parts[0] for path in features.rglob("*/*.py")}
    assert {f"features/{folder}" for folder in folders} == {
        each for each in USED_BY if each.count("/") == 1
    } - LANGUAGES
    assert all((runtime_folder() / folder / "__init__.py").is_file() for folder in USED_BY)


LANGUAGES = {"asl/jsonata", "asl/jsonpath"}


@pytest.mark.parametrize("state", [{"Type": "Pass"}, IN_JSONATA])
def test_layer_has_all_modules_that_loading_its_modules_imports(state: Any) -> None:
    content = layer_of(**state)
    there = {module_name(path) for path in content}
    sources = (data for path, data in content.items() if path.endswith(".py"))
    assert {name for data in sources for name in imported(data, on_demand=False)} - there == set()


def module_name(path: str) -> str:
    parts = Path(path).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source: bytes, *, on_demand: bool = True) -> set[str]:
    """Return the modules of ours that `source` imports; without `on_demand` those that loading it always imports."""
    found = set()
    for node in walk(ast.parse(source), on_demand=on_demand):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = str(node.module)
            inner = {f"{module}.{each.name}" for each in node.names}
            found |= {name for name in inner if find_spec(name)} if is_package(module) else {module}
    return {name for name in found if name.startswith("unum_runtime")}


def walk(node: ast.AST, *, on_demand: bool) -> Iterator[ast.AST]:
    """Yield `node` and all inside of it; without `on_demand` not the bodies of functions and conditions."""
    yield node
    if on_demand or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.If):
        for each in ast.iter_child_nodes(node):
            yield from walk(each, on_demand=on_demand)


def is_package(module: str) -> bool:
    spec = find_spec(module) if module.startswith("unum_runtime") else None
    return spec is not None and spec.submodule_search_locations is not None


def ran(content: Content, folder: Path, code: str, *options: str, executable: str = sys.executable) -> str:
    """Return the output of `code` with the layer on the path."""
    for path, data in content.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    environment = {"PYTHONPATH": str(folder / "python"), "PATH": os.environ["PATH"]}
    completed = subprocess.run(  # noqa: S603 - ours
        [executable, *options, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return completed.stdout


def test_what_is_left_out_is_not_needed(workflow: Workflow, tmp_path: Path) -> None:
    content = layer_content(LayerFacts(workflow), runtime_folder())
    assert (
        ran(content, tmp_path, "import unum_runtime.functions.task_function as h; print(h.load_workflow('Flow').name)")
        == "Flow\n"
    )


@pytest.mark.parametrize("python", [PYTHON, SOURCES])
def test_all_that_lambda_calls_can_be_loaded(python: str, tmp_path: Path) -> None:
    content = made(layer_of(**SERVICE), python)
    names = [handler.rpartition(".")[0] for handler in TASK_HANDLERS]
    code = f"from importlib import import_module as m; print([m(n).handle.__name__ for n in {names}])"
    assert ran(content, tmp_path, code) == "['handle', 'handle']\n"


def test_bytecode_takes_the_place_of_sources(workflow: Workflow, tmp_path: Path) -> None:
    content = made(layer_content(LayerFacts(workflow), runtime_folder()))
    assert not [path for path in content if path.endswith(".py")]
    code = "import unum_runtime.functions.task_function as h; print(h.__spec__.origin, h.handle.__code__.co_filename)"
    own = str(tmp_path / "python" / "unum_runtime" / "functions" / "task_function.pyc")
    assert ran(content, tmp_path, code) == f"{own} /opt/python/unum_runtime/functions/task_function.py\n"


def test_modules_are_in_one_file(workflow: Workflow) -> None:
    content = made(layer_of(**IN_JSONATA))
    names = sorted(Path(path).name for path in content if not path.endswith((".bundle", "/LICENSE")))
    assert names == ["Flow.json", "__init__.pyc", "__init__.pyc", "bundle.pyc"]
    (path,) = bundles(content)
    assert path not in bundles(made(layer_content(LayerFacts(workflow), runtime_folder())))


def bundles(content: Content) -> list[str]:
    return [path for path in content if path.endswith(".bundle")]


@pytest.mark.parametrize("order", [1, -1])
def test_a_function_may_have_the_layers_of_two_workflows(order: int, tmp_path: Path) -> None:
    """Lambda merges layers into one folder, so each supplies the other's missing modules."""
    both = [made(layer_of(**state)) for state in (INTRINSIC, IN_JSONATA)][::order]
    content = {**both[0], **both[1]}
    assert len(bundles(content)) == 2
    modules = [
        "unum_runtime.asl.jsonpath.intrinsics",
        "unum_runtime.asl.jsonata.jsonata_program",
        "unum_runtime.functions.task_function",
    ]
    code = f"from importlib import import_module as m; print(all(m(name) for name in {modules}))"
    assert ran(content, tmp_path, code) == "True\n"


def test_two_layers_of_the_same_modules_have_the_same_bundle() -> None:
    one, other = made(layer_of(Type="Pass")), made(layer_of(Type="Pass", Result=1))
    assert bundles(one) == bundles(other)
    assert one != other


def test_a_package_of_the_functions_own_comes_before_that_of_the_layer(tmp_path: Path) -> None:
    own = {"python/jsonata/__init__.py": b"own = True"}
    content = {**made(layer_of(**IN_JSONATA)), **own}
    assert ran(content, tmp_path, "import unum_runtime, jsonata; print(jsonata.own)") == "True\n"


def test_tracebacks_of_a_layer_say_where_in_the_sources(workflow: Workflow, tmp_path: Path) -> None:
    content = made(layer_content(LayerFacts(workflow), runtime_folder()))
    code = """
import traceback, unum_runtime.functions.definitions as h
try: h.load_workflow("None")
except FileNotFoundError as error: print(*traceback.extract_tb(error.__traceback__)[-1][:3])
"""
    path, line, name = ran(content, tmp_path, code).split()
    source = runtime_folder() / Path(path).relative_to("/opt/python/unum_runtime")
    assert source.read_text().splitlines()[int(line) - 1].strip().startswith("raise FileNotFoundError")
    assert name == "load_workflow"


def test_without_bytecode_there_are_sources(workflow: Workflow) -> None:
    content = layer_content(LayerFacts(workflow), runtime_folder())
    expected = {path: strip_source(data) if path.endswith(".py") else data for path, data in content.items()}
    assert made(content, SOURCES) == expected


def test_the_same_source_makes_the_same_bytecode(workflow: Workflow, runtime: Path) -> None:
    assert made(layer_content(LayerFacts(workflow), runtime_folder())) == made(
        layer_content(LayerFacts(workflow), runtime)
    )


def compiled(source: bytes) -> CodeType:
    """The code of `source` as layers have it."""
    (data,) = interpreters.compile_modules({"m": source}, PYTHON).values()
    return marshal.loads(data[16:])  # noqa: S302 - our own


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes(const)


def lines(code: CodeType) -> list[int | None]:
    """The lines of instructions, each once in a row."""
    return [line for line, _ in groupby(line for *_, line in code.co_lines())]


def test_bytecode_keeps_lines_and_drops_columns_annotations_and_docstrings(workflow: Workflow, tmp_path: Path) -> None:
    content = layer_content(LayerFacts(workflow), runtime_folder())
    for path in ("delivery/deliver", "delivery/run_task", "planning/advance"):
        source = content[f"python/unum_runtime/protocol/{path}.py"]
        pairs = list(zip(codes(compiled(source)), codes(compile(source, "m", "exec", optimize=2)), strict=True))
        assert len(pairs) > 2
        for ours, theirs in pairs:
            if ours.co_name != "<module>" and ours.co_flags & CO_OPTIMIZED:  # inner definitions have annotations
                assert lines(ours) == lines(theirs)
            assert all(column is None for *_, column in ours.co_positions())
    code = "from unum_runtime.protocol.delivery.deliver import step; print(step.__annotations__, step.__doc__)"
    assert ran(made(content), tmp_path, code) == "{} None\n"


@pytest.mark.parametrize("python", [PYTHON, SOURCES])
def test_a_layer_with_a_data_set_reads_parquet(python: str, tmp_path: Path) -> None:
    reader = {
        "Resource": "arn:aws:states:::s3:getObject",
        "Parameters": {"Bucket": "b", "Key": "k"},
        "ReaderConfig": {"InputType": "PARQUET"},
    }
    inner = {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
    content = layer_of(Type="Map", ItemReader=reader, ItemProcessor=inner)
    code = f"""
from unum_runtime.features.data_sets.config import ReaderConfig
from unum_runtime.features.data_sets.formats import items
print(len([*items(open({str(PARQUET)!r}, "rb"), ReaderConfig(format="PARQUET"))]))
"""
    assert ran(made(content, python), tmp_path, code) == "25\n"


def test_size(workflow: Workflow) -> None:
    content = layer_content(LayerFacts(workflow), runtime_folder())
    assert zipped_kb(made(content, SOURCES)) < SOURCES_KB
    assert zipped_kb(made(content)) < LAYER_KB
    assert zipped_kb(made(layer_of(**SERVICE))) < SERVICES_KB
    assert zipped_kb(made(layer_of(**IN_JSONATA))) < JSONATA_KB


@pytest.mark.parametrize("handler", OWN_KB)
def test_size_of_code_without_layer(workflow: Workflow, handler: str) -> None:
    content = runtime_content(unused_by_own_functions(LayerFacts(workflow)), runtime_folder(), [handler])
    assert zipped_kb(made(content)) < OWN_KB[handler]


def test_own_function_plans_by_earlier_definitions_of_all_kinds(workflow: Workflow) -> None:
    everything = runtime_content((), runtime_folder(), [handler for handler in OWN_KB if handler != FORWARDER])
    protocol = (everything[path] for path in modules_in(everything, "protocol/"))
    needed = {".".join(name.split(".")[1:3]) for source in protocol for name in imported(source)}
    unused = {folder.replace("/", ".") for folder in unused_by_own_functions(LayerFacts(workflow))}
    assert needed & unused == {"features.status_events"}, "which the bus of the deployed workflow decides"


def zipped_kb(content: Content) -> float:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in content.items():
            archive.writestr(path, data)
    return len(zipped.getvalue()) / 1000


def test_same_on_every_machine(workflow: Workflow, runtime: Path) -> None:
    before = digest(made(layer_content(LayerFacts(workflow), runtime_folder())), PYTHON)
    for file in runtime.rglob("*.py"):
        compiled = file.parent / "__pycache__" / f"{file.stem}.{sys.implementation.cache_tag}.pyc"
        py_compile.compile(str(file), str(compiled))
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        file.chmod(0o700)
        os.utime(file, (1, 1))
    (runtime / "py.typed").touch()
    (runtime / "model" / ".hidden").write_text("left by an editor")
    assert list(runtime.rglob("__pycache__"))
    assert digest(made(layer_content(LayerFacts(workflow), runtime)), PYTHON) == before


def test_every_byte_counts(workflow: Workflow, runtime: Path) -> None:
    before = digest(made(layer_content(LayerFacts(workflow), runtime)), PYTHON)
    other = compile_workflow(chain("B"), name="Flow", functions=None)
    assert digest(made(layer_content(LayerFacts(other), runtime)), PYTHON) != before
    assert digest(made(layer_content(LayerFacts(workflow), runtime)), "python3.99") != before
    (runtime / "handler.py").write_text("changed = True\n")
    assert digest(made(layer_content(LayerFacts(workflow), runtime)), PYTHON) != before


def test_moving_bytes_between_files_counts() -> None:
    assert digest({"a": b"xy", "b": b""}, PYTHON) != digest({"a": b"x", "b": b"y"}, PYTHON)


def test_same_asset_in_every_folder(workflow: Workflow, tmp_path: Path) -> None:
    assets = []
    for outdir in ("one", "two"):
        app = App(outdir=str(tmp_path / outdir))
        stack = Stack(app, "Stack")
        RuntimeLayer.of(stack, PYTHON, unused_folders(LayerFacts(workflow)))
        app.synth()
        assets.append({path.name for path in (tmp_path / outdir).glob("asset.*")})
    assert assets[0] == assets[1] != set()
