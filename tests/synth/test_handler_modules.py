"""Modules that functions get: all that their handlers can import, and no others."""

import ast
import os
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_

from tests.architecture.house import DISTRIBUTIONS, PYTHON, modules
from tests.synth.deployment import Deployment, function
from tests.synth.machines import chain, machine, task
from tests.synth.test_layer import DATA_SET, IN_JSONATA, INTRINSIC, KUBERNETES_JOB, MEMOIZED, REGION, SERVICE, facts_of
from tests.synth.test_layer import WAVES as IN_WAVES
from tests.synth.test_layer import workflow_of as flow_of
from tests.unit.layer.test_imports import FORMER_NAMES, imported, module_at, packages_around
from unum_compiler import graph as g
from unum_constructs.layer.bytecode import this_python
from unum_constructs.layer.content import TASK_HANDLERS, runtime_content, runtime_folder
from unum_constructs.layer.features import USED_BY, LayerFacts, unused_folders

OPERATED = (
    *("unum_runtime.control.handle", "unum_runtime.failure_handler.handle", "unum_runtime.aws.forwarder.handle"),
    "unum_runtime.functions.operations.remote_intake.handle",
)
"""Handlers of functions with code of their own."""

WORKFLOWS = {
    "chain": facts_of(g.task("a") >> g.task("b")),
    "wait": LayerFacts(flow_of(Type="Wait", SecondsPath="$.seconds")),
    "intrinsic function": LayerFacts(flow_of(**INTRINSIC)),
    "JSONata": LayerFacts(flow_of(**IN_JSONATA)),
    "service": LayerFacts(flow_of(**SERVICE)),
    "Kubernetes": LayerFacts(flow_of(**KUBERNETES_JOB)),
    "data set": LayerFacts(flow_of(**DATA_SET)),
    "signal": facts_of(g.wait_for("go")),
    "memo": facts_of(g.task("a"), MEMOIZED),
    "region": facts_of(REGION),
    "waves": facts_of(IN_WAVES),
    "events": facts_of(g.task("a"), events=True),
    "bucket": facts_of(g.task("a"), in_bucket=True),
    "traces": facts_of(g.task("a"), traces=["xray", "opentelemetry"]),
}


@cache
def imports_of_modules() -> Mapping[str, frozenset[str]]:
    """Return the paths that each module imports, by its path, according to its syntax tree."""
    paths = {path.relative_to(PYTHON).as_posix(): path for path in modules(DISTRIBUTIONS["unum_runtime"])}
    names = {module_at(path): path for path in paths}
    found = {}
    for path, file in paths.items():
        direct = {names[name] for name in imported(ast.parse(file.read_bytes())) if name in names} - {FORMER_NAMES}
        found[path] = frozenset({path} | direct | packages_around(names, [path, *direct]))
    return found


def reachable(handlers: Collection[str], unused: Collection[str]) -> set[str]:
    """Return the paths of the modules that `handlers` can load, but for those in folders that are `unused`."""
    graph, left_out = imports_of_modules(), tuple(f"unum_runtime/{folder}/" for folder in unused)
    names = {module_at(path): path for path in graph}
    ahead = {names[handler.rpartition(".")[0]] for handler in handlers}
    found: set[str] = set()
    while ahead := {path for path in ahead if not path.startswith(left_out)} - found:
        found |= ahead
        ahead = {each for path in ahead for each in graph[path]}
    return found


@pytest.mark.parametrize("facts", WORKFLOWS.values(), ids=WORKFLOWS)
@pytest.mark.parametrize(
    "handlers", [TASK_HANDLERS, *((each,) for each in OPERATED)], ids=lambda handlers: handlers[0].split(".")[-2]
)
def test_function_gets_what_its_handler_can_import_alone(facts: LayerFacts, handlers: tuple[str, ...]) -> None:
    unused = unused_folders(facts)
    content = runtime_content(unused, runtime_folder(), handlers)
    ours = {path.removeprefix("python/") for path in content if path.startswith("python/unum_runtime/")}
    assert ours == reachable(handlers, unused)


def test_functions_of_tasks_can_load_each_feature() -> None:
    """Their versions then change with the features of the workflow, and so does the failure handler behind them."""
    found = reachable(TASK_HANDLERS, ())
    assert [folder for folder in USED_BY if f"unum_runtime/{folder}/__init__.py" not in found] == []


def test_functions_of_tasks_load_nothing_of_operators() -> None:
    operators = ("unum_runtime/protocol/control/", "unum_runtime/control.py", "unum_runtime/failure_handler.py")
    assert [path for path in reachable(TASK_HANDLERS, ()) if path.startswith(operators)] == []


IMPORTS_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    origin = importlib.import_module(name).__spec__.origin
    print(name, origin)
"""


@pytest.mark.parametrize("python", [this_python(), "python3.13"], ids=["bytecode", "sources"])
def test_each_function_of_a_stack_loads_its_modules_from_its_files(python: str, tmp_path: Path) -> None:
    deployment = Deployment(Stack(App(outdir=str(tmp_path / "out")), "Stack"))
    runtime = lambda_.Runtime(python, lambda_.RuntimeFamily.PYTHON, supports_inline_code=True)
    keys = {key: function(deployment.stack, key, runtime=runtime) for key in "AB"}
    states = machine(
        A=task("A", "W"),
        W={"Type": "Wait", "SecondsPath": "$.seconds", "Next": "S"},
        S={**SERVICE, "Next": "J"},
        J={**IN_JSONATA, "Next": "B"},
        B=task("B"),
    )
    workflow = deployment.flow(states, keys)
    unused, seen = unused_folders(LayerFacts(workflow._workflow)), set()
    template = deployment.template
    deployment.stack.node.root.synth()  # type: ignore[attr-defined]  # writes the assets
    for name, resource in deployment.all("Lambda::Function").items():
        properties = resource["Properties"]
        module = properties["Handler"].rpartition(".")[0]
        expected = sorted(map(module_at, reachable([properties["Handler"]], unused)))
        folders = [*unpacked(properties, template, tmp_path / "out", tmp_path / name)]
        found = run_alone(folders, expected)
        assert module in found
        assert found.keys() == {*expected}
        assert all(origin.startswith(str(tmp_path / name)) for origin in found.values()), found
        seen.add((module, *(folder.name for folder in folders)))
    layered = ("unum_runtime.handler", "task", "opt")
    assert seen == {layered, *((each.rpartition(".")[0], "task") for each in OPERATED[:3])}


def unpacked(properties: Mapping[str, Any], template: Mapping[str, Any], assets: Path, folder: Path) -> Iterator[Path]:
    """Unpack code and layers of a function as Lambda does; yield the folders on Python's path, in its order."""
    task_root = folder / "task"
    task_root.mkdir(parents=True)
    if "ZipFile" in properties["Code"]:
        (task_root / "index.py").write_text(properties["Code"]["ZipFile"])
    else:
        extract(assets, properties["Code"], task_root)
    yield task_root
    for layer in properties.get("Layers", ()):
        extract(assets, template["Resources"][layer["Ref"]]["Properties"]["Content"], folder / "opt")
        yield folder / "opt"


def extract(assets: Path, place: Mapping[str, Any], folder: Path) -> None:
    with zipfile.ZipFile(assets / f"asset.{place['S3Key']}") as archive:
        archive.extractall(folder)


def run_alone(folders: list[Path], names: list[str]) -> dict[str, str]:
    """Import modules in a process that finds these folders first; return the files of the modules."""
    path = os.pathsep.join(str(each / "python" if each.name == "opt" else each) for each in folders)
    environment = {"PYTHONPATH": path, "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", IMPORTS_ALL, *names]
    done = subprocess.run(command, cwd=folders[0], env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_same_code_in_every_folder(tmp_path: Path) -> None:
    assets = []
    for folder in ("one", "two"):
        deployment = Deployment(Stack(App(outdir=str(tmp_path / folder)), "Stack"))
        deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
        codes = (each["Properties"]["Code"] for each in deployment.all("Lambda::Function").values())
        assets.append(sorted(code["S3Key"] for code in codes if "S3Key" in code))
    assert assets[0] == assets[1]
    assert len({*assets[0]}) == len(OPERATED[:2])
