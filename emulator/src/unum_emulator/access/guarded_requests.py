"""Undecoded requests, which the guard of the emulator checks, and the error of a refusal."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, unquote_plus


@dataclass(frozen=True)
class Request:
    """A request's head.

    Attributes:
        method: HTTP method.
        raw_path: path, percent-encoded as the client sent it.
        query: query string, encoded as sent, without its question mark.
        headers: values by lower-case name; values of repeated headers are joined by commas, as signatures read them.
        repeated: names of headers that came more than once.
    """

    method: str
    raw_path: str
    query: str
    headers: Mapping[str, str]
    repeated: frozenset[str]

    @classmethod
    def of(cls, method: str, target: str, fields: Iterable[tuple[bytes, bytes]]) -> "Request":
        """Return the request with this target (path and query) and these header fields, named in lower case.

        Latin-1 keeps all bytes of a value, so a signature is computed from the bytes that were sent.
        """
        raw_path, _, query = target.partition("?")
        headers: dict[str, str] = {}
        repeated = set()
        for raw_name, raw_value in fields:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            if name in headers:
                repeated.add(name)
                value = f"{headers[name]},{value}"
            headers[name] = value
        return cls(method, raw_path, query, headers, frozenset(repeated))

    @property
    def host(self) -> str:
        """Value of the ``Host`` header."""
        return self.headers.get("host", "")

    @property
    def origin(self) -> str | None:
        """Origin of the web page that sent the request; None without one."""
        return self.headers.get("origin")

    @property
    def path(self) -> str:
        """The decoded path."""
        return unquote(self.raw_path)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """Decoded names and values of the query string, in its order."""
        if not self.query:
            return []
        pairs = [part.partition("=")[::2] for part in self.query.split("&") if part]
        return [(unquote_plus(name), unquote_plus(value)) for name, value in pairs]

    def parameter(self, name: str) -> str:
        """Return the value of a query parameter, or an empty text."""
        return next((value for found, value in self.parameters if found == name), "")


class AccessRefusedError(Exception):
    """Refused request.

    Attributes:
        code: AWS's code for the error.
        message: what the request had, what is allowed, and what to do.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
