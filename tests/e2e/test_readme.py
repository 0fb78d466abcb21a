"""README's tutorial, done as it says: its files in an empty folder, its commands in the emulator's shell."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import pythons, readme
from tests.patience import PATIENCE_S
from unum_constructs.cdk.lambda_runtimes import DEFAULT_PYTHON

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]


def test_the_readme_is_enough_for_a_workflow_of_ones_own(tmp_path: Path) -> None:
    readme.write_files(tmp_path)
    other = pythons.written(tmp_path / "bin", DEFAULT_PYTHON, f"touch {shlex.quote(str(tmp_path / 'asked'))}; exit 1")
    again = 'unum start --stack Shop --name first --input \'{"order": {"apple": 4}}\''
    shell = subprocess.run(  # noqa: S603 - README's own commands
        [
            sys.executable,
            "-m",
            "unum_emulator.shell",
            "sh",
            "-c",
            f"set -e\n{readme.commands()}\nif {again}; then exit 9; fi",
        ],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{other.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert shell.returncode == 0, shell.stderr[-3000:]
    assert re.search(r'"lines": 2,\s+"cents": 130', shell.stdout), "of the deployed workflow"
    assert re.search(r'"lines": 1,\s+"cents": 45', shell.stdout), "of the workflow in one process"
    assert len(re.findall(r"^Price ", shell.stdout, re.MULTILINE)) == 2, "a step for each line of the order"
    assert "first" in shell.stderr, "another input under the same name is refused by name"
    assert not (tmp_path / "asked").exists(), "for bytecode that the emulator's Python could not load"
