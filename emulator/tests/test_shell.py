"""The emulator's shell ends with its command, and leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).parents[1] / "src"

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a shell with a command; temporary files of both are in `tmp_path`."""
    started = []

    def begin(*command: str, **variables: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(  # noqa: S603 - written here
            [sys.executable, "-m", "unum_emulator.shell", "--python", sys.executable, *command],
            env={**os.environ, "PYTHONPATH": str(SOURCES), "TMPDIR": str(tmp_path), **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - one thread
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def read_until(process: "subprocess.Popen[str]", words: str) -> None:
    assert process.stdout is not None
    assert any(words in line for line in process.stdout), f"it ended without {words}"


def test_it_gives_the_exit_code_of_its_command(start: Start, tmp_path: Path) -> None:
    process = start("sh", "-c", "exit 7")
    process.communicate(timeout=60)
    assert process.returncode == 7
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("number", "stage"),
    [(signal.SIGINT, "bootstrapping"), (signal.SIGTERM, "bootstrapping"), (signal.SIGTERM, "begun")],
)
def test_nothing_survives_a_signal(number: signal.Signals, stage: str, start: Start, tmp_path: Path) -> None:
    process = start("sh", "-c", "echo begun; exec sleep 60")
    read_until(process, stage)
    process.send_signal(number)
    process.communicate(timeout=60)  # until its command has closed its output, too
    assert process.returncode == 128 + number
    assert not [*tmp_path.iterdir()]


def test_a_command_tidies_up_after_ctrl_c(start: Start, tmp_path: Path) -> None:
    process = start("sh", "-c", "trap 'sleep 1; echo tidy; exit 3' INT; echo begun; while :; do sleep 0.1; done")
    read_until(process, "begun")
    os.killpg(process.pid, signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert "tidy" in shown
    assert process.returncode == 3
    assert not [*tmp_path.iterdir()]


def test_it_ends_with_the_emulator(start: Start, tmp_path: Path, processes: Any) -> None:
    process = start("sh", "-c", "echo begun; exec sleep 60")
    read_until(process, "begun")
    (emulator,) = [
        pid
        for pid in processes.descendants(process.pid)
        if f"--parent\0{process.pid}\0" in Path(f"/proc/{pid}/cmdline").read_text()
    ]
    os.kill(emulator, signal.SIGKILL)
    shown, _ = process.communicate(timeout=60)
    assert "The emulator ended unexpectedly; start again." in shown
    assert process.returncode == 128 + signal.SIGTERM
    assert not [path for path in tmp_path.iterdir() if "client" in path.name]


def test_what_a_shell_prints_lets_other_tools_in(start: Start, tmp_path: Path) -> None:
    shell = tmp_path / "shell"
    shell.write_text("#!/bin/sh\necho begun; exec sleep 60\n")
    shell.chmod(0o700)
    process = start(SHELL=str(shell))
    assert process.stdout is not None
    found = {}
    for line in process.stdout:
        if exported := re.fullmatch(r"  export (\w+)=(\S+)\n", line):
            found[exported[1]] = exported[2]
        if "begun" in line:
            break
    code = "import boto3; print(boto3.client('lambda').list_functions()['Functions'])"
    for variables, expected in ((found, "[]"), ({**found, "AWS_SECRET_ACCESS_KEY": "guessed"}, "")):
        asked = subprocess.run(  # noqa: S603 - written here
            [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False
        )
        assert asked.stdout.strip() == expected


def test_errors_are_said_without_a_traceback(start: Start, tmp_path: Path) -> None:
    process = start("--project", "/", "true", PATH=str(tmp_path))
    shown, _ = process.communicate(timeout=60)
    assert "npx: not found; install Node.js" in shown
    assert "Traceback" not in shown
    assert process.returncode == 1
    named = start("nothing-such")
    shown, _ = named.communicate(timeout=60)
    assert shown.endswith("nothing-such: No such file or directory\n")
    assert named.returncode == 127
