"""``unum dev``: run the project of the current folder in an emulator, which needs an environment of its own."""

import argparse
import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from unum_cli.commands.command_errors import UsageError

_ABSENT = 3
"""Exit code of a Python without the emulator."""


def run(options: argparse.Namespace) -> None:
    """Become the emulator's shell, which runs one session.

    Raises:
        UsageError: no emulator or no Node.js is installed, or the folder has no CDK app or has a session already.
    """
    python: Path = options.emulator
    if not Path("cdk.json").exists():
        raise UsageError(f"{Path.cwd()}: expected a CDK app with its cdk.json, found none; unum init makes one")
    if not python.exists():
        raise UsageError(
            f"--emulator: expected the Python of an environment with unum-emulator, found nothing at {python}; "
            "python3 -m venv .venv-emulator && .venv-emulator/bin/pip install unum-emulator"
        )
    if not _has_emulator(python):
        raise UsageError(
            f"--emulator: {python} has no package unum-emulator; {python} -m pip install unum-emulator, or name the "
            "Python of another environment"
        )
    if not shutil.which("node"):
        raise UsageError("PATH: found no program node; install Node.js 20 or newer, which the CDK's command line needs")
    inside = options.inside[1:] if options.inside[:1] == ["--"] else options.inside
    if not inside:  # two sessions that watch would replace each other's settings for other terminals
        _lock(Path.cwd())
    session = [sys.executable, "-m", "unum_cli.project.dev_session", *inside]
    shell = [str(python), "-m", "unum_emulator.shell", "--python", str(python), "--project", str(Path.cwd())]
    path = os.pathsep.join([str(_app_python().parent), os.environ.get("PATH", os.defpath)])
    _become([*shell, *(["--auth"] if options.auth else []), *session], {**os.environ, "PATH": path})


def _app_python() -> Path:
    """Return the Python that runs `app.py`: this one, or that of .venv if this one lacks the CDK."""
    own = Path(".venv", "bin", "python").absolute()
    return own if importlib.util.find_spec("aws_cdk") is None and own.exists() else Path(sys.executable)


def _lock(folder: Path) -> None:
    """Lock `folder` until this process ends.

    Raises:
        UsageError: another process has the lock.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(
            f"{folder}: unum dev runs here already; `. ./.unum-dev.env` makes this terminal use its emulator, and "
            "unum dev COMMAND runs a command in an emulator of its own"
        ) from error
    except OSError:  # a file system without locks
        return
    os.set_inheritable(descriptor, True)  # noqa: FBT003 - the function takes no keyword


def _become(command: list[str], environment: Mapping[str, str]) -> None:
    """Replace this process by `command`, which handles signals and ends the emulator.

    Raises:
        UsageError: the first word is no program.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(command[0], command, environment)  # noqa: S606 - ours
    except OSError as error:
        raise UsageError(f"--emulator: {command[0]}: {error.strerror}") from error


def _has_emulator(python: Path) -> bool:
    """Return True if the environment of `python` has the emulator, or if that cannot be asked."""
    code = f"import importlib.util, sys; sys.exit({_ABSENT} * (importlib.util.find_spec('unum_emulator') is None))"
    try:
        return subprocess.run([str(python), "-c", code], check=False, capture_output=True).returncode != _ABSENT  # noqa: S603 - the user's Python
    except OSError:  # no program; starting the emulator says so
        return True
