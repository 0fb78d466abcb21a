"""Progress of the demo in lines."""

import os
import time
from typing import TextIO

EVERY_S = 5.0
"""Without a terminal, a line that would change in place is written so often."""


class Log:
    """Progress log with elapsed seconds; a terminal shows a last line that changes in place."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._begun_s = self._mentioned_s = time.monotonic()

    @property
    def is_terminal(self) -> bool:
        """True if a person looks at it."""
        return self.stream.isatty()

    def say(self, text: str) -> None:
        """Write a permanent line."""
        self._write(f"{self._time()} {text}\n")

    def mention(self, text: str) -> None:
        """Write a line that the next one replaces; without one, write those of resources at times."""
        line = f"{self._time()}   {text.strip()}"
        if not text.strip():
            return
        if self.is_terminal:
            self._write(line[: os.get_terminal_size(self.stream.fileno()).columns - 1])
        elif " | " in text and time.monotonic() - self._mentioned_s >= EVERY_S:  # a resource's progress
            self._mentioned_s = time.monotonic()
            self._write(line + "\n")

    def show(self, lines: str) -> None:
        """Write a block without times."""
        self._write(f"\n{lines}\n\n")

    def _write(self, text: str) -> None:
        erase = "\r\x1b[2K" if self.is_terminal else ""
        self.stream.write(erase + text)
        self.stream.flush()

    def _time(self) -> str:
        return f"[{time.monotonic() - self._begun_s:5.1f} s]"
