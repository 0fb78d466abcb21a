"""Main program of every function process: AWS's runtime client, bound to the emulator's life.

It runs with the function's environment and finds only the function, its layers and the managed runtime, so it imports
nothing of this package. Its argument is the emulator's process id.
"""

import ctypes
import os
import signal
import site
import sys

_PR_SET_PDEATHSIG = 1


def _end_with(parent: int) -> None:
    """Let the kernel kill this process when the emulator dies; on other systems the lost connection ends it."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The emulator may have died before `prctl`, whose signal would then never arrive.
    if os.getppid() != parent:
        sys.exit(1)


def _main() -> None:
    _end_with(int(sys.argv[1]))
    # The interpreter runs without `site`, which would put the emulator's own packages on the function's path.
    site.setquit()
    from awslambdaric.__main__ import main  # noqa: PLC0415 - imported after `_end_with`, so that an early death of the emulator counts

    main(["awslambdaric", os.environ["_HANDLER"]])


if __name__ == "__main__":
    _main()
