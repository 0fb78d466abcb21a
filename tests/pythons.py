"""Interpreters to ask for bytecode: those of the machine, and some that tests write."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
"""The ones that functions may have."""


def installed(python: str) -> Path:
    """The interpreter `python` of this machine: on PATH, or beside this one, where version managers have them."""
    places = [*os.environ["PATH"].split(os.pathsep), *map(str, Path(sys.base_prefix).parent.glob("*/bin"))]
    for found in (shutil.which(python, path=place) for place in places):
        if found and _answers(found):
            return Path(found)
    pytest.skip(f"no {python} on this machine")


def _answers(executable: str) -> bool:
    code = "import sys; sys.exit(sys.version_info.releaselevel != 'final')"
    return subprocess.run([executable, "-c", code], capture_output=True, check=False).returncode == 0  # noqa: S603


def written(folder: Path, python: str, script: str) -> Path:
    """An interpreter called `python`, which is a script for the shell."""
    folder.mkdir(exist_ok=True)
    executable = folder / python
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o700)
    return executable


def this_one(folder: Path, python: str, *, before: str = "") -> Path:
    """This interpreter, as another process, called `python`; `before` is what a shell does when it is asked."""
    return written(folder, python, f'{before}\nexec "{sys.executable}" "$@"')
