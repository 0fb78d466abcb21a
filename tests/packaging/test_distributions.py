"""The distributions, as users have them: built, installed into fresh environments, and used from there."""

import configparser
import json
import re
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import readme
from tests.packaging.environments import EVERY, PROJECTS, WITHOUT_CDK, environment, run, uv

BESIDES = {"unum_runtime": ("unum_stepfunctions", "unum_task_responses")}
"""Further packages of a distribution."""

ENTRY_POINTS = {"unum_cli": ["unum"], "unum_compiler": ["unum-workflows"], "unum_simulator": ["unum"]}
"""Commands and pytest plugins of distributions that have some."""

OPTIONAL = {
    "unum_cli": {"jinja2", "libcst", "starlette", "uvicorn"},
    "unum_compiler": {"aws_cdk", "jsii", "jsonata", "pytest"},
    "unum_constructs": {"pytest", "syrupy"},
    "unum_runtime": {"boto3", "botocore", "jsonata", "opentelemetry"},
    "unum_simulator": {"pytest"},
}
"""Packages that modules of a distribution import, and that it does not require: extras, pytest,
what Lambda has, and the CDK for objects that it has built."""

IMPORT_ALL = """
import importlib, importlib.metadata as m, sys
for path in m.distribution(sys.argv[1]).files:
    if path.suffix == ".py" and "template" not in path.parts and path.stem != "__main__":
        parts = path.with_suffix("").parts
        try:
            importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        except ModuleNotFoundError as error:
            print(error.name.partition(".")[0])
"""
"""Program that imports all modules of a distribution, and prints the packages that are missing."""

MINUTE_S = 60

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(20 * MINUTE_S)]


@pytest.fixture(scope="session")
def installed(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python in an environment that has the wheels and what they require."""
    return environment(tmp_path_factory.mktemp("installed"), sys.executable, *wheels(distributions, "client"))


def test_there_is_a_wheel_and_an_archive_of_each(distributions: Path) -> None:
    kinds = {name: sorted(path.suffix for path in distributions.glob(f"{name}-*")) for name in EVERY}
    assert all(each == [".gz", ".whl"] for each in kinds.values())


def test_wheels_have_their_packages_and_nothing_else(distributions: Path) -> None:
    for path in distributions.glob("*.whl"):
        package = path.name.partition("-")[0]
        names = zipfile.ZipFile(path).namelist()
        packages = {package, *BESIDES.get(package, ())}
        assert {f"{each}/py.typed" for each in packages} <= {*names}
        assert {name.split("/")[0] for name in names} == {*packages, f"{package}-0.1.0.dist-info"}
        assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_commands_belong_to_the_wheel_that_has_their_code(distributions: Path) -> None:
    """Otherwise an installation of that wheel alone has a command that cannot run."""
    found = {}
    for path in distributions.glob("*.whl"):
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
            text = "".join(wheel.read(name).decode() for name in names if name.endswith("/entry_points.txt"))
        entries = configparser.ConfigParser()
        entries.read_string(text)
        scripts = entries["console_scripts"] if entries.has_section("console_scripts") else {}
        for command, target in scripts.items():
            module = target.partition(":")[0].replace(".", "/")
            assert f"{module}.py" in names, f"{path.name}: {command} = {target}"
            found[command] = path.name.partition("-")[0]
    assert found["unum"] == "unum_cli"


@pytest.mark.parametrize("name", EVERY)
def test_wheel_alone_imports_with_what_it_requires(name: str, distributions: Path, tmp_path: Path) -> None:
    (wheel,) = distributions.glob(f"{name}-*.whl")
    python = environment(tmp_path, sys.executable, "--find-links", str(distributions), str(wheel))
    assert set(run(python, "-c", IMPORT_ALL, name, cwd=tmp_path).split()) <= OPTIONAL.get(name, set())


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_entry_points_belong_to_the_wheel_with_their_code(name: str, distributions: Path, tmp_path: Path) -> None:
    (wheel,) = distributions.glob(f"{name}-*.whl")
    python = environment(tmp_path, sys.executable, "--find-links", str(distributions), str(wheel))
    code = (
        "import importlib.metadata as m, importlib.util as u, sys; "
        "print(*[each.name for each in m.distribution(sys.argv[1]).entry_points if u.find_spec(each.module)])"
    )
    assert run(python, "-c", code, name, cwd=tmp_path).split() == ENTRY_POINTS[name]


def test_the_runtime_needs_nothing_else(distributions: Path, tmp_path: Path) -> None:
    python = environment(tmp_path, sys.executable, *map(str, distributions.glob("unum_runtime-*.whl")))
    code = (
        "import unum_runtime.functions.task_function, importlib.metadata as m; "
        "print(*[each.name for each in m.distributions()])"
    )
    assert run(python, "-c", code, cwd=tmp_path).split() == ["unum-runtime"]


def test_client_needs_neither_cdk_nor_simulator(distributions: Path, tmp_path: Path) -> None:
    """`unum_runtime.client` and `unum-runtime[client]` are its former names."""
    (runtime,) = distributions.glob("unum_runtime-*.whl")
    python = environment(tmp_path, sys.executable, "--find-links", str(distributions), f"{runtime}[client]")
    code = (
        "import unum_runtime.client, importlib.util as u; "
        "print(unum_runtime.client.__name__, *map(u.find_spec, ('aws_cdk', 'unum_constructs', 'unum_simulator')))"
    )
    assert run(python, "-c", code, cwd=tmp_path) == "unum_client None None None\n"


def test_the_command_needs_no_cdk(distributions: Path, tmp_path: Path) -> None:
    """`pip install unum-cli` gives operators what they need, without the constructs and their 200 MB of CDK."""
    needed = [path for name in WITHOUT_CDK for path in distributions.glob(f"{name}-*.whl")]
    python = environment(tmp_path, sys.executable, *map(str, needed))
    code = (
        "from importlib.util import find_spec as f; print(f('aws_cdk'), f('unum_constructs'), f('boto3') is not None)"
    )
    assert run(python, "-c", code, cwd=tmp_path) == "None None True\n"
    assert "why" in run(python.parent / "unum", "--help", cwd=tmp_path)
    failed = run(python.parent / "unum", "why", "e", "--stack", "S", "--region", "us-east-1", cwd=tmp_path, check=False)
    assert "Traceback" not in failed
    definition = tmp_path / "flow.json"
    definition.write_text('{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}')
    assert json.loads(run(python.parent / "unum", "compile", str(definition), cwd=tmp_path))["name"] == "flow"


def test_the_command_has_the_page_with_all_its_files(distributions: Path, tmp_path: Path) -> None:
    wheels = {name: str(next(distributions.glob(f"{name}-*.whl"))) for name in WITHOUT_CDK}
    wheels["unum_cli"] += "[ui]"
    python = environment(tmp_path, sys.executable, *wheels.values())
    code = (
        "from unum_cli.ui.page_server import asset; from unum_cli.ui.site import _TEMPLATES; "
        "names = ('page.css', 'live.js', 'graph.js', 'dagre.js', 'icon.svg'); "
        "print(*[asset(each).stat().st_size > 0 for each in names]); "
        "print(*[bool(_TEMPLATES.get_template(each)) for each in _TEMPLATES.list_templates()])"
    )
    shown = run(python, "-c", code, cwd=tmp_path).split()
    assert len(shown) > 10
    assert set(shown) == {"True"}


def test_the_constructs_need_no_command(distributions: Path, tmp_path: Path) -> None:
    needed = [path for name in PROJECTS if name != "unum_cli" for path in distributions.glob(f"{name}-*.whl")]
    python = environment(tmp_path, sys.executable, *map(str, needed))
    code = "import unum_constructs as c, importlib.util as u; print(c.UnumWorkflow.__name__, u.find_spec('unum_cli'))"
    assert run(python, "-c", code, cwd=tmp_path) == "UnumWorkflow None\n"


def test_the_readme_synthesizes(installed: Path, tmp_path: Path) -> None:
    template = synthesized(installed, tmp_path, validation="true")
    types = {each["Type"] for each in template["Resources"].values()}
    assert {"AWS::DynamoDB::Table", "AWS::Lambda::LayerVersion", "AWS::Lambda::Alias"} <= types
    report = json.loads((tmp_path / "cdk.out" / "validation-report.json").read_text())  # the CDK's validator wrote it
    assert report["pluginReports"] == []


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_other_pythons_synthesize_the_same(version: str, installed: Path, distributions: Path, tmp_path: Path) -> None:
    """Layer hash and function versions included."""
    found = uv("python", "find", "--no-python-downloads", version, check=False).strip()
    if not found:
        pytest.skip(f"Python {version} is not there")
    other = environment(tmp_path / "environment", found, *wheels(distributions))
    assert synthesized(other, tmp_path / "other") == synthesized(installed, tmp_path / "this")


@pytest.mark.e2e
def test_the_readme_deploys(installed: Path, tmp_path: Path) -> None:
    readme.write_files(tmp_path)
    commands = f"set -e\nunset PYTHONPATH\nPATH={installed.parent}:$PATH\n{readme.commands()}"
    shown = run(Path(sys.executable), "-m", "unum_emulator.shell", "sh", "-c", commands, cwd=tmp_path, path=True)
    assert re.search(r'"lines": 2,\s+"cents": 130', shown), shown


def wheels(distributions: Path, *extras: str) -> list[str]:
    """Requirements for all wheels."""
    suffix = f"[{','.join(extras)}]" if extras else ""
    return [
        f"{path}{suffix if name == 'unum_constructs' else ''}"
        for name in PROJECTS
        for path in distributions.glob(f"{name}-*.whl")
    ]


def synthesized(python: Path, folder: Path, validation: str = "false") -> Mapping[str, Any]:
    """The template of README's stack."""
    folder.mkdir(exist_ok=True)
    readme.write_files(folder)
    run(python, "app.py", cwd=folder, CDK_OUTDIR=str(folder / "cdk.out"), CDK_VALIDATION=validation)
    template: Mapping[str, Any] = json.loads((folder / "cdk.out" / "Shop.template.json").read_text())
    return template
