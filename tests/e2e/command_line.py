"""The command ``unum``, as users run it: in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

UNUM = str(Path(sys.executable).with_name("unum"))


def unum(*arguments: str, status: int = 0, **variables: str) -> str:
    """Return what the command prints, beside an error if it is to end with another `status`.

    Args:
        arguments: arguments of the command.
        status: expected exit status.
        variables: environment variables beside those of this process.
    """
    command, environment = [UNUM, *arguments], os.environ | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S)  # noqa: S603 - of tests
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout
