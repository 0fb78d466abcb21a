"""What `unum init` writes, and what it refuses."""

import json
import venv
from pathlib import Path

import pytest

from unum_cli.main import main
from unum_cli.project.session import LogLines, times


def test_names_follow_from_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "my-2nd_shop")]) == 0
    written = tmp_path / "my-2nd_shop"
    files = {str(path.relative_to(written)): path.read_text() for path in written.rglob("*") if path.is_file()}
    assert {"app.py", "Makefile", ".gitignore", "functions/orders.py", "tests/test_workflow.py"} <= files.keys()
    assert f"{len(files)} files" in capsys.readouterr().out
    assert not [
        name for name, text in files.items() if "ProjectName" in text or "project-name" in text or "VERSION" in text
    ]
    assert "class My2ndShop(Stack)" in files["app.py"]
    assert "unum-emulator==0.1.0" in files["requirements-emulator.txt"]


def test_with_json_it_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "shop"), "--json"]) == 0
    files = sum(path.is_file() for path in (tmp_path / "shop").rglob("*"))
    assert json.loads(capsys.readouterr().out) == {"folder": str(tmp_path / "shop"), "stack": "Shop", "files": files}


def test_an_empty_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    assert main(["init", "."]) == 0
    assert "class Shop(Stack)" in Path("app.py").read_text()


def test_a_folder_with_files_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "note.txt").write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "expected a new or empty folder, found files; nothing was written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.parametrize("name", ["2nd", "---", "日本"])
def test_a_folder_that_names_no_stack(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / name)]) == 2
    assert "begins with a letter" in capsys.readouterr().err
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(("name", "stack"), [("my-shop", "MyShop"), ("café crème", "CafeCreme"), ("v2_été", "V2Ete")])
def test_the_folder_names_the_stack(name: str, stack: str, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / name)]) == 0
    assert f"class {stack}(Stack):" in (tmp_path / name / "app.py").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", str(tmp_path / "file" / "shop")]) == 2
    assert "file" in capsys.readouterr().err


def test_development_without_an_emulator_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["dev"]) == 2
    assert ".venv-emulator/bin/pip install unum-emulator" in capsys.readouterr().err
    assert main(["dev", "--emulator", "/bin/sh"]) == 2
    assert "expected a CDK app with its cdk.json" in capsys.readouterr().err


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
    for name in ("app.py", "functions/a.py", ".venv/x.py", "node_modules/y.js", "functions/__pycache__/z", ".hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert {str(path) for path in times(tmp_path)} == {"app.py", "functions/a.py"}


def test_log_lines_are_shown_once_and_whole(tmp_path: Path) -> None:
    lines, log = LogLines(tmp_path), tmp_path / "Shop-Tasks.log"
    (tmp_path / "emulator.log").write_text("its own\n")
    log.write_text("one\ntw")
    assert [*lines.new()] == ["Shop-Tasks: one"]
    with log.open("a") as file:
        file.write("o\nthree\n")
    assert [*lines.new()] == ["Shop-Tasks: two", "Shop-Tasks: three"]
    assert [*lines.new()] == []
