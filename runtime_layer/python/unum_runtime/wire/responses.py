"""Parser for HTTP/1.1 responses of AWS APIs.

It replaces `http.client`, whose dependency `email` takes as long to import as all of this package.
Source: RFC 9112, "HTTP/1.1".
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from unum_runtime.cold_start.records import NamedTuple

_LONGEST_LINE = 65536  # as in `http.client`
_MOST_HEADERS = 100  # as in `http.client`
_OK, _NO_CONTENT = 200, 204  # `http.HTTPStatus` is an enumeration that is slow to import


class BadResponse(ConnectionError):
    """Incomplete response, or no HTTP."""


class Unanswered(ConnectionError):
    """Connection closed before the first byte of a response."""


class Stream(Protocol):
    """Binary file to read from."""

    def read(self, size: int = -1, /) -> bytes | None: ...  # noqa: D102 - documented in `io.RawIOBase`
    def readline(self, size: int = -1, /) -> bytes: ...  # noqa: D102 - documented in `io.IOBase`


class Head(NamedTuple):
    """Status and headers of a response.

    Attributes:
        status: status code.
        headers: headers with lower-case names.
    """

    status: int
    headers: Mapping[str, str]


class Response(NamedTuple):
    """Complete response.

    Attributes:
        status: status code.
        headers: headers with lower-case names.
        body: content, without chunk framing.
        is_last: True if the server closes the connection afterwards.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_last: bool


def read_head(stream: Stream) -> Head:
    """Read status and headers of the next response.

    Raises:
        Unanswered: the connection closed without a response.
        BadResponse: the response is incomplete or not HTTP/1.x.
    """
    first = stream.readline(_LONGEST_LINE)
    if not first:
        raise Unanswered("closed without an answer")
    match first.split(None, 2):
        case [b"HTTP/1.1", code, *_] if code.isdigit():
            return Head(int(code), dict(_headers(stream)))
        case [b"HTTP/1.0", code, *_] if code.isdigit():
            # HTTP/1.0 closes the connection unless a header says otherwise; proxies still answer so.
            return Head(int(code), {"connection": "close", **dict(_headers(stream))})
    raise BadResponse(f"expected an HTTP/1.1 response, got {first[:80]!r}")


def read_response(stream: Stream) -> Response:
    """Read the next complete response; see `read_head` for errors."""
    head = read_head(stream)
    while head.status < _OK:  # interim responses (100 Continue) precede the final one
        head = read_head(stream)
    is_last = head.headers.get("connection", "").lower() == "close"
    match head.headers:
        case {"transfer-encoding": coding} if coding.lower() == "chunked":
            return Response(*head, b"".join(_chunks(stream)), is_last)
        case {"content-length": length}:
            return Response(*head, _read_exactly(stream, _number(length)), is_last)
    if head.status == _NO_CONTENT:
        return Response(*head, b"", is_last)
    # Without a length the body ends with the connection (RFC 9112, section 6.3).
    return Response(*head, stream.read() or b"", is_last=True)


def _headers(stream: Stream) -> Iterator[tuple[str, str]]:
    for _ in range(_MOST_HEADERS + 1):
        line = _read_line(stream)
        if not line:
            return
        name, _, value = line.decode("latin-1").partition(":")
        yield name.lower(), value.strip()
    raise BadResponse(f"expected at most {_MOST_HEADERS} headers, got more")


def _chunks(stream: Stream) -> Iterator[bytes]:
    while size := _number(_read_line(stream).partition(b";")[0], 16):
        yield _read_exactly(stream, size)
        _read_line(stream)
    dict(_headers(stream))  # trailers; unread, they would start the next response on this connection


def _number(digits: str | bytes, base: int = 10) -> int:
    # `int` also accepts signs, blanks and underscores; a negative length would read until the connection closes.
    if not digits.strip().isalnum():
        raise BadResponse(f"expected a length, got {digits[:80]!r}")
    try:
        return int(digits, base)
    except ValueError as error:
        raise BadResponse(f"expected a length, got {digits[:80]!r}") from error


def _read_line(stream: Stream) -> bytes:
    line = stream.readline(_LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise BadResponse("expected a complete line, got the end of the response")
    return line.rstrip(b"\r\n")


def _read_exactly(stream: Stream, size: int) -> bytes:
    data = stream.read(size) or b""
    if len(data) < size:
        raise BadResponse(f"expected {size} bytes, got {len(data)} before the end of the response")
    return data
