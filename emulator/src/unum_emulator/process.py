"""Start and stop of an emulator process from any environment; needs only the standard library."""

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from unum_emulator.process_settings import ACCOUNT, REGION, AccessKey

_START_LIMIT_S = 60
_STOP_LIMIT_S = 10
_SOURCES = Path(__file__).parents[1]


class EmulatorError(RuntimeError):
    """Failed start of an emulator."""


class Emulator:
    """Context manager of one emulator process on a free loopback port.

    Attributes:
        endpoint: endpoint URL for all AWS clients.
        key: the access key that requests are signed with, random for each start.
        logs: directory with `emulator.log` and one file per function.
        pid: the emulator's process id.
    """

    endpoint: str
    key: AccessKey
    logs: Path
    pid: int

    def __init__(
        self,
        python: Path | str,
        *,
        auth: bool = False,
        logs: Path | None = None,
        max_processes: int = 24,
        history: Path | None = None,
    ) -> None:
        """Configure an emulator; `with` starts it.

        Args:
            python: interpreter of an environment with the emulator's requirements.
            auth: enforce IAM policies.
            logs: directory for permanent logs; by default a temporary one.
            max_processes: maximum number of function processes.
            history: file for everything that tables, Lambda and queues see; see `unum_emulator.history`.
        """
        self._python = Path(python)
        self._auth = auth
        self._max_processes = max_processes
        self._kept_logs = logs
        self._history = history
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._private = tempfile.TemporaryDirectory(prefix="unum-emulator-client-")
        try:
            self._start()
        except BaseException:  # includes Ctrl-C: Python never calls __exit__ after a failed __enter__
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def environment(self) -> dict[str, str]:
        """Return environment variables that connect boto3 and the CDK's command line to this emulator only.

        They include a separate HOME, because the command line caches accounts by access key there. `UNUM_PYTHONS` is
        empty, so builds make bytecode for no other Python: functions run on the emulator's, whatever their runtime
        says.
        """
        home = Path(self._private.name) / "home"
        home.mkdir(exist_ok=True)
        return {
            "AWS_ACCESS_KEY_ID": self.key.id,
            "AWS_SECRET_ACCESS_KEY": self.key.secret,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "CDK_DEFAULT_ACCOUNT": ACCOUNT,
            "CDK_DEFAULT_REGION": REGION,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "HOME": str(home),
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1",
            "UNUM_PYTHONS": "",
        }

    def wait(self) -> None:
        """Return when the emulator's process has ended."""
        if self._process is not None:
            self._process.wait()

    def stop(self) -> None:
        """End the emulator and all its processes; a second call has no effect."""
        process, self._process = self._process, None
        try:
            if process is not None:
                _end(process)
        finally:
            self._private.cleanup()

    def _start(self) -> None:
        self.logs = self._kept_logs or Path(self._private.name) / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        with (self.logs / "emulator.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the interpreter that the caller names
                self._command(),
                env=_minimal_environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # Ctrl-C in the caller's terminal must not end the emulator before the caller's own
                # clean-up.
                start_new_session=True,
            )
        announced = self._await_announcement(self._process)
        self.endpoint, self.pid = announced["endpoint"], announced["pid"]
        self.key = AccessKey(announced["access_key_id"], announced["secret_access_key"])

    def _command(self) -> list[str]:
        command = [str(self._python), "-m", "unum_emulator", "--parent", str(os.getpid()), "--logs", str(self.logs)]
        command += ["--max-processes", str(self._max_processes)]
        command += ["--history", str(self._history)] if self._history else []
        return [*command, "--auth"] if self._auth else command

    def _await_announcement(self, process: "subprocess.Popen[str]") -> dict[str, Any]:
        """Wait for the emulator's announcement and return its content.

        Raises:
            EmulatorError: the emulator ended or was not ready in time.
        """
        # `readline` has no timeout; killing the process closes the pipe and ends the wait.
        timer = threading.Timer(_START_LIMIT_S, process.kill)
        timer.start()
        try:
            line = process.stdout.readline() if process.stdout else ""
        finally:
            timer.cancel()
        if not line:
            log = (self.logs / "emulator.log").read_text(errors="replace")[-2000:]
            raise EmulatorError(
                f"{self._python}: the emulator ended before it was ready, or was not ready within {_START_LIMIT_S} s; "
                f"its environment needs all that unum-emulator requires: {self._python} -m pip install unum-emulator; "
                f"end of its log:\n{log}"
            )
        announced: dict[str, Any] = json.loads(line)
        return announced


def _minimal_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the inherited variables, without any setting of AWS clients."""
    kept = {name: environment[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in environment}
    return {**kept, "PYTHONPATH": str(_SOURCES), "PYTHONUNBUFFERED": "1"}


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        _kill_group(process.pid)
        if process.stdout:
            process.stdout.close()


def _kill_group(group: int) -> None:
    """Kill remaining processes of the emulator's group; normally there are none."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
