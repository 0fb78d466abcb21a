"""Bytecode that another interpreter makes."""

import marshal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import CodeType, SimpleNamespace

import pytest

from tests import pythons
from unum_constructs.layer import bytecode, interpreters
from unum_constructs.layer.bytecode import this_python
from unum_constructs.layer.content import runtime_folder
from unum_constructs.layer.interpreters import FOLDERS, NoBytecodeError, _Interpreter, compile_modules

PYTHON, UNKNOWN = str(this_python()), "python3.99"
SOURCES = {f"/opt/{file}": file.read_bytes() for file in (runtime_folder() / "protocol").rglob("*.py")}
ONE = {"/opt/one.py": "text = 'größer'\n".encode()}
TWO = {"/opt/two.py": b"import one\n"}


@pytest.fixture
def asked(tmp_path: Path) -> Callable[[], int]:
    """Count the questions to an interpreter with `ASKED`."""
    return lambda: (tmp_path / "asked").read_text().count("\n") if (tmp_path / "asked").exists() else 0


ASKED = 'echo >> "$(dirname "$0")/../asked"'


def another(folder: Path, *, before: str = "") -> _Interpreter:
    return _Interpreter(PYTHON, str(pythons.this_one(folder / "bin", PYTHON, before=before)))


def test_another_process_makes_the_same(tmp_path: Path) -> None:
    """Bytecode depends on earlier work of its process; a fresh process has none."""
    made = another(tmp_path).compile(SOURCES)
    assert made == another(tmp_path).compile(SOURCES)
    assert loaded(made) == loaded(compile_modules(SOURCES, PYTHON))
    assert len(made) > 20


def loaded(made: interpreters.Modules) -> dict[str, tuple[bytes, CodeType]]:
    """Heads and code."""
    return {path: (data[:16], marshal.loads(data[16:])) for path, data in made.items()}  # noqa: S302 - our own


@pytest.mark.parametrize("python", pythons.PYTHONS)
def test_each_python_makes_its_own(python: str) -> None:
    executable = str(pythons.installed(python))
    made = _Interpreter(python, executable).compile(SOURCES)
    code = "import sys, importlib.util as u; sys.stdout.buffer.write(u.MAGIC_NUMBER)"
    magic = subprocess.run([executable, "-c", code], capture_output=True, check=True).stdout  # noqa: S603
    assert {data[: len(magic)] for data in made.values()} == {magic}
    assert made.keys() == SOURCES.keys()
    assert made == _Interpreter(python, executable).compile(SOURCES)


def test_it_is_asked_for_what_it_has_not_made(tmp_path: Path, asked: Callable[[], int]) -> None:
    interpreter = another(tmp_path, before=ASKED)
    one = interpreter.compile(ONE)
    assert (interpreter.compile(ONE), asked()) == (one, 1)
    assert (interpreter.compile(TWO | ONE), asked()) == (interpreter.compile(TWO) | one, 2)  # type: ignore[operator]
    assert interpreter.compile({"/opt/one.py": b"changed = 1\n"}) != one


def test_many_layers_ask_one_process(tmp_path: Path, asked: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytecode, "this_python", lambda: UNKNOWN)
    monkeypatch.setenv(FOLDERS, str(pythons.this_one(tmp_path / "bin", PYTHON, before=ASKED).parent))
    assert compile_modules(ONE, PYTHON) == compile_modules(ONE, PYTHON)
    assert asked() == 1


def test_this_python_asks_itself_and_no_other(
    tmp_path: Path, asked: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDERS, str(pythons.this_one(tmp_path / "bin", PYTHON, before=ASKED).parent))
    assert len(compile_modules(ONE, PYTHON)) == 1
    assert asked() == 0


def test_nothing_around_changes_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ast.py").write_text("raise SystemExit('not this one')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    monkeypatch.chdir(tmp_path)
    assert loaded(another(tmp_path).compile(ONE)) == loaded(compile_modules(ONE, PYTHON))


FAILING = {
    "echo 'not  installed' >&2; exit 127": r"fails: not installed$",
    "exit 0": "answers with something else",
    "echo '{}'": "answers with something else",
    "echo '[]'": "answers with something else",
    """echo '{"/opt/one.py": 1}'""": "answers with something else",
    """echo '{"/opt/one.py": "xy"}'""": "answers with something else",
    r"printf '\377'": "answers with something else",
    "exec sleep 60": r"has not answered for 0\.2 s$",
}


@pytest.mark.parametrize("script", FAILING)
def test_who_fails_is_not_asked_again(
    script: str, tmp_path: Path, asked: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "LIMIT_S", 0.2 if "sleep" in script else interpreters.LIMIT_S)
    executable = pythons.written(tmp_path / "bin", UNKNOWN, f"{ASKED}\n{script}")
    monkeypatch.setenv(FOLDERS, str(executable.parent))
    for _ in range(2):
        with pytest.raises(NoBytecodeError, match=f"^{executable} {FAILING[script]}"):
            compile_modules(ONE, UNKNOWN)
    assert asked() == 1


def test_what_is_no_program_fails(tmp_path: Path) -> None:
    executable = tmp_path / UNKNOWN
    executable.write_bytes(b"\0")
    executable.chmod(0o700)
    with pytest.raises(NoBytecodeError, match="cannot be run: Exec format error"):
        _Interpreter(UNKNOWN, str(executable)).compile(ONE)


def test_another_version_under_that_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDERS, str(pythons.this_one(tmp_path / "bin", UNKNOWN).parent))
    with pytest.raises(NoBytecodeError, match=rf"fails: it is cpython 3\.\S+, no final release of CPython's {UNKNOWN}"):
        compile_modules(ONE, UNKNOWN)


@pytest.mark.parametrize(
    ("implementation", "level", "python"),
    [("cpython", "final", "python3.14"), ("cpython", "candidate", None), ("pypy", "final", None)],
)
def test_only_final_releases_of_cpython_make_what_lambda_loads(
    implementation: str, level: str, python: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = SimpleNamespace(major=3, minor=14, releaselevel=level)
    system = SimpleNamespace(implementation=SimpleNamespace(name=implementation), version_info=version)
    monkeypatch.setattr(bytecode, "sys", system)
    assert this_python() == python


@pytest.mark.parametrize("named", ["", None])
def test_nobody_is_asked_who_is_not_named(named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(pythons.this_one(tmp_path / "bin", UNKNOWN).parent))
    monkeypatch.delenv(FOLDERS, raising=False)
    if named is not None:
        monkeypatch.setenv(FOLDERS, named)
    with pytest.raises(NoBytecodeError, match=f"^no {UNKNOWN} is on {FOLDERS}$"):
        compile_modules(ONE, UNKNOWN)
