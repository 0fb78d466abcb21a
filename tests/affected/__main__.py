# ruff: noqa: T201 - a command prints
"""Run the tests of a change, nearest first, until the time is over: `python -m tests.affected --seconds 60`.

The change is what the work tree has beyond the last commit, or the last commit if it has nothing. Tests that had no
time are counted as skipped.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence

from tests.affected.choice import choose
from tests.affected.deadline import END
from tests.affected.imports import ROOT, importers

ALWAYS = (
    "tests/architecture/test_rooms.py",
    "tests/architecture/test_language.py",
    "tests/simulation/test_executions.py",
)
"""Structure, words, and the quickest check of what every execution is promised; first, before time is over."""
MOST = 60
"""Test files that a run collects at most; more would need the time for their imports."""
NOTHING_COLLECTED = 5


def main() -> int:
    """Run the tests and return pytest's exit code."""
    options = _parser().parse_args()
    tests = [test for test in choose(options.files or changes(), importers(python_files())) if test not in ALWAYS]
    print(f"{len(tests)} test files import what has changed; the nearest: {' '.join(tests[:5])}", flush=True)
    code = _run([*ALWAYS, *tests[:MOST]], options.seconds)
    return 0 if code == NOTHING_COLLECTED else code


def changes() -> list[str]:
    """Return the files that differ from the last commit, new ones included; those of the last commit if none do."""
    changed = [*_git("diff", "--name-only", "HEAD"), *_git("ls-files", "--others", "--exclude-standard")]
    return changed or _git("diff", "--name-only", "HEAD~1", "HEAD")


def python_files() -> list[str]:
    """Return all Python files of the work tree, new ones included."""
    listed = _git("ls-files", "--cached", "--others", "--exclude-standard", "*.py")
    return [file for file in listed if (ROOT / file).exists()]


def _git(*arguments: str) -> list[str]:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()  # noqa: S603


def _run(tests: Sequence[str], seconds: float) -> int:
    options = ("-n", "2", "--dist", "loadscope", "--no-loadscope-reorder", "-q", "-p", "tests.affected.deadline")
    command = [sys.executable, "-m", "pytest", *options, "-m", "not e2e and not packaging and not long", *tests]
    environment = {**os.environ, END: str(time.time() + seconds)}
    return subprocess.run(command, cwd=ROOT, check=False, env=environment).returncode  # noqa: S603 - ours


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.affected", description=__doc__)
    parser.add_argument("files", nargs="*", help="changed files; what git says without them")
    parser.add_argument("--seconds", type=float, default=60, help="time after which no further test begins")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
