"""Deploys a CDK app into an emulator with the CDK's own command line; needs the standard library alone.

The command line is `node_modules/.bin/cdk` of the working directory or of a directory above it; where there is none,
npx fetches the pinned version. It sees the emulator and nothing else of AWS.
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
from unum_emulator.settings import ACCOUNT, REGION

CLI_VERSION = "2.1148.1"
"""What npx fetches; npm's tag `latest` is a version that refuses the assemblies of aws-cdk-lib 2."""

Outputs: TypeAlias = dict[str, dict[str, str]]
"""Outputs by stack name and output name."""

Progress: TypeAlias = Callable[[str], object]
"""Gets every line of the command line's output as it comes, without line end."""

_TAIL_LINES = 40
_QUIET = {
    "AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED": "true",
    "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",  # a list of major versions, not a switch
}
"""We support Node.js 20, whatever its makers do."""

_APP = "python app.py"


class CdkError(RuntimeError):
    """The command line failed; its last lines are in the message."""


def show_nothing(_line: str) -> None:
    """A progress that shows nothing."""


def bootstrap(emulator: Emulator, *, cwd: Path | None = None, progress: Progress = show_nothing) -> None:
    """Create the buckets and roles that deployments with assets need; once for each emulator.

    Args:
        emulator: where to.
        cwd: where the command line is looked for; by default the current directory.
        progress: gets the lines.

    Raises:
        CdkError: it failed.
    """
    command = _find_command_line(cwd or Path.cwd())
    with tempfile.TemporaryDirectory(prefix="unum-bootstrap-") as empty:
        # From an empty directory: an app's cdk.json would have the app synthesized for nothing.
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
    """Synthesize an app and deploy `stacks` of it.

    Args:
        emulator: where to; it must be bootstrapped, unless the app's synthesizer does without.
        stacks: names or patterns, as the command line takes them.
        app: the command that synthesizes the app, or a directory with an assembly.
        cwd: where `app` runs, with its cdk.json if it has one; by default the current directory.
        outdir: receives the assembly; by default it is not kept.
        progress: gets the lines.

    Returns:
        The outputs of the stacks.

    Raises:
        CdkError: synth or deployment failed.
    """
    with _scratch(outdir) as (assembly, scratch):
        outputs = scratch / "outputs.json"
        options = ["--output", str(assembly), "--outputs-file", str(outputs), "--require-approval", "never"]
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
    """Delete `stacks` of an app; the arguments are those of `deploy`.

    Raises:
        CdkError: synth or deletion failed.
    """
    with _scratch(outdir) as (assembly, _):
        options = ["--output", str(assembly), "--force"]
        _run_app(emulator, ["destroy", *stacks, *options], app=app, cwd=cwd, progress=progress)


@contextlib.contextmanager
def _scratch(outdir: Path | None) -> Iterator[tuple[Path, Path]]:
    """A place for the assembly, and a private one that goes at the end."""
    with tempfile.TemporaryDirectory(prefix="unum-cdk-") as scratch:
        yield (outdir or Path(scratch) / "cdk.out").absolute(), Path(scratch)


def _run_app(emulator: Emulator, arguments: Sequence[str], *, app: str, cwd: Path | None, progress: Progress) -> None:
    directory = cwd or Path.cwd()
    _run(emulator, [*_find_command_line(directory), *arguments, "--app", app], cwd=directory, progress=progress)


def _find_command_line(directory: Path) -> list[str]:
    """How to run the CDK's command line from `directory`."""
    for place in (directory.absolute(), *directory.absolute().parents):
        installed = place / "node_modules" / ".bin" / "cdk"
        if installed.exists():
            return [str(installed)]
    return ["npx", "--yes", f"aws-cdk@{CLI_VERSION}"]


def _run(emulator: Emulator, command: Sequence[str], *, cwd: Path, progress: Progress) -> None:
    """Run `command` to its end, or end it and all that it started when we are interrupted.

    Raises:
        CdkError: it failed.
    """
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    process = _start([*command, "--no-notices", "--ci"], cwd, command_environment(emulator))
    try:
        for line in process.stdout or ():
            tail.append(line.rstrip())
            progress(tail[-1])
        code = process.wait()
    except BaseException:  # Ctrl-C and a failing progress included: nothing may be left running
        _kill(process)
        raise
    finally:
        if process.stdout:
            process.stdout.close()
    if code != 0:
        output = "\n".join(tail)
        raise CdkError(f"exit code {code} of {' '.join(command)} in {cwd}; the end of its output:\n{output}")


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
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise CdkError(f"{command[0]}: not found; install Node.js, which has npx, and try again") from error


def _kill(process: "subprocess.Popen[str]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def command_environment(emulator: Emulator) -> dict[str, str]:
    """The caller's environment, with the emulator in place of AWS."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
    return {**_caches(), **own, **emulator.environment(), **_QUIET}


def _caches() -> dict[str, str]:
    """The caches of jsii and npm in the caller's HOME; those in the emulator's would be empty every time."""
    return {
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(Path.home() / ".cache" / "aws" / "jsii" / "package-cache"),
        "npm_config_cache": str(Path.home() / ".npm"),
    }
