"""Count Python's requests to the CDK's process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jsii._kernel.providers.process import _NodeProcess


@dataclass
class Calls:
    """A number that grows."""

    count: int = 0


@contextmanager
def counted() -> Iterator[Calls]:
    """Counts the calls."""
    calls = Calls()
    send = _NodeProcess.send

    def counting(process: _NodeProcess, *arguments: Any) -> Any:
        calls.count += 1
        return send(process, *arguments)

    _NodeProcess.send = counting  # type: ignore[assignment]  # counts calls
    try:
        yield calls
    finally:
        _NodeProcess.send = send
