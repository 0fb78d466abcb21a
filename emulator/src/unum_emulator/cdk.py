"""Deployment of CDK apps into an emulator by the CDK's own command line; needs only the standard library.

The command line is `node_modules/.bin/cdk` of the working directory or of a parent directory; otherwise npx fetches the
pinned version. It has access to the emulator and to nothing else of AWS.
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from unum_emulator.process import Emulator
from unum_emulator.process_settings import ACCOUNT, REGION

CLI_VERSION = "2.1148.1"
"""Version for npx; npm's tag `latest` is a version that refuses assemblies of aws-cdk-lib 2."""

Outputs: TypeAlias = dict[str, dict[str, str]]
"""Stack outputs: stack name to output name to value."""

Progress: TypeAlias = Callable[[str], object]
"""Callback for each output line, without line end."""

_TAIL_LINES = 40
_QUIET = {
    "AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED": "true",
    "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",  # a list of major versions, not a switch
}
"""Switches off warnings about Node.js 20, which Unum supports beyond its end of life."""

_APP = "python app.py"


class CdkError(RuntimeError):
    """Failure of the command line, with its last output lines."""


def show_nothing(_line: str) -> None:
    """Ignore a line of output."""


def bootstrap(emulator: Emulator, *, cwd: Path | None = None, progress: Progress = show_nothing) -> None:
    """Create the buckets and roles for deployments with assets; required once per emulator.

    Args:
        emulator: the target emulator.
        cwd: start of the search for the command line; by default the current directory.
        progress: receives output lines.

    Raises:
        CdkError: bootstrap failed.
    """
    command = _find_command_line(cwd or Path.cwd())
    with tempfile.TemporaryDirectory(prefix="unum-bootstrap-") as empty:
        # Run in an empty directory: with an app's cdk.json, the command line would first synthesize the app.
        _run(emulator, [*command, "bootstrap", f"aws://{ACCOUNT}/{REGION}"], cwd=Path(empty), progress=progress)


def deploy(
    emulator: Emulator,
    stacks: Sequence[str],
    *,
    app: str = _APP,
    cwd: Path | None = None,
    outdir: Path | None = None,
    progress: Progress = show_nothing,
) -> Outputs:
    """Synthesize an app and deploy `stacks`.

    Args:
        emulator: the target emulator, bootstrapped unless the app's synthesizer works without.
        stacks: stack names or patterns.
        app: command that synthesizes the app, or directory with an assembly.
        cwd: working directory of `app`, with its optional cdk.json; by default the current directory.
        outdir: directory for the assembly; by default a temporary one.
        progress: receives output lines.

    Returns:
        The outputs of the stacks.

    Raises:
        CdkError: synth or deployment failed.
    """
    with _scratch(outdir) as (assembly, scratch):
        outputs = scratch / "outputs.json"
        options = ["--output", str(assembly), "--outputs-file", str(outputs), "--require-approval", "never"]
        # Change sets would take further requests per stack.
        options += ["--method", "direct", "--progress", "events", "--concurrency", "4"]
        _run_app(emulator, ["deploy", *stacks, *options], app=app, cwd=cwd, progress=progress)
        return json.loads(outputs.read_text(encoding="utf-8")) if outputs.exists() else {}


def destroy(
    emulator: Emulator,
    stacks: Sequence[str],
    *,
    app: str = _APP,
    cwd: Path | None = None,
    outdir: Path | None = None,
    progress: Progress = show_nothing,
) -> None:
    """Delete `stacks`; the arguments equal those of `deploy`.

    Raises:
        CdkError: synth or deletion failed.
    """
    with _scratch(outdir) as (assembly, _):
        options = ["--output", str(assembly), "--force"]
        _run_app(emulator, ["destroy", *stacks, *options], app=app, cwd=cwd, progress=progress)


@contextlib.contextmanager
def _scratch(outdir: Path | None) -> Iterator[tuple[Path, Path]]:
    """Yield a directory for the assembly and a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="unum-cdk-") as scratch:
        yield (outdir or Path(scratch) / "cdk.out").absolute(), Path(scratch)


def _run_app(emulator: Emulator, arguments: Sequence[str], *, app: str, cwd: Path | None, progress: Progress) -> None:
    directory = cwd or Path.cwd()
    _run(emulator, [*_find_command_line(directory), *arguments, "--app", app], cwd=directory, progress=progress)


def _find_command_line(directory: Path) -> list[str]:
    """Return the command that runs the CDK's command line from `directory`."""
    for place in (directory.absolute(), *directory.absolute().parents):
        installed = place / "node_modules" / ".bin" / "cdk"
        if installed.exists():
            return [str(installed)]
    return ["npx", "--yes", f"aws-cdk@{CLI_VERSION}"]


def _run(emulator: Emulator, command: Sequence[str], *, cwd: Path, progress: Progress) -> None:
    """Run `command`; kill it and all its children after an interruption.

    Raises:
        CdkError: `command` failed.
    """
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    process = _start([*command, "--no-notices", "--ci"], cwd, command_environment(emulator))
    try:
        for line in process.stdout or ():
            tail.append(line.rstrip())
            progress(tail[-1])
        code = process.wait()
    except BaseException:  # includes Ctrl-C and errors in `progress`: no process may survive
        _kill(process)
        raise
    finally:
        if process.stdout:
            process.stdout.close()
    if code != 0:
        output = "\n".join(tail)
        raise CdkError(f"exit code {code} of {' '.join(command)} in {cwd}; last output:\n{output}")


def _start(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    try:
        return subprocess.Popen(  # noqa: S603 - the command line, with arguments of the caller
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A group of its own, so that `_kill` also reaches the processes that npx and the app start.
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise CdkError(f"{command[0]}: not found; install Node.js, which contains npx, and try again") from error


def _kill(process: "subprocess.Popen[str]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def command_environment(emulator: Emulator) -> dict[str, str]:
    """Return the caller's environment with the emulator in place of AWS."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
    return {**_caches(), **own, **emulator.environment(), **_QUIET}


def _caches() -> dict[str, str]:
    """Return the locations of the jsii and npm caches in the caller's HOME; the emulator's own HOME starts empty."""
    return {
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(Path.home() / ".cache" / "aws" / "jsii" / "package-cache"),
        "npm_config_cache": str(Path.home() / ".npm"),
    }
