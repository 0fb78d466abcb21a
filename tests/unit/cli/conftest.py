import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from unum_cli.main import main


@dataclass(frozen=True)
class Ran:
    """Output and exit code of a command."""

    code: int
    out: str
    err: str


@pytest.fixture
def unum(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs a command in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ran:
        try:
            code = main(arguments)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture(autouse=True)
def botocore_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Botocore for all calls of commands: tests put moto between it and AWS."""
    monkeypatch.setenv("UNUM_CLIENT", "botocore")


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file: (name, text, or a value to write as JSON)."""

    def write(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write
