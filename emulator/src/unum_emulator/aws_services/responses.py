"""Answers of the server leave whole: a call of the system for each part takes longer than most of what it answers.

uvicorn writes head and body apart, and uvloop hands on each at once, which wakes the client twice.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class SingleWriteProtocol(HttpToolsProtocol):  # type: ignore[misc]  # checked where uvicorn is not installed
    """uvicorn's protocol, over a transport that gathers what is written at one time."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to serve a connection."""
        super().connection_made(_BufferingTransport(transport))


class _BufferingTransport:
    """A transport that hands on what was written when whoever writes is done, says so, or closes it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, part: bytes) -> None:
        if not self._parts:
            asyncio.get_running_loop().call_soon(self.flush)
        self._parts.append(part)

    def write_whole(self, answer: bytes) -> None:
        self._parts.append(answer)
        self.flush()

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))
