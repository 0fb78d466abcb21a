"""`python -m unum_emulator.shell [COMMAND ...]`: run a command (by default a shell) against an emulator.

The emulator is bootstrapped for `cdk deploy`; `cdk` and the calling environment's commands are on the path. It ends
with the command and returns its exit code. With `--project`, it needs no checkout: `cdk` is that of the project, and
the path is the caller's.

`unum_cli.project.dev_session` handles signals with the same code, because the emulator and the command line share no
package.
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from unum_emulator import cdk
from unum_emulator.process import Emulator, EmulatorError

_CHECKOUT = Path(__file__).parents[3]

LOGS = "UNUM_EMULATOR_LOGS"
"""Environment variable with the folder of the emulator's logs, for the command."""

_GRACE_S = 5
_STOP_LIMIT_S = 15
_TAIL = 2000
"""Characters of the emulator's log in an error."""

_NOT_FOUND = 127
_INTERRUPTED = 128 + signal.SIGINT


def main() -> int:
    """Start an emulator, run the command in its environment, and stop the emulator; return the exit code."""
    parser = argparse.ArgumentParser(prog="unum_emulator.shell", description="A shell in which AWS is an emulator.")
    parser.add_argument("--python", type=Path, default=_CHECKOUT / "emulator" / ".venv" / "bin" / "python")
    parser.add_argument("--project", type=Path, help="folder of the CDK app (default: this checkout)")
    parser.add_argument("--auth", action="store_true", help="enforce IAM policies")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="command to run (default: $SHELL)")
    options = parser.parse_args()
    leave_on_signals()
    try:
        with Emulator(options.python, auth=options.auth) as emulator:
            try:
                return _serve(emulator, options)
            finally:
                ignore_signals()
    except (EmulatorError, cdk.CdkError) as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


def _serve(emulator: Emulator, options: argparse.Namespace) -> int:
    """Bootstrap, run the command, or a shell beside the page; return its exit code."""
    _say(f"Emulator at {emulator.endpoint}; bootstrapping ...")
    cdk.bootstrap(emulator, cwd=options.project or _CHECKOUT)
    _say("Ready: cdk, unum and boto3 use the emulator instead of AWS. It ends with this command.")
    environment = _environment(emulator, options.project)
    if options.command:
        return _run(options.command, environment, emulator)
    _say(_for_other_tools(emulator))
    with _page(environment):
        return _run([os.environ.get("SHELL", "/bin/sh")], environment, emulator)


def _run(command: list[str], environment: dict[str, str], emulator: Emulator) -> int:
    """Run `command`; return its exit code, 128 plus signal if a signal ended it, as when `emulator` ends first."""
    if sys.stdin.isatty():  # a terminal sends Ctrl-C to the command, too, which may go on: a shell or a debugger does
        signal.signal(signal.SIGINT, lambda *_: None)
    with deferred_signals() as deliver:
        try:
            process = subprocess.Popen(command, env=environment)  # noqa: S603 - the caller's
        except OSError as error:
            _say(f"{command[0]}: {error.strerror}")
            return _NOT_FOUND
        try:
            deliver()
            threading.Thread(target=_end_with, args=(emulator, process), daemon=True).start()
            code = process.wait()
        except KeyboardInterrupt:
            # A group of processes gets it together, but `kill` may have sent it to this one alone.
            code = _end(process, signal.SIGINT, after_s=_GRACE_S)
        except SystemExit:
            _end(process, signal.SIGTERM)
            raise
    return code if code >= 0 else 128 - code


def _end_with(emulator: Emulator, process: "subprocess.Popen[bytes]") -> None:
    """Terminate `process` when `emulator` ends, without which all its requests fail."""
    emulator.wait()
    if process.poll() is None:
        log = (emulator.logs / "emulator.log").read_text(errors="replace")[-_TAIL:]
        _say(f"The emulator ended unexpectedly; start again. End of its log:\n{log}")
        process.terminate()


def _end(process: "subprocess.Popen[bytes]", number: signal.Signals, after_s: float = 0) -> int:
    """Wait `after_s` for `process` before sending signal `number`; kill survivors; return its code."""
    try:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(after_s)
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_STOP_LIMIT_S)
    finally:  # also after another Ctrl-C
        process.kill()
    return process.wait()


@contextmanager
def _page(environment: dict[str, str]) -> Iterator[None]:
    """Serve the page of all executions within the block; it prints its URL."""
    command = [sys.executable, "-c", "from unum_cli.main import main; main()", "ui", "--allow-changes"]
    _say("Page of all workflows that you deploy:")
    # A session of its own: Ctrl-C is for the shell's commands.
    with (
        deferred_signals() as deliver,
        subprocess.Popen(command, env=environment, stdout=sys.stderr, start_new_session=True) as page,  # noqa: S603
    ):
        try:
            deliver()
            yield
        finally:
            page.terminate()


def _environment(emulator: Emulator, project: Path | None) -> dict[str, str]:
    own = [] if project else [str(Path(sys.executable).parent)]
    tools = str((project or _CHECKOUT) / "node_modules" / ".bin")
    path = os.pathsep.join([*own, tools, os.environ.get("PATH", os.defpath)])
    return {**cdk.command_environment(emulator), "PATH": path, LOGS: str(emulator.logs)}


def _for_other_tools(emulator: Emulator) -> str:
    """Return the commands that make programs of another terminal use `emulator`."""
    named = {name: value for name, value in emulator.environment().items() if name.startswith("AWS_")}
    exports = "\n".join(f"  export {name}={shlex.quote(value)}" for name, value in named.items())
    return f"Other terminals and tools need its key, which is new at each start:\n{exports}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - the program's purpose is output


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
    sys.exit(main())
