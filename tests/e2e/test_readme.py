"""README's tutorial, done as it says: its files in an empty folder, its commands in the emulator's shell."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]


def test_the_readme_is_enough_for_a_workflow_of_ones_own(tmp_path: Path) -> None:
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    for title, text in blocks:
        if title != "commands":
            file = tmp_path / title
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    commands = "".join(text for title, text in blocks if title == "commands")
    again = 'unum start --stack Shop --name first --input \'{"order": {"apple": 4}}\''
    shell = subprocess.run(  # noqa: S603 - README's own commands
        [sys.executable, "-m", "unum_emulator.shell", "sh", "-c", f"set -e\n{commands}\nif {again}; then exit 9; fi"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert shell.returncode == 0, shell.stderr[-3000:]
    assert re.search(r'"lines": 2,\s+"cents": 130', shell.stdout), "of the deployed workflow"
    assert re.search(r'"lines": 1,\s+"cents": 45', shell.stdout), "of the workflow in one process"
    assert len(re.findall(r"^Price ", shell.stdout, re.MULTILINE)) == 2, "a step for each line of the order"
    assert "first" in shell.stderr, "another input under the same name is refused by name"
