"""`python -m unum_emulator.shell [COMMAND ...]`: run a command (by default a shell) against an emulator.

The emulator is bootstrapped for `cdk deploy`; `cdk` and the calling environment's commands are on the path. It ends
with the command and returns its exit code.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from unum_emulator import cdk
from unum_emulator.process import Emulator

_CHECKOUT = Path(__file__).parents[3]


def main() -> int:
    """Start an emulator, run the command in its environment, and stop the emulator."""
    parser = argparse.ArgumentParser(prog="unum_emulator.shell", description="A shell in which AWS is an emulator.")
    parser.add_argument("--python", type=Path, default=_CHECKOUT / "emulator" / ".venv" / "bin" / "python")
    parser.add_argument("--auth", action="store_true", help="enforce IAM policies")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="command to run (default: $SHELL)")
    options = parser.parse_args()
    with Emulator(options.python, auth=options.auth) as emulator:
        _say(f"Emulator at {emulator.endpoint}; bootstrapping ...")
        cdk.bootstrap(emulator, cwd=_CHECKOUT)
        _say("Ready: cdk, unum and boto3 use the emulator instead of AWS. It ends with this command.")
        command = options.command or [os.environ.get("SHELL", "/bin/sh")]
        return subprocess.run(command, env=_environment(emulator), check=False).returncode  # noqa: S603 - the caller's


def _environment(emulator: Emulator) -> dict[str, str]:
    own = [str(Path(sys.executable).parent), str(_CHECKOUT / "node_modules" / ".bin")]
    path = os.pathsep.join([*own, os.environ.get("PATH", os.defpath)])
    return {**cdk.command_environment(emulator), "PATH": path}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - the program's purpose is output


if __name__ == "__main__":
    sys.exit(main())
