"""No process outlives its owner."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unum_emulator.process import Emulator, EmulatorError

SOURCES = Path(__file__).parents[1] / "src"
HOLDER = """
import sys, time
from unum_emulator.process import Emulator
emulator = Emulator(sys.executable).__enter__()
print(emulator.pid, flush=True)
time.sleep(60)
"""
SLEEPER = """
    import os, subprocess, time

    def handler(event, context):
        subprocess.Popen(["sleep", "60"])
        time.sleep(60)
"""


def test_no_process_survives_the_end(tmp_path: Path, processes: Any) -> None:
    with Emulator(sys.executable, logs=tmp_path) as emulator:
        assert emulator.endpoint.startswith("http://127.0.0.1:")
        assert emulator.environment()["AWS_ENDPOINT_URL"] == emulator.endpoint
    processes.wait_for_end_of(emulator.pid)
    assert (tmp_path / "emulator.log").exists()


def test_no_process_survives_an_exception(processes: Any) -> None:
    with pytest.raises(KeyboardInterrupt), Emulator(sys.executable) as emulator:
        raise KeyboardInterrupt
    processes.wait_for_end_of(emulator.pid)


def test_running_functions_end_with_the_emulator(cloud: Any, processes: Any) -> None:
    with Emulator(sys.executable) as emulator:
        other = type(cloud)(emulator)
        name = other.function(SLEEPER, Timeout=60)
        other.send(name)
        workers = cloud.until(lambda: len(found := processes.descendants(emulator.pid)) == 2 and found)
    processes.wait_for_end_of(emulator.pid, *workers)


def test_running_functions_end_when_the_emulator_is_killed(
    cloud: Any, processes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # what a killed emulator cannot remove
    with Emulator(sys.executable) as emulator:
        other = type(cloud)(emulator)
        other.send(other.function("import time\n\ndef handler(event, context): time.sleep(60)", Timeout=60))
        (worker,) = cloud.until(lambda: processes.descendants(emulator.pid))
        os.kill(emulator.pid, signal.SIGKILL)
        processes.wait_for_end_of(worker)


def test_the_emulator_ends_when_its_parent_is_killed(processes: Any, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as holder:  # noqa: S603 - ours
        assert holder.stdout
        pid = int(holder.stdout.readline())
        holder.kill()
    processes.wait_for_end_of(pid)


def test_the_command_prints_its_endpoint_and_ends_on_a_signal(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-m", "unum_emulator", "--ready-file", str(ready)]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as emulator:  # noqa: S603 - ours
        assert emulator.stdout
        announced = json.loads(emulator.stdout.readline())
        assert announced["pid"] == emulator.pid
        emulator.terminate()
        assert emulator.wait(5) == 0
    assert json.loads(ready.read_text()) == announced


def test_a_missing_requirement_is_reported(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named ministack' >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(EmulatorError, match="No module named ministack") as raised, Emulator(python):
        pass
    assert f"{python} -m pip install unum-emulator" in str(raised.value)


def test_only_the_loopback_address_is_served() -> None:
    with Emulator(sys.executable) as emulator:
        port = int(emulator.endpoint.rpartition(":")[2])
        with socket.socket() as other:
            assert other.connect_ex(("127.0.0.2", port)) != 0
