"""Hosts and origins of requests: web pages of others are refused, with and without a key.

A page that the user's browser shows can send requests to loopback addresses, and one whose name resolves to such an
address (DNS rebinding) reads the answers, too. Browsers tell both: ``Host`` has the page's name, ``Origin`` the page
that sends a request, and ``Sec-Fetch-Site`` where a request without origin comes from, such as an image's. Pages cannot
change these headers.
https://fetch.spec.whatwg.org/#origin-header https://www.w3.org/TR/fetch-metadata/
"""

from unum_emulator.access.requests import Request
from unum_emulator.settings import HOST

_NAMES = (HOST, "localhost")
_SAME = ("same-origin", "none")


class Origins:
    """Names of one emulator.

    Attributes:
        port: its TCP port.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._hosts = frozenset(f"{name}:{port}" for name in _NAMES)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    def is_own_host(self, request: Request) -> bool:
        """Return True if the request names this machine and port."""
        return request.host in self._hosts

    def is_foreign(self, request: Request) -> bool:
        """Return True if a web page of another origin sent `request`."""
        origin = request.origin
        if origin is not None:
            return origin not in self._origins
        return request.headers.get("sec-fetch-site", "none") not in _SAME


def is_followed_link(request: Request) -> bool:
    """Return True if a person followed a link to the request's URL, rather than a page loading it."""
    fetch = [request.headers.get(f"sec-fetch-{name}") for name in ("mode", "dest", "user")]
    return request.method == "GET" and request.origin is None and fetch == ["navigate", "document", "?1"]
