"""Answers in HTTP/1.1, as far as an API gives them.

`http.client` reads headers with the package `email`, which takes as long to import as all of this package.
Source: RFC 9112, "HTTP/1.1".
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from unum_runtime.cold_start.records import NamedTuple

_LONGEST_LINE = 65536
_OK, _NO_CONTENT = 200, 204  # `http.HTTPStatus` is an enumeration that takes long to make


class BadResponse(ConnectionError):
    """The other side broke off, or does not speak HTTP."""


class Unanswered(ConnectionError):
    """The connection was closed before the first byte of an answer."""


class Stream(Protocol):
    """What is read from: a file of bytes."""

    def read(self, size: int = -1, /) -> bytes | None: ...  # noqa: D102 - `io.RawIOBase` documents it
    def readline(self, size: int = -1, /) -> bytes: ...  # noqa: D102 - `io.IOBase` documents it


class Head(NamedTuple):
    """An answer without its body.

    Attributes:
        status: its status code.
        headers: under their names in small letters.
    """

    status: int
    headers: Mapping[str, str]


class Response(NamedTuple):
    """An answer.

    Attributes:
        status: its status code.
        headers: under their names in small letters.
        body: decoded, if it came in chunks.
        is_last: nothing more can be asked over the connection.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_last: bool


def read_head(stream: Stream) -> Head:
    """Status and headers of the next answer.

    Raises:
        Unanswered: there is none.
        BadResponse: it is no answer in HTTP/1.1, or breaks off.
    """
    first = stream.readline(_LONGEST_LINE)
    if not first:
        raise Unanswered("closed without an answer")
    match first.split(None, 2):
        case [b"HTTP/1.1", code, *_] if code.isdigit():
            return Head(int(code), dict(_headers(stream)))
        case [b"HTTP/1.0", code, *_] if code.isdigit():
            return Head(int(code), {"connection": "close", **dict(_headers(stream))})
    raise BadResponse(f"expected an answer in HTTP/1.1, got {first[:80]!r}")


def read_response(stream: Stream) -> Response:
    """The next answer to a request that may have a body.

    Raises:
        Unanswered: there is none.
        BadResponse: it is no answer in HTTP/1.1, or breaks off.
    """
    head = read_head(stream)
    while head.status < _OK:  # interim, and followed by another
        head = read_head(stream)
    is_last = head.headers.get("connection", "").lower() == "close"
    match head.headers:
        case {"transfer-encoding": coding} if coding.lower() == "chunked":
            return Response(*head, b"".join(_chunks(stream)), is_last)
        case {"content-length": length}:
            return Response(*head, _exactly(stream, _number(length)), is_last)
    if head.status == _NO_CONTENT:
        return Response(*head, b"", is_last)
    return Response(*head, stream.read() or b"", is_last=True)


def _headers(stream: Stream) -> Iterator[tuple[str, str]]:
    while line := _line(stream):
        name, _, value = line.decode("latin-1").partition(":")
        yield name.lower(), value.strip()


def _chunks(stream: Stream) -> Iterator[bytes]:
    while size := _number(_line(stream).partition(b";")[0], 16):
        yield _exactly(stream, size)
        _line(stream)
    dict(_headers(stream))  # trailers


def _number(digits: str | bytes, base: int = 10) -> int:
    try:
        return int(digits, base)
    except ValueError as error:
        raise BadResponse(f"expected a length, got {digits!r}") from error


def _line(stream: Stream) -> bytes:
    line = stream.readline(_LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise BadResponse("the answer breaks off")
    return line.rstrip(b"\r\n")


def _exactly(stream: Stream, size: int) -> bytes:
    data = stream.read(size) or b""
    if len(data) < size:
        raise BadResponse(f"the answer breaks off after {len(data)} of {size} bytes")
    return data
