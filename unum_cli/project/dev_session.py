"""Session of ``unum dev``, in an environment where AWS is the emulator.

`python -m unum_cli.project.dev_session` deploys the app of the current folder, serves the page, prints the functions'
log lines, and deploys again when a file changes; with arguments, it deploys, runs them as a command, and returns its
code.

`unum_emulator.shell` handles signals with the same code, because the emulator and the command line share no package.
"""

import hashlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from stat import S_ISREG
from tempfile import TemporaryDirectory
from types import FrameType

from unum_cli.safe_output import safe_output, speak_utf8
from unum_runtime.json_text import parse_json

LOGS = "UNUM_EMULATOR_LOGS"
"""Environment variable with the folder of the emulator's logs."""

SETTINGS = Path(".unum-dev.env")
"""File with the environment, for other terminals; it exists as long as the session."""

_UNWATCHED = {"node_modules", "cdk.out", "__pycache__", "out"}
_ENVIRONMENT = "pyvenv.cfg"
"""File at the top of each virtual environment, whatever its name: thousands of files that no deployment reads."""

_DEPLOY = ("--all", "--require-approval", "never", "--method", "direct", "--progress", "events", "--no-notices", "--ci")
_AGAIN = "; change a file to try again"
_PAUSE_S = 0.5
_GRACE_S = 4
_NOT_FOUND = 127
_INTERRUPTED = 128 + signal.SIGINT

_MOST_READ = 1_000_000
"""Bytes of the largest file that is read; of a larger one, the time of its last change has to do."""

Files = Mapping[Path, tuple[int, str]]
"""Time of the last change of each file, in nanoseconds, and a digest of its content."""


def main(command: Sequence[str]) -> int:
    """Deploy, then run `command`, or watch until Ctrl-C; return the exit code."""
    leave_on_signals()
    try:
        if command:
            return _run_inside(command) if _deploy_beside_others() else 1
        develop(Path.cwd(), Path(os.environ[LOGS]))
    except KeyboardInterrupt:
        _say("The emulator ends, and all in it.")
        return _INTERRUPTED if command else 0
    return 0


def _deploy_beside_others() -> bool:
    """Deploy from an assembly in a temporary folder, because other sessions may use cdk.out at the same time."""
    with TemporaryDirectory(prefix="unum-dev-") as folder:
        return deploy(options=("--output", folder))


def _run_inside(command: Sequence[str]) -> int:
    """Run the user's command; return its exit code."""
    if sys.stdin.isatty():  # a terminal sends Ctrl-C to the command, too, which may go on: a shell or a debugger does
        signal.signal(signal.SIGINT, lambda *_: None)
    return run_program(command)


def develop(project: Path, logs: Path) -> None:
    """Deploy, serve the page, watch files until Ctrl-C or until the emulator's shell ends."""
    shell = os.getppid()
    SETTINGS.unlink(missing_ok=True)  # of a session that was killed
    seen = scan(project)  # before the deployment, which may miss what changes meanwhile
    deploy(_AGAIN)
    with _page(), _settings():
        try:
            watch(project, logs, seen, shell)
        finally:
            ignore_signals()


def watch(project: Path, logs: Path, seen: Files, shell: int) -> None:
    """Print new log lines, deploy changed files; return when process `shell` no longer is this one's parent."""
    lines = LogLines(logs)
    while os.getppid() == shell:
        for line in lines.new():
            print(line, flush=True)
        found = scan(project, seen)
        changed = sorted(
            str(path) for path in found.keys() | seen.keys() if _digest(found, path) != _digest(seen, path)
        )
        seen = found
        if changed:
            _say(f"Changed: {', '.join(changed)}")
            deploy(_AGAIN)
        time.sleep(_PAUSE_S)


def deploy(hint: str = "", options: Sequence[str] = ()) -> bool:
    """Deploy all stacks; return False after failures, with the CDK's own words above, `hint` below."""
    _say("Deploying ...")
    is_done = run_program([*_command_line(Path.cwd()), "deploy", *_DEPLOY, *options]) == 0
    _say("Deployed." if is_done else f"Not deployed{hint}.")
    return is_done


def _command_line(project: Path) -> list[str]:
    """Return the CDK's command line from `project`, a parent folder or npm, there in a new project's version."""
    for folder in (project, *project.parents):
        installed = folder / "node_modules" / ".bin" / "cdk"
        if installed.exists():
            return [str(installed)]
    template = files("unum_cli.project") / "template" / "package.json"
    version = parse_json(template.read_text(encoding="utf-8"))["devDependencies"]["aws-cdk"]
    return ["npx", "--yes", f"aws-cdk@{version}"]


def run_program(command: Sequence[str]) -> int:
    """Run `command`; return its exit code, 128 plus signal if a signal ended it.

    Raises:
        KeyboardInterrupt: Ctrl-C, after the end of the program, which gets it too.
        SystemExit: this process is to end; the program was terminated.
    """
    with deferred_signals() as deliver:
        try:
            process = subprocess.Popen(command)  # noqa: S603 - the user's, or the CDK's
        except OSError as error:
            _say(f"{command[0]}: {error.strerror}")
            return _NOT_FOUND
        try:
            deliver()
            code = process.wait()
        except KeyboardInterrupt:
            _end(process, signal.SIGINT, after_s=_GRACE_S)
            raise
        except SystemExit:
            _end(process, signal.SIGTERM)
            raise
    return code if code >= 0 else 128 - code


def _end(process: "subprocess.Popen[bytes]", number: signal.Signals, after_s: float = 0) -> None:
    """Wait `after_s` for `process` before sending signal `number`; wait some seconds more."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(after_s)
        return
    process.send_signal(number)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)


def scan(project: Path, before: Files | None = None) -> Files:
    """Return the files of `project` that a deployment may read, without hidden ones and what tools make.

    Args:
        project: folder of the app.
        before: last result; files of the same time are not read again.
    """
    known = before or {}
    found = {}
    for folder, folders, names in os.walk(project):
        if _ENVIRONMENT in names:
            folders.clear()
            continue
        folders[:] = [each for each in folders if each not in _UNWATCHED and not each.startswith(".")]
        for path in (Path(folder, name) for name in names if not name.startswith(".")):
            name = path.relative_to(project)
            # An editor may replace it right now, or it is a link to nothing.
            with suppress(OSError):
                status = path.stat()
                same = known.get(name)
                if same is None or same[0] != status.st_mtime_ns:
                    same = status.st_mtime_ns, _read(path, status)
                found[name] = same
    return found


def _read(path: Path, status: os.stat_result) -> str:
    """Return a digest of the file's content: an app that writes the same again in each synth is deployed once."""
    if not S_ISREG(status.st_mode) or status.st_size > _MOST_READ:
        return str(status.st_mtime_ns)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(files: Files, path: Path) -> str | None:
    return files[path][1] if path in files else None


class LogLines:
    """Log lines of functions that nobody has read.

    Args:
        folder: folder with a file for each function.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}

    def new(self) -> Iterator[str]:
        """Yield new whole lines, with the name of the function."""
        for path in sorted(self._folder.glob("*.log")):
            if path.stem == "emulator":
                continue
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                whole, end, _rest = file.read().rpartition(b"\n")
            self._read[path] = self._read.get(path, 0) + len(whole) + len(end)
            yield from (f"{path.stem}: {line}" for line in whole.decode(errors="replace").splitlines())


@contextmanager
def _page() -> Iterator[None]:
    """Serve the page of all executions within the block; it prints its URL."""
    command = [sys.executable, "-c", "from unum_cli.main import main; main()", "ui", "--allow-changes"]
    # A session of its own: Ctrl-C is for this one, which ends the page.
    with deferred_signals() as deliver, subprocess.Popen(command, start_new_session=True) as page:  # noqa: S603 - ours
        try:
            deliver()
            yield
        finally:
            page.terminate()


@contextmanager
def _settings() -> Iterator[None]:
    """Write the environment for other terminals, within the block."""
    names = [name for name in sorted(os.environ) if name.startswith(("AWS_", "CDK_"))]
    lines = [f"export {name}={shlex.quote(os.environ[name])}\n" for name in names]
    try:
        SETTINGS.unlink(missing_ok=True)
        # Whoever reads the emulator's key can run code as this user.
        SETTINGS.touch(0o600, exist_ok=False)
        SETTINGS.write_text("".join(lines), encoding="utf-8")
        _say(f"In other terminals, `. ./{SETTINGS}` makes unum, cdk and boto3 use this emulator.")
        yield
    finally:
        SETTINGS.unlink(missing_ok=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


_ENDING = (signal.SIGTERM, signal.SIGHUP)


def leave_on_signals() -> None:
    """Raise SystemExit after SIGTERM and SIGHUP, with 128 plus signal as exit code."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _leave)


def ignore_signals() -> None:
    """Ignore further signals, which would interrupt cleaning up."""
    for number in (signal.SIGINT, *_ENDING):
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def deferred_signals() -> Iterator[Callable[[], None]]:
    """Defer signals while a program starts, so that no exception hides its process.

    Yields:
        Function that delivers deferred signals, and ends deferring.
    """
    deferred: list[int] = []
    # Programs do not inherit such handlers, as they would a mask or SIG_IGN.
    before = {
        number: signal.signal(number, lambda number, _frame: deferred.append(number))
        for number in (signal.SIGINT, *_ENDING)
        if signal.getsignal(number) is not signal.SIG_IGN
    }

    def deliver() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        before.clear()
        while deferred:
            signal.raise_signal(deferred.pop(0))

    try:
        yield deliver
    finally:
        deliver()


def _leave(number: int, _frame: FrameType | None) -> None:
    ignore_signals()
    sys.exit(128 + number)


if __name__ == "__main__":
    speak_utf8()
    with safe_output():  # log lines are data
        sys.exit(main(sys.argv[1:]))
