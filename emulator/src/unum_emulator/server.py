"""Start and end of the emulator's process: environment, port, announcement and clean-up.

The emulator ends with its parent process, and together with all function processes. ministack's workers can outlive its
server. Function processes of this package have process groups of their own, which the pool kills; if the emulator
itself is killed, the kernel kills them (`unum_emulator.aws_lambda.worker`). All other child processes share the
emulator's group.
"""

import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unum_emulator.aws_lambda.packages import discard
from unum_emulator.patching import require_version
from unum_emulator.process_settings import ACCOUNT, HOST, REGION, Settings

_INHERITED = ("PATH", "LANG", "LC_ALL")
_BACKLOG = 1024  # hundreds of functions may connect at once
_POLL_S = 0.02


@dataclass(frozen=True, kw_only=True)
class Options:
    """Command-line options.

    Attributes:
        port: port on the loopback interface; 0 for a free port.
        auth: enforce IAM policies.
        ready_file: additional file for the announcement.
        logs: directory with one log file per function; by default a temporary one.
        parent: process id of the parent; exit when it ends.
        max_processes: maximum number of function processes.
        history: file for everything that tables, Lambda and queues see.
    """

    port: int
    auth: bool
    ready_file: Path | None
    logs: Path | None
    parent: int | None
    max_processes: int
    history: Path | None = None


def serve(options: Options) -> None:
    """Run the emulator until a signal arrives or the parent ends."""
    require_version()
    listener = socket.create_server((HOST, options.port), backlog=_BACKLOG)
    work = Path(tempfile.mkdtemp(prefix="unum-emulator-"))
    lifetime = Lifetime([lambda: discard(work)])
    lifetime.watch(options.parent)  # before the imports below, which take longest
    settings = Settings(
        port=listener.getsockname()[1],
        auth=options.auth,
        work=work,
        logs=options.logs or work / "logs",
        max_sandboxes=options.max_processes,
        dispatchers=options.max_processes,
        history=options.history,
    )
    _set_environment(settings)
    # Imported late: ministack reads the environment at import time.
    from unum_emulator.emulation import Emulation  # noqa: PLC0415

    emulation = Emulation(settings)
    lifetime.begin_with(emulation.close)
    threading.Thread(target=_announce, args=(settings, options.ready_file), daemon=True, name="announcer").start()
    try:
        emulation.serve(listener)
    finally:
        lifetime.end(status=1)


def _set_environment(settings: Settings) -> None:
    """Replace the caller's environment, because ministack and its workers read settings from it."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    os.environ.clear()
    os.environ.update(inherited)
    os.environ.update(
        {
            "AUTH": str(settings.auth).lower(),
            "AWS_ACCESS_KEY_ID": settings.key.id,
            "AWS_SECRET_ACCESS_KEY": settings.key.secret,
            "AWS_ENDPOINT_URL": settings.endpoint,
            "BIND_HOST": HOST,
            "GATEWAY_PORT": str(settings.port),
            "HOME": str(settings.work),
            "IOT_MTLS_ENABLED": "0",
            "LOG_LEVEL": "WARNING",
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "MINISTACK_HOST": HOST,
            "MINISTACK_REGION": REGION,
            "S3_DATA_DIR": str(settings.work / "s3"),
            "SFTP_ENABLED": "0",
            "STATE_DIR": str(settings.work / "state"),
            "TMPDIR": str(settings.work),
            # The CDK's functions for SDK calls install the newest SDK, and go on without it after a failure.
            "npm_config_offline": "true",
        }
    )
    tempfile.tempdir = None  # makes the module read TMPDIR again


def _announce(settings: Settings, ready_file: Path | None) -> None:
    """Print endpoint, access key, process id and log directory as JSON once the emulator responds."""
    while not _answers(settings.endpoint):
        time.sleep(_POLL_S)
    key = {"access_key_id": settings.key.id, "secret_access_key": settings.key.secret}
    line = json.dumps({"endpoint": settings.endpoint, **key, "pid": os.getpid(), "logs": str(settings.logs)})
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    if ready_file:
        # A rename is atomic, so readers of the file never see half a line.
        staging = ready_file.with_name(f"{ready_file.name}.part")
        staging.touch(mode=0o600)  # the line has the secret of the key
        staging.write_text(f"{line}\n")
        staging.rename(ready_file)


def _answers(endpoint: str) -> bool:
    try:
        with urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=1):  # noqa: S310 - a loopback address
            return True
    except urllib.error.HTTPError:  # the request is not signed, but was refused by an emulator that has started
        return True
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


_PARENT_POLL_S = 0.2


class Lifetime:
    """Single clean-up after a signal or the parent's end, followed by the end of this process."""

    def __init__(self, clean_up: Sequence[Callable[[], object]]) -> None:
        self._clean_up = [*clean_up]
        self._ending = threading.Lock()

    def begin_with(self, step: Callable[[], object]) -> None:
        """Make `step` the first of the clean-up."""
        self._clean_up.insert(0, step)

    def watch(self, parent: int | None) -> None:
        """Start to watch for signals and for the end of the process `parent`.

        Polling is necessary: the kernel's own signal arrives at the end of the parent's *thread*.
        """
        # A new thread: the clean-up takes locks that the interrupted main thread may hold.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: threading.Thread(target=self.end).start())
        if parent is not None:
            threading.Thread(target=self._wait_for_end_of, args=(parent,), daemon=True, name="parent").start()

    def end(self, status: int = 0) -> None:
        """Clean up once and exit immediately, with connections still open."""
        # A signal and the parent's end may arrive together; the second caller must not clean up again.
        if not self._ending.acquire(blocking=False):
            return
        try:
            for step in self._clean_up:
                step()
        finally:
            if os.getpgrp() == os.getpid():  # otherwise the group belongs to the caller's shell
                os.killpg(0, signal.SIGTERM)
            os._exit(status)

    def _wait_for_end_of(self, parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_POLL_S)
        self.end()
