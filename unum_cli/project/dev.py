"""``unum dev``: run the project of the current folder in an emulator, which needs an environment of its own."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from unum_cli.commands.command_errors import CommandFailed, UsageError

_ABSENT = 3
"""Exit code of a Python without the emulator."""


def run(options: argparse.Namespace) -> None:
    """Start the emulator, and in it a session; the emulator ends with it.

    Raises:
        UsageError: no emulator is installed, or the folder has no CDK app.
        CommandFailed: the emulator, the deployment or the command failed.
    """
    python: Path = options.emulator
    if not python.exists():
        raise UsageError(
            f"--emulator: expected the Python of an environment with unum-emulator, found nothing at {python}; "
            "python3 -m venv .venv-emulator && .venv-emulator/bin/pip install unum-emulator"
        )
    if not Path("cdk.json").exists():
        raise UsageError(f"{Path.cwd()}: expected a CDK app with its cdk.json, found none; unum init makes one")
    if not _has_emulator(python):
        raise UsageError(
            f"--emulator: {python} has no package unum-emulator; {python} -m pip install unum-emulator, or name the "
            "Python of another environment"
        )
    session = [sys.executable, "-m", "unum_cli.project.session", *options.inside]
    shell = [str(python), "-m", "unum_emulator.shell", "--python", str(python), "--project", str(Path.cwd())]
    # The app's command, `python app.py`, is meant to be this Python, activated or not.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    command = [*shell, *(["--auth"] if options.auth else []), *session]
    try:
        code = subprocess.run(command, env={**os.environ, "PATH": path}, check=False).returncode  # noqa: S603 - ours
    except OSError as error:
        raise UsageError(f"--emulator: {python}: {error}") from error
    if code:
        raise CommandFailed(f"unum dev: exit code {code}")


def _has_emulator(python: Path) -> bool:
    """Return True if the environment of `python` has the emulator, or if that cannot be asked."""
    code = f"import importlib.util, sys; sys.exit({_ABSENT} * (importlib.util.find_spec('unum_emulator') is None))"
    try:
        return subprocess.run([str(python), "-c", code], check=False, capture_output=True).returncode != _ABSENT  # noqa: S603 - the user's Python
    except OSError:  # no program; starting the emulator says so
        return True
