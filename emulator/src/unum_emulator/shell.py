"""`python -m unum_emulator.shell [COMMAND ...]`: run a command (by default a shell) against an emulator.

The emulator is bootstrapped for `cdk deploy`; `cdk` and the calling environment's commands are on the path. It ends
with the command and returns its exit code. With `--project`, it needs no checkout: `cdk` is that of the project, and
the path is the caller's.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unum_emulator import cdk
from unum_emulator.process import Emulator

_CHECKOUT = Path(__file__).parents[3]

LOGS = "UNUM_EMULATOR_LOGS"
"""Environment variable with the folder of the emulator's logs, for the command."""


def main() -> int:
    """Start an emulator, run the command in its environment, and stop the emulator."""
    parser = argparse.ArgumentParser(prog="unum_emulator.shell", description="A shell in which AWS is an emulator.")
    parser.add_argument("--python", type=Path, default=_CHECKOUT / "emulator" / ".venv" / "bin" / "python")
    parser.add_argument("--project", type=Path, help="folder of the CDK app (default: this checkout)")
    parser.add_argument("--auth", action="store_true", help="enforce IAM policies")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="command to run (default: $SHELL)")
    options = parser.parse_args()
    with Emulator(options.python, auth=options.auth) as emulator:
        _say(f"Emulator at {emulator.endpoint}; bootstrapping ...")
        cdk.bootstrap(emulator, cwd=options.project or _CHECKOUT)
        _say("Ready: cdk, unum and boto3 use the emulator instead of AWS. It ends with this command.")
        environment = _environment(emulator, options.project)
        if options.command:
            return _run(options.command, environment)
        with _page(environment):
            return _run([os.environ.get("SHELL", "/bin/sh")], environment)


def _run(command: list[str], environment: dict[str, str]) -> int:
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - the caller's


@contextmanager
def _page(environment: dict[str, str]) -> Iterator[None]:
    """Serve the page of all executions within the block; it prints its URL."""
    command = [sys.executable, "-c", "from unum_cli.main import main; main()", "ui", "--allow-changes"]
    _say("Page of all workflows that you deploy:")
    # A session of its own: Ctrl-C is for the shell's commands.
    with subprocess.Popen(command, env=environment, stdout=sys.stderr, start_new_session=True) as page:  # noqa: S603
        try:
            yield
        finally:
            page.terminate()


def _environment(emulator: Emulator, project: Path | None) -> dict[str, str]:
    own = [] if project else [str(Path(sys.executable).parent)]
    tools = str((project or _CHECKOUT) / "node_modules" / ".bin")
    path = os.pathsep.join([*own, tools, os.environ.get("PATH", os.defpath)])
    return {**cdk.command_environment(emulator), "PATH": path, LOGS: str(emulator.logs)}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - the program's purpose is output


if __name__ == "__main__":
    sys.exit(main())
