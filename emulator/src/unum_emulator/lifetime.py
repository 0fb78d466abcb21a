"""The emulator ends with whoever started it, and nothing outlives it.

ministack's workers can outlive the server. Here function processes have process groups of their own, which the
pool kills, and the kernel kills them if the emulator itself is killed (`unum_emulator.aws_lambda.worker`); whatever
else ministack starts shares the emulator's group.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence

_POLL_S = 0.2


class Lifetime:
    """Cleans up once, on a signal or when the parent has gone, and ends the process."""

    def __init__(self, clean_up: Sequence[Callable[[], object]]) -> None:
        self._clean_up = clean_up
        self._ending = threading.Lock()

    def watch(self, parent: int | None) -> None:
        """Begin to watch for signals, and for the end of the process `parent`.

        The parent is polled because the kernel's own signal comes when the parent's *thread* ends.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: threading.Thread(target=self.end).start())
        if parent is not None:
            threading.Thread(target=self._wait_for_end_of, args=(parent,), daemon=True, name="parent").start()

    def end(self, status: int = 0) -> None:
        """Clean up and leave at once; open connections are of no use to anybody."""
        if not self._ending.acquire(blocking=False):
            return
        try:
            for step in self._clean_up:
                step()
        finally:
            if os.getpgrp() == os.getpid():  # else it is the group of whoever runs us in the foreground
                os.killpg(0, signal.SIGTERM)
            os._exit(status)

    def _wait_for_end_of(self, parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(_POLL_S)
        self.end()
