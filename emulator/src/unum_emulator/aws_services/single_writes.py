"""Responses in a single write: one system call per part takes longer than most of the work behind a response.

uvicorn writes head and body separately, and uvloop sends each at once, which wakes the client twice.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class SingleWriteProtocol(HttpToolsProtocol):  # type: ignore[misc]  # checked where uvicorn is not installed
    """uvicorn's protocol over a buffering transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start to serve a connection."""
        super().connection_made(_BufferingTransport(transport))


class _BufferingTransport:
    """A transport that sends buffered parts at the end of the current callback, at `flush`, or before `close`."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, part: bytes) -> None:
        if not self._parts:
            # `call_soon` runs after the current callback, which writes head and body.
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
