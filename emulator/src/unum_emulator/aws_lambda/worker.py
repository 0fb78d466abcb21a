"""Main program of every function process: AWS's runtime client, bound to the emulator's life.

It runs with the function's environment and finds only the function, its layers and the managed runtime, so it imports
nothing of this package. Its arguments are the emulator's process id and the directory of the function's layers.
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


def _find_programs(layers: str) -> None:
    """Let `subprocess` start programs of `layers` by their paths below /opt, where AWS unpacks layers."""
    # `subprocess`, like `pathlib`, would delay each cold start, and most layers contain only modules.
    if os.listdir(layers) in ([], ["python"]):  # noqa: PTH208
        return
    import subprocess  # noqa: PLC0415

    class Popen(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, args: object, *others: object, **named: object) -> None:
            if isinstance(args, list | tuple) and str(args[0]).startswith("/opt/"):
                args = [*_command(str(args[0]), layers), *args[1:]]
            super().__init__(args, *others, **named)  # type: ignore[call-overload]

    subprocess.Popen = Popen  # type: ignore[misc]


def _command(program: str, layers: str) -> list[str]:
    """Return the command that starts a layer's program; `program` itself if no layer contains it."""
    path = layers + program.removeprefix("/opt")
    try:
        with open(path, "rb") as opened:  # noqa: PTH123 - see `_find_programs`
            first_line = opened.readline()
    except OSError:
        return [program]
    # Lambda's Python runtime has its interpreter there.
    return [sys.executable, path] if first_line.startswith(b"#!/var/lang/bin/python") else [path]


def _main() -> None:
    _end_with(int(sys.argv[1]))
    _find_programs(sys.argv[2])
    # The interpreter runs without `site`, which would put the emulator's own packages on the function's path.
    site.setquit()
    from awslambdaric.__main__ import main  # noqa: PLC0415 - imported after `_end_with`, so that an early death of the emulator counts

    main(["awslambdaric", os.environ["_HANDLER"]])


if __name__ == "__main__":
    _main()
