"""One execution environment: a process with a loaded function, for one invocation at a time.

It restores Lambda's execution environment: AWS's runtime client, a separate init phase, errors with the exception's
class, enforced timeouts and memory limits, and a process that survives the handler's exceptions.
https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html

Environment variables and import path are Lambda's:
https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
https://docs.aws.amazon.com/lambda/latest/dg/lambda-python.html (the deployment package comes before layers, layers
before the runtime's libraries). ministack puts layers first, and passes its own environment on. Functions here inherit
nothing; layers have a separate directory, so code must not assume /opt.

Lambda kills a process above its configured memory. Only Linux reports the usage; other systems
enforce no limit. https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
"""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unum_emulator.aws_lambda import invocation
from unum_emulator.aws_lambda.function_version import FunctionVersion
from unum_emulator.aws_lambda.packages import PackageStore, discard
from unum_emulator.aws_lambda.runtime_api import Delivery, Report, ReportKind, RuntimeApi

# "The Init phase is limited to 10 seconds"; after that Lambda repeats it within the function's own timeout.
_INIT_LIMIT_S = 10
# Interval of checks on a silent process.
_POLL_S = 0.1
_WORKER = Path(__file__).with_name("worker.py")


class SandboxGoneError(Exception):
    """The process ended between two invocations, before it received the event; another sandbox may take the event."""


@dataclass(frozen=True)
class Outcome:
    """Result of an invocation.

    Attributes:
        body: the handler's result, or AWS's error object (`errorType`, `errorMessage`, ...).
        failed: True for a function error.
        log: output of the process during the invocation.
        duration_ms: the handler's duration, without the init phase.
        memory_mb: the process's peak memory; 0 on systems without that figure.
    """

    body: Any
    failed: bool
    log: str
    duration_ms: int
    memory_mb: int


@dataclass(frozen=True, kw_only=True)
class SandboxResources:
    """Resources that all sandboxes share.

    Attributes:
        root: parent of the sandboxes' private directories.
        runtime: directory of the managed runtime's libraries.
        packages: unpacked functions and layers.
        endpoint: AWS endpoint for functions.
        spawner: a thread that lives as long as the emulator; the kernel kills a process when the thread that made it
            ends.
    """

    root: Path
    runtime: Path
    packages: PackageStore
    endpoint: str
    spawner: Executor


class Sandbox:
    """A process for one version of a function; the lease's owner makes one call of `invoke` at a time."""

    def __init__(self, function: FunctionVersion, resources: SandboxResources) -> None:
        self.function = function
        self.log_stream = f"{time.strftime('%Y/%m/%d')}/[{function.version}]{uuid.uuid4().hex}"
        self._is_unused = True
        self._killed = False
        self._init_report: Report | None = None
        self._home = resources.root / uuid.uuid4().hex
        self._home.mkdir(parents=True)
        output = self._home / "output.log"
        output.touch()
        self._log = output.open("rb")
        self._api = RuntimeApi()
        self._process = resources.spawner.submit(self._spawn, resources, output).result()

    @property
    def alive(self) -> bool:
        """True while the process can take another invocation."""
        return not self._killed and self._process.poll() is None

    def await_init(self) -> None:
        """Wait until the process requests an event or fails; `invoke` reports the failure."""
        if self._init_report is None:
            self._init_report = self._await(_INIT_LIMIT_S + self.function.timeout_s)

    def invoke(self, delivery: Delivery) -> Outcome:
        """Run the handler once, after the init phase.

        Raises:
            SandboxGoneError: the process ended before it received the event.
        """
        self.await_init()
        started_s = time.monotonic()
        report = self._deliver(delivery)
        body, failed = self._result(report, delivery.request_id)
        duration_ms = round((time.monotonic() - started_s) * 1000)
        return Outcome(body, failed, self._new_output(), duration_ms, peak_mb(self._process.pid))

    def kill(self) -> None:
        """Kill the process with all its children."""
        self._killed = True
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # it has already ended

    def close(self) -> None:
        """Kill the process and delete its files."""
        self.kill()
        self._process.wait()
        self._api.close()
        self._log.close()
        discard(self._home)

    def _spawn(self, resources: SandboxResources, output: Path) -> "subprocess.Popen[bytes]":
        function = self.function
        task = resources.packages.unpack([function.code])
        layers = resources.packages.unpack(function.layers)
        variables = function_environment(
            function,
            home=self._home,
            task=task,
            layers=layers,
            runtime=resources.runtime,
            endpoint=resources.endpoint,
        )
        variables["AWS_LAMBDA_RUNTIME_API"] = self._api.address
        variables["AWS_LAMBDA_LOG_STREAM_NAME"] = self.log_stream
        # -S and -P: neither this environment's packages nor this package's folder are on the path.
        with output.open("ab") as sink:
            return subprocess.Popen(  # noqa: S603 - runs the function that was deployed
                [sys.executable, "-S", "-P", str(_WORKER), str(os.getpid()), str(layers)],
                cwd=task,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                # A group of its own, so that `kill` also reaches the handler's children.
                process_group=0,
            )

    def _deliver(self, delivery: Delivery) -> Report:
        """Send the event to the process if it requested one; return the process's next report."""
        init_report, self._init_report = self._init_report, None
        is_unused, self._is_unused = self._is_unused, False
        if init_report and init_report.kind is ReportKind.READY:
            self._api.deliver(delivery)
            return self._await(delivery.timeout_s)
        # Lambda reports a failed init phase to the first invocation only; afterwards it starts another
        # environment.
        if init_report and is_unused:
            return init_report
        raise SandboxGoneError

    def _await(self, timeout_s: float) -> Report:
        """Return the next report; kill the process at its timeout or memory limit."""
        deadline_s = time.monotonic() + timeout_s
        while (remaining_s := deadline_s - time.monotonic()) > 0:
            if report := self._api.report(min(remaining_s, _POLL_S)):
                return report
            if self._process.poll() is not None:
                return self._api.report(0) or Report(
                    ReportKind.EXIT
                )  # the process may have posted its result before it ended
            if resident_mb(self._process.pid) > self.function.memory_mb:
                self.kill()
                return Report(ReportKind.OUT_OF_MEMORY)
        self.kill()
        return Report(ReportKind.TIMEOUT)

    def _result(self, report: Report, request_id: str) -> tuple[Any, bool]:
        """Return the caller's response, and True for an error."""
        match report.kind:
            case ReportKind.RESPONSE:
                too_large = invocation.response_error(len(report.body))
                return (too_large, True) if too_large else (json.loads(report.body), False)
            case ReportKind.ERROR | ReportKind.INIT_ERROR:
                return json.loads(report.body), True
            case ReportKind.TIMEOUT:
                reason = f"Task timed out after {self.function.timeout_s}.00 seconds"
                return _failure(request_id, "Sandbox.Timedout", reason), True
            case ReportKind.OUT_OF_MEMORY:
                return _failure(request_id, "Runtime.OutOfMemory", "Runtime exited with error: signal: killed"), True
            case _:
                return _failure(request_id, "Runtime.ExitError", _exit_reason(self._process.wait())), True

    def _new_output(self) -> str:
        """Return the output since the last call; the runtime client flushes it before it posts a result."""
        return self._log.read().decode(errors="replace")


def _failure(request_id: str, error_type: str, reason: str) -> dict[str, str]:
    return {"errorType": error_type, "errorMessage": f"RequestId: {request_id} Error: {reason}"}


def _exit_reason(code: int) -> str:
    if code == 0:
        return "Runtime exited without providing a reason"
    if code < 0:
        return f"Runtime exited with error: signal: {signal.Signals(-code).name.removeprefix('SIG').lower()}"
    return f"Runtime exited with error: exit status {code}"


def function_environment(
    function: FunctionVersion, *, home: Path, task: Path, layers: Path, runtime: Path, endpoint: str
) -> dict[str, str]:
    """Return all variables of a process, except the address of its Runtime API and its log stream.

    Args:
        function: the function; its own variables take precedence, except Lambda's reserved names.
        home: private directory, in place of /tmp and the caller's home, which other processes share.
        task: directory of the function's code.
        layers: directory of the merged layers.
        runtime: directory of the managed runtime's libraries.
        endpoint: AWS endpoint for the SDKs.
    """
    defaults = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_EC2_METADATA_DISABLED": "true",
        "HOME": str(home),
        "LANG": "en_US.UTF-8",
        "PATH": os.pathsep.join([os.defpath, str(layers / "bin")]),
        "LD_LIBRARY_PATH": os.pathsep.join([str(task), str(task / "lib"), str(layers / "lib")]),
        "TMPDIR": str(home),
        "TZ": ":UTC",
    }
    path = [str(entry) for entry in (task, *_layer_paths(layers, function.runtime))]
    path += filter(None, [function.variables.get("PYTHONPATH")])
    return {
        **defaults,
        **function.variables,
        "PYTHONPATH": os.pathsep.join([*path, str(runtime)]),
        **_reserved(function, task=task, runtime=runtime),
    }


def _layer_paths(layers: Path, runtime: str) -> tuple[Path, Path]:
    return layers / "python" / "lib" / runtime / "site-packages", layers / "python"


def _reserved(function: FunctionVersion, *, task: Path, runtime: Path) -> Mapping[str, str]:
    return {
        **function.credentials,
        "_HANDLER": function.handler,
        "AWS_DEFAULT_REGION": function.ref.region,
        "AWS_REGION": function.ref.region,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{function.runtime}",
        "AWS_LAMBDA_FUNCTION_NAME": function.ref.name,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
        "AWS_LAMBDA_FUNCTION_VERSION": function.version,
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": function.log_group,
        "LAMBDA_TASK_ROOT": str(task),
        "LAMBDA_RUNTIME_DIR": str(runtime),
    }


def resident_mb(pid: int) -> int:
    """Return the process's current usage in MB; 0 after its end or on other systems."""
    return _field(pid, b"VmRSS:")


def peak_mb(pid: int) -> int:
    """Return the process's peak usage in MB; 0 after its end or on other systems."""
    return _field(pid, b"VmHWM:")


def _field(pid: int, name: bytes) -> int:
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as status:  # noqa: PTH123 - is read after each invocation
            _, _, value = status.read().partition(name)
    except OSError:
        return 0
    return int(value.split(None, 1)[0]) // 1024 if value else 0
