"""Scripts for shells; bash runs its one."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("shtab")

COMPLETE = r"""
source "$1"; shift
[[ $(complete -p unum) =~ -F\ ([^ ]+) ]]
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
"${BASH_REMATCH[1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def completed(unum: Any, tmp_path: Path) -> Any:
    """Return bash's completions of the last word of a command line."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    script = tmp_path / "unum.bash"
    script.write_text(unum("completion", "bash").out)

    def complete(*words: str) -> set[str]:
        command = [bash, "-c", COMPLETE, "bash", str(script), "unum", *words]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)  # noqa: S603 - our own
        return set(ran.stdout.split())

    return complete


def test_commands(completed: Any) -> None:
    assert completed("de") == {"describe", "delete", "dev"}
    assert completed("send-task-") == {"send-task-success", "send-task-failure", "send-task-heartbeat"}
    assert {"compile", "watch", "completion"} <= completed("")


def test_options_of_a_command(completed: Any) -> None:
    assert completed("watch", "--gr") == {"--graph"}
    assert completed("send-task-failure", "--to") == {"--token"}


def test_values_of_an_option(completed: Any) -> None:
    assert completed("graph", "--format", "m") == {"mermaid"}
    assert completed("completion", "f") == {"fish"}


def test_files(completed: Any, file: Any) -> None:
    file("orders.asl.json", {})
    assert completed("compile", "ord") == {"orders.asl.json"}
    assert completed("watch", "order-1", "--file", "ord") == {"orders.asl.json"}


@pytest.mark.parametrize(("shell", "begins"), [("zsh", "#compdef unum"), ("fish", "")])
def test_other_shells(unum: Any, shell: str, begins: str) -> None:
    ran = unum("completion", shell)
    assert ran.code == 0
    assert ran.out.startswith(begins)
    assert "send-task-heartbeat" in ran.out


def test_a_script_as_json(unum: Any) -> None:
    plain, wrapped = unum("completion", "bash"), unum("completion", "bash", "--json")
    assert json.loads(wrapped.out) == {"script": plain.out.removesuffix("\n")}


def test_another_shell_is_none(unum: Any) -> None:
    ran = unum("completion", "tcsh")
    assert ran.code == 2
    assert "invalid choice: 'tcsh'" in ran.err


def test_without_shtab_it_says_what_to_install(unum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    ran = unum("completion", "bash")
    assert (ran.code, ran.out) == (1, "")
    assert "pip install 'unum-cli[completion]'" in ran.err
