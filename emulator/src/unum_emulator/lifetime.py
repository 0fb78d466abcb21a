"""End of the emulator: with its parent process, and together with all function processes.

ministack's workers can outlive its server. Function processes of this package have process groups of their own, which
the pool kills; if the emulator itself is killed, the kernel kills them (`unum_emulator.aws_lambda.worker`). All other
child processes share the emulator's group.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence

_POLL_S = 0.2


class Lifetime:
    """Single clean-up after a signal or the parent's end, followed by the end of this process."""

    def __init__(self, clean_up: Sequence[Callable[[], object]]) -> None:
        self._clean_up = [*clean_up]
        self._ending = threading.Lock()

    def begin_with(self, step: Callable[[], object]) -> None:
        """Make `step` the first of the clean-up."""
        self._clean_up.insert(0, step)

    def watch(self, parent: int | None) -> None:
        """Start to watch for signals and for the end of the process `parent`.

        Polling is necessary: the kernel's own signal arrives at the end of the parent's *thread*.
        """
        # A new thread: the clean-up takes locks that the interrupted main thread may hold.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: threading.Thread(target=self.end).start())
        if parent is not None:
            threading.Thread(target=self._wait_for_end_of, args=(parent,), daemon=True, name="parent").start()

    def end(self, status: int = 0) -> None:
        """Clean up once and exit immediately, with connections still open."""
        # A signal and the parent's end may arrive together; the second caller must not clean up again.
        if not self._ending.acquire(blocking=False):
            return
        try:
            for step in self._clean_up:
                step()
        finally:
            if os.getpgrp() == os.getpid():  # otherwise the group belongs to the caller's shell
                os.killpg(0, signal.SIGTERM)
            os._exit(status)

    def _wait_for_end_of(self, parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(_POLL_S)
        self.end()
