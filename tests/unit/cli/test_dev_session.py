"""The session of `unum dev`: what it deploys, its exit code, and its end. The CDK's command line is a script."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

SESSION = (sys.executable, "-m", "unum_cli.project.dev_session")
UNDER_A_SHELL = (sys.executable, "-c", f"import subprocess; subprocess.run({[*SESSION]!r})")
UNUM = (sys.executable, "-c", "import sys; from unum_cli.main import main; sys.exit(main())")
CDK = """#!/bin/sh
echo deployment of $(cat app.py)
while [ $# -gt 0 ]; do
    if [ "$1" = --output ]; then out=$2; fi
    shift
done
echo "assembly in ${out:-cdk.out}"
cp app.py made-by-the-app.txt
while [ -e slow ]; do sleep 0.1; done
"""
WAITS = "In other terminals"

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    cdk = tmp_path / "node_modules" / ".bin" / "cdk"
    cdk.parent.mkdir(parents=True)
    cdk.write_text(CDK)
    cdk.chmod(0o700)
    (tmp_path / "app.py").write_text("first")
    (tmp_path / "cdk.json").write_text("{}")
    return tmp_path


@pytest.fixture
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture
def start(project: Path, logs: Path) -> Iterator[Start]:
    """Start a program in the project; all that it leaves behind is killed."""
    environment = {
        **os.environ,
        "UNUM_EMULATOR_LOGS": str(logs),
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_REGION": "us-east-1",
        "PYTHONUNBUFFERED": "1",
    }
    started = []

    def begin(*command: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(  # noqa: S603 - written above
            command,
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - one thread
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdout:
            process.stdout.close()
        process.wait()


def read_until(process: "subprocess.Popen[str]", pattern: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if re.search(pattern, line):
            return
    pytest.fail(f"it ended without {pattern}")


def test_a_change_during_the_first_deployment_is_deployed(project: Path, start: Start) -> None:
    (project / "slow").write_text("")
    process = start(*SESSION)
    read_until(process, "deployment of first")
    (project / "app.py").write_text("second")
    (project / "slow").unlink()
    read_until(process, "Changed: app.py")
    read_until(process, "deployment of second")


def test_what_the_app_writes_is_no_change_if_it_is_the_same_again(project: Path, start: Start) -> None:
    (project / "made-by-the-app.txt").write_text("first")
    process = start(*SESSION)
    read_until(process, WAITS)
    time.sleep(1.5)  # what changed would be deployed after half a second
    process.terminate()
    shown, _ = process.communicate(timeout=PATIENCE_S)
    assert "Changed" not in shown


def test_a_deleted_file_is_a_change(project: Path, start: Start) -> None:
    (project / "note.txt").write_text("")
    process = start(*SESSION)
    read_until(process, WAITS)
    (project / "note.txt").unlink()
    read_until(process, r"Changed: .*note\.txt")


def test_settings_of_a_killed_session_are_gone_while_the_next_one_deploys(project: Path, start: Start) -> None:
    (project / ".unum-dev.env").write_text("old")
    (project / "slow").write_text("")
    read_until(start(*SESSION), "deployment of first")
    assert not (project / ".unum-dev.env").exists()


@pytest.mark.parametrize("numbers", [(signal.SIGINT,), (signal.SIGHUP, signal.SIGTERM), (signal.SIGTERM,)])
def test_nothing_survives_a_signal(numbers: tuple[signal.Signals, ...], project: Path, start: Start) -> None:
    process = start(*SESSION)
    read_until(process, WAITS)
    assert (project / ".unum-dev.env").exists()
    for number in numbers:
        process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)  # until the page has closed its output, too
    # Signals that are pending together have no order.
    expected = {0} if numbers == (signal.SIGINT,) else {128 + number for number in numbers}
    assert process.returncode in expected
    assert not (project / ".unum-dev.env").exists()


def test_no_other_user_reads_the_settings(project: Path, start: Start) -> None:
    read_until(start(*SESSION), WAITS)
    assert (project / ".unum-dev.env").stat().st_mode & 0o777 == 0o600


def test_nothing_survives_the_shell_around_it(project: Path, start: Start) -> None:
    process = start(*UNDER_A_SHELL)
    read_until(process, WAITS)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    assert not (project / ".unum-dev.env").exists()


def test_log_lines_of_any_characters_are_shown(logs: Path, start: Start) -> None:
    process = start("env", "PYTHONIOENCODING=ascii", *SESSION)
    read_until(process, WAITS)
    (logs / "Shop-Tasks.log").write_bytes("größe 🍏 \x1b[2J \udcff\n".encode(errors="surrogateescape"))
    read_until(process, r"Shop-Tasks: größe 🍏 \\u001b\[2J")


def test_a_command_gives_its_exit_code(start: Start) -> None:
    ended = start(*SESSION, "sh", "-c", "exit 7")
    ended.communicate(timeout=PATIENCE_S)
    assert ended.returncode == 7


def test_a_command_needs_no_folder_of_other_sessions(start: Start) -> None:
    watching = start(*SESSION)
    read_until(watching, "assembly in cdk.out")
    shown, _ = start(*SESSION, "true").communicate(timeout=PATIENCE_S)
    (folder,) = re.findall("assembly in (.*)", shown)
    assert folder != "cdk.out"
    assert not Path(folder).exists()


def test_a_command_tidies_up_after_ctrl_c(start: Start) -> None:
    process = start(*SESSION, "sh", "-c", "trap 'sleep 1; echo tidy; exit 3' INT; echo begun; sleep 60")
    read_until(process, "begun")
    time.sleep(0.3)  # the shell waits for its command
    os.killpg(process.pid, signal.SIGINT)
    shown, _ = process.communicate(timeout=PATIENCE_S)
    assert "tidy" in shown
    assert process.returncode == 130


def test_a_command_that_is_not_there_is_named(start: Start) -> None:
    process = start(*SESSION, "nothing-such")
    shown, _ = process.communicate(timeout=PATIENCE_S)
    assert shown.endswith("nothing-such: No such file or directory\n")
    assert process.returncode == 127


def test_a_second_one_in_the_same_folder_is_refused(project: Path, start: Start) -> None:
    descriptor = os.open(project, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        process = start(*UNUM, "dev", "--emulator", sys.executable)
        shown, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        os.close(descriptor)
    assert f"{project}: unum dev runs here already" in shown
    assert process.returncode == 2


def test_a_missing_node_is_named(start: Start) -> None:
    process = start(
        "env", f"PATH={Path(sys.executable).parent / 'nothing'}", *UNUM, "dev", "--emulator", sys.executable
    )
    shown, _ = process.communicate(timeout=PATIENCE_S)
    assert "found no program node; install Node.js 20 or newer" in shown
    assert process.returncode == 2
