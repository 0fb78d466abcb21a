"""Files of `unum init`, and its refusals."""

import ast
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from unum_cli.main import main
from unum_cli.project.dev_session import LogLines, scan


def test_names_follow_from_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "my-2nd_shop")]) == 0
    written = tmp_path / "my-2nd_shop"
    files = {str(path.relative_to(written)): path.read_text() for path in written.rglob("*") if path.is_file()}
    assert {"app.py", "Makefile", ".gitignore", "functions/orders.py", "tests/test_workflow.py"} <= files.keys()
    assert f"{len(files)} files" in capsys.readouterr().out
    assert not [
        name for name, text in files.items() if "ProjectName" in text or "project-name" in text or "VERSION" in text
    ]
    assert "class My2ndShopStack(Stack)" in files["app.py"]
    assert "unum-emulator==0.1.0" in files["requirements-emulator.txt"]


def test_with_json_it_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "shop"), "--json"]) == 0
    files = sum(path.is_file() for path in (tmp_path / "shop").rglob("*"))
    assert json.loads(capsys.readouterr().out) == {"folder": str(tmp_path / "shop"), "stack": "Shop", "files": files}


def test_an_empty_folder_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    assert main(["init", "."]) == 0
    assert "class ShopStack(Stack)" in Path("app.py").read_text()
    assert "  cd " not in capsys.readouterr().out


def test_a_folder_with_files_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "note.txt").write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "expected a new or empty folder, found note.txt; nothing was written" in capsys.readouterr().err
    (tmp_path / "other.txt").write_text("mine, too")
    assert main(["init", str(tmp_path)]) == 2
    assert "found note.txt and 1 more; nothing was written" in capsys.readouterr().err
    (tmp_path / "other.txt").unlink()
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_an_empty_repository_is_taken(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    assert main(["init", str(tmp_path / "shop")]) == 0
    assert (tmp_path / "shop" / "app.py").exists()


@pytest.mark.parametrize("name", ["App", "Stack", "construct", "definition", "None", "class", "UnumWorkflow", "code"])
def test_a_folder_named_like_what_the_app_uses(name: str, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / name)]) == 0
    for path in (tmp_path / name).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        made = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        imported = {each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names}
        assert not made & imported


@pytest.mark.parametrize("name", ["VERSION", "project-name", "ProjectName", 'say "shop"', "it's", "a\\nb", "$HOME"])
def test_a_folder_with_a_name_that_files_could_misread(name: str, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / name)]) == 0
    assert (tmp_path / name / "README.md").read_text(encoding="utf-8").startswith(f"# {name}\n")
    assert "devDependencies" in json.loads((tmp_path / name / "package.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("shop" * 33, "at most 128"), ("shop" * 100, "at most 128"), ("my\nshop", "printable"), ("s\udcff", "printable")],
)
def test_a_folder_with_a_name_that_is_refused(
    name: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / name)]) == 2
    assert expected in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_the_next_commands_begin_with_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "my shop")]) == 0
    assert f"  cd '{tmp_path / 'my shop'}'\n" in capsys.readouterr().out


def test_a_current_folder_that_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["init", "shop"]) == 2
    assert "shop: No such file or directory" in capsys.readouterr().err


OLD_PYTHON = """#!{python}
import collections, sys
sys.version_info, sys.version = (3, 10, 4), "3.10.4 (main)"
exec(sys.argv[2])
"""


def test_an_old_python_is_refused_before_anything_is_installed(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "shop")]) == 0
    old = tmp_path / "old-python"
    old.write_text(OLD_PYTHON.format(python=sys.executable))
    old.chmod(0o700)
    done = make(tmp_path / "shop", "test", f"PYTHON={old}")
    assert done.returncode == 2
    assert "Python 3.11 or newer is needed" in done.stderr
    assert "is 3.10.4: make PYTHON=python3.11 test" in done.stderr
    assert not (tmp_path / "shop" / ".venv").exists()


def test_a_failed_installation_from_npm_is_repeated(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "shop")]) == 0
    missing = make(tmp_path / "shop", "node_modules/.ready", path=tmp_path)
    assert "npm: not found; install Node.js 20 or newer" in missing.stderr
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\nmkdir -p node_modules\necho tried\nexit 1\n")
    npm.chmod(0o700)
    for _ in range(2):
        failed = make(tmp_path / "shop", "node_modules/.ready", path=tmp_path)
        assert failed.returncode == 2
        assert "tried" in failed.stdout


def make(project: Path, *arguments: str, path: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run make in `project`, with `path` in place of the directory of npm."""
    program = shutil.which("make")
    assert program
    if path is not None:
        for name in ("sh", "mkdir", "touch"):
            (path / name).unlink(missing_ok=True)
            (path / name).symlink_to(shutil.which(name) or name)
    environment = {**os.environ, **({"PATH": str(path)} if path else {})}
    return subprocess.run(  # noqa: S603 - the project's own
        [program, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", ["2nd", "---", "日本"])
def test_a_folder_that_names_no_stack(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / name)]) == 2
    assert "begins with a letter" in capsys.readouterr().err
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(("name", "stack"), [("my-shop", "MyShop"), ("café crème", "CafeCreme"), ("v2_été", "V2Ete")])
def test_the_folder_names_the_stack(name: str, stack: str, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / name)]) == 0
    assert f"class {stack}Stack(Stack):" in (tmp_path / name / "app.py").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", str(tmp_path / "file" / "shop")]) == 2
    assert "file" in capsys.readouterr().err


def test_development_without_an_emulator_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["dev"]) == 2
    assert f"{tmp_path}: expected a CDK app with its cdk.json" in capsys.readouterr().err
    Path("cdk.json").write_text("{}")
    assert main(["dev"]) == 2
    assert ".venv-emulator/bin/pip install unum-emulator" in capsys.readouterr().err


def test_an_environment_without_the_emulator_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cdk.json").write_text("{}")
    venv.create(tmp_path / "other", symlinks=True)
    python = tmp_path / "other" / "bin" / "python"
    assert main(["dev", "--emulator", str(python)]) == 2
    assert f"{python} has no package unum-emulator; {python} -m pip install unum-emulator" in capsys.readouterr().err


def test_what_is_watched(tmp_path: Path) -> None:
    for name in (
        "app.py",
        "functions/a.py",
        "env/pyvenv.cfg",
        "env/lib/b.py",
        ".venv/x.py",
        "node_modules/y.js",
        "functions/__pycache__/z",
        ".hidden",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert {str(path) for path in scan(tmp_path)} == {"app.py", "functions/a.py"}


def test_log_lines_are_shown_once_and_whole(tmp_path: Path) -> None:
    lines, log = LogLines(tmp_path), tmp_path / "Shop-Tasks.log"
    (tmp_path / "emulator.log").write_text("its own\n")
    log.write_text("one\ntw")
    assert [*lines.new()] == ["Shop-Tasks: one"]
    with log.open("a") as file:
        file.write("o\nthree\n")
    assert [*lines.new()] == ["Shop-Tasks: two", "Shop-Tasks: three"]
    assert [*lines.new()] == []
