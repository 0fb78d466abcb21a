"""Environments with what users install, and programs that run there."""

import os
import subprocess
from pathlib import Path

from uv import find_uv_bin

ROOT = Path(__file__).parents[2]
PROJECTS = {
    "unum_runtime": ROOT / "runtime_layer",
    "unum_client": ROOT / "runtime_layer" / "python" / "unum_client",
    "unum_simulator": ROOT / "runtime_layer" / "python" / "unum_simulator",
    "unum_compiler": ROOT / "unum_compiler",
    "unum_cli": ROOT / "unum_cli",
    "unum_constructs": ROOT,
}
"""What one environment of a user has."""

WITHOUT_CDK = tuple(name for name in PROJECTS if name != "unum_constructs")

EVERY = {
    **PROJECTS,
    "unum_azure": ROOT / "runtime_layer" / "python" / "unum_azure",
    "unum_google": ROOT / "runtime_layer" / "python" / "unum_google",
    "unum_emulator": ROOT / "emulator",
}
"""Those of other clouds, and the emulator, have environments of their own."""


def environment(folder: Path, python: str, *requirements: str) -> Path:
    """Python in a new environment with `requirements` in it."""
    made = folder / "venv"
    uv("venv", "--python", python, str(made))
    own = made / "bin" / "python"
    uv("pip", "install", "--python", str(own), *requirements)
    return own


def uv(*arguments: str, check: bool = True) -> str:
    return run(Path(find_uv_bin()), *arguments, cwd=ROOT, check=check)


def run(program: Path, *arguments: str, cwd: Path, check: bool = True, path: bool = False, **variables: str) -> str:
    """Return a program's output, without PYTHONPATH, so that it loads installed packages and not the checkout."""
    own = {name: value for name, value in os.environ.items() if path or name != "PYTHONPATH"}
    done = subprocess.run(  # noqa: S603 - ours
        [program, *arguments], cwd=cwd, env={**own, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or not check, f"{program} {arguments}: {done.stderr[-3000:]}"
    return done.stdout
