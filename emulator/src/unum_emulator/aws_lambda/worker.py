"""The program of every function process: AWS's runtime client, tied to the life of the emulator.

It runs with the function's environment and sees only the function, its layers and the managed runtime,
so it imports nothing of this package. Its arguments are the emulator's process id.
"""

import ctypes
import os
import signal
import site
import sys

_PR_SET_PDEATHSIG = 1


def _end_with(parent: int) -> None:
    """Let the kernel kill this process when the emulator dies; elsewhere the lost connection ends it."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def _main() -> None:
    _end_with(int(sys.argv[1]))
    # The interpreter runs without `site`, which would offer the emulator's own packages to the function.
    site.setquit()
    from awslambdaric.__main__ import main  # noqa: PLC0415 - dies with the emulator before it imports anything

    main(["awslambdaric", os.environ["_HANDLER"]])


if __name__ == "__main__":
    _main()
