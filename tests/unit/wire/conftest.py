"""HTTP servers on real sockets of the loopback interface."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import pytest

from unum_runtime.wire import api

HANG_UP = b""


class Request(NamedTuple):
    """Received request, with lower-case header names and the number of its connection."""

    connection: int
    head: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Peer:
    """Server with fixed `answers` in order, the last one repeated; `HANG_UP` closes without response.

    A response with ``...`` at the end is incomplete: the connection closes there.
    """

    answers: list[bytes] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    tls: ssl.SSLContext | None = None

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connections = 0
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://localhost:{self.port}"

    def hang_up(self) -> None:
        """Close all connections, like a server after its idle timeout."""
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                accepted, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(accepted, self.connections), daemon=True).start()

    def _serve(self, plain: socket.socket, number: int) -> None:
        with suppress(OSError), plain:
            connected = self.tls.wrap_socket(plain, server_side=True) if self.tls else plain
            self._open.append(connected)
            with connected, connected.makefile("rb") as stream:
                while self._answer(connected, _read(stream, number)):
                    pass

    def _answer(self, connected: socket.socket, request: Request | None) -> bool:
        """Answer one request; return True if the connection stays open."""
        if request is None:
            return False
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        connected.sendall(answer.removesuffix(b"..."))
        return answer != HANG_UP and not answer.endswith(b"...") and b"Connection: close" not in answer


def _read(stream: Any, number: int) -> Request | None:
    if not (head := stream.readline().decode().strip()):
        return None
    headers = {}
    while line := stream.readline().decode().strip():
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
    return Request(number, head, headers, stream.read(int(headers.get("content-length", 0))))


def answer(body: bytes = b"{}", status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@pytest.fixture
def start() -> Iterator[Callable[..., Peer]]:
    """Return a function (answers, TLS context) that starts a peer until the end of the test."""
    peers: list[Peer] = []

    def started(*answers: bytes, tls: ssl.SSLContext | None = None) -> Peer:
        peers.append(Peer(list(answers), tls=tls).__enter__())
        return peers[-1]

    yield started
    for peer in peers:
        peer.__exit__()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "MAX_PAUSE_S", 0.0)
