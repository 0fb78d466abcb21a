"""Parser of HTTP responses."""

import io

import pytest

from unum_runtime.wire.responses import BadResponse, Response, Unanswered, read_response


def read(text: str) -> Response:
    return read_response(io.BytesIO(text.replace("\n", "\r\n").encode()))


def test_a_body_with_content_length() -> None:
    stream = io.BytesIO(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A:  b \r\n\r\n{}HTTP/1.1 404 \r\ncontent-length:0\r\n\r\n"
    )
    assert read_response(stream) == (200, {"content-length": "2", "x-a": "b"}, b"{}", False)
    assert read_response(stream) == (404, {"content-length": "0"}, b"", False)


def test_a_chunked_body() -> None:
    response = read("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3;a=b\nabc\nA\n0123456789\n0\nTrailer: x\n\nrest")
    assert (response.body, response.is_last) == (b"abc0123456789", False)


def test_a_body_until_the_end_of_the_connection() -> None:
    response = read("HTTP/1.1 200 OK\n\nall of it")
    assert (response.body, response.is_last) == (b"all of it", True)


def test_without_a_body() -> None:
    assert read("HTTP/1.1 204 No Content\n\nrest")[2:] == (b"", False)


def test_interim_responses_are_skipped() -> None:
    assert read("HTTP/1.1 100 Continue\n\nHTTP/1.1 202 Accepted\nContent-Length: 0\n\n").status == 202


@pytest.mark.parametrize(
    ("head", "is_last"),
    [
        ("HTTP/1.1 200 OK\nConnection: Close", True),
        ("HTTP/1.0 200 OK", True),
        ("HTTP/1.0 200 OK\nConnection: keep-alive", False),
    ],
)
def test_connection_reuse(head: str, is_last: bool) -> None:  # noqa: FBT001 - a case of its table
    assert read(f"{head}\nContent-Length: 0\n\n").is_last == is_last


def test_no_response() -> None:
    with pytest.raises(Unanswered):
        read("")


@pytest.mark.parametrize(
    "text",
    [
        "HTTP/1.1 200 OK\nContent-Length: 3\n\nab",
        "HTTP/1.1 200 OK\nContent-Len",
        "HTTP/1.1 200 OK\nContent-Length: many\n\n",
        "HTTP/1.1 200 OK\nContent-Length: -5\n\nabcdefgh",
        "HTTP/1.1 200 OK\nContent-Length: +2\n\nab",
        "HTTP/1.1 200 OK\nContent-Length: 1_0\n\nabcdefghij",
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n-5\nabc\n0\n\n",
        "HTTP/1.1 200 OK\n" + "X: y\n" * 200_000 + "\n",
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nabc",
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nabc\n",
        "HTTP/2 200\n\n",
        "SSH-2.0-OpenSSH\n",
        "HTTP/1.1 OK\n\n",
    ],
)
def test_incomplete_and_invalid_responses(text: str) -> None:
    with pytest.raises(BadResponse):
        read(text)
