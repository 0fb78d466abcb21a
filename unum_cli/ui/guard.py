"""Access control of the page: local requests with the secret URL, none from other sites.

A page on localhost can be reached by every site that the same browser shows, and by every user of the machine. So each
request needs a secret: once in the URL, then as a cookie that no other site makes the browser send. Names of hosts are
checked, because a hostile name may resolve to this machine. Source: OWASP Cheat Sheets, "Cross-Site Request Forgery
Prevention"; RFC 6265bis, "SameSite".

`unum ui --open` gives the browser no secret in its arguments, which every user of the machine sees. The browser opens a
file that only this user can read. It leads to a URL with a code that is good once, and for a short time: what the
browser's history keeps is worth nothing.
"""

import secrets
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from secrets import token_urlsafe
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LASTS_S = 60
_MODE = 0o600

_FILE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={url}"><title>unum</title><p><a href="{url}">Continue</a></p></html>'
)

HOST = "127.0.0.1"

_POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with "no-referrer", forms would have the origin "null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every response: no other host, no inline script, no frame, nothing kept on disk."""

_ENTRY = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">'
    '<title>unum</title><p><a href="/">Continue</a></p></html>'
)
"""The answer to the secret URL. A redirect would keep the initiator of the request, so that a link from another site
would lead to a request without the cookie; this page begins a request of its own."""


class OneTimeCode:
    """Secret that lets one request in, within a minute.

    Attributes:
        value: the secret.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.value = token_urlsafe()
        self._clock_s = clock_s
        self._ends_s = clock_s() + LASTS_S
        self._is_used = False
        self._lock = threading.Lock()

    def use(self, code: str) -> bool:
        """Return True if `code` is the code, for the first time and in time."""
        with self._lock:
            if not compare_digest(code.encode(), self.value.encode()) or not self._is_good():
                return False
            self._is_used = True
            return True

    def _is_good(self) -> bool:
        return not self._is_used and self._clock_s() < self._ends_s


@contextmanager
def opened(url: str) -> Iterator[None]:
    """Open `url` in a browser by a private file, which is deleted when the URL's code is over, or after the block."""
    with tempfile.TemporaryDirectory(prefix="unum-") as folder:  # only this user can enter it
        page = Path(folder) / "open.html"
        page.touch(_MODE, exist_ok=False)
        page.write_text(_FILE.format(url=url), encoding="utf-8")
        remover = threading.Timer(LASTS_S, page.unlink, kwargs={"missing_ok": True})
        remover.daemon = True
        remover.start()
        webbrowser.open(page.as_uri())
        try:
            yield
        finally:
            remover.cancel()


@dataclass(frozen=True)
class Secrets:
    """Secrets of one run of the page.

    Attributes:
        port: port of the page.
        token: secret in the URL.
        session: value of the cookie.
        csrf: secret in the page's forms.
        code: secret that `unum ui --open` gives to the browser.
    """

    port: int
    token: str = field(default_factory=secrets.token_urlsafe, repr=False)
    session: str = field(default_factory=secrets.token_urlsafe, repr=False)
    csrf: str = field(default_factory=secrets.token_urlsafe, repr=False)
    code: OneTimeCode | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """The secret URL."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def url_with(self, code: OneTimeCode) -> str:
        """Return the URL that lets a browser in once."""
        return f"http://{HOST}:{self.port}/?code={code.value}"

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers do not separate cookies by port."""
        return f"unum-{self.port}"

    @property
    def origins(self) -> frozenset[str]:
        """Origins of the page's own requests."""
        return frozenset(f"http://{host}" for host in self.hosts)

    @property
    def hosts(self) -> frozenset[str]:
        """Allowed values of the ``Host`` header."""
        return frozenset((f"{HOST}:{self.port}", f"localhost:{self.port}"))


@dataclass(frozen=True)
class Guard:
    """Middleware that refuses requests without the secret, or for another host.

    Attributes:
        app: the page.
        secrets: its secrets.
    """

    app: ASGIApp
    secrets: Secrets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_POLICY)
            await send(message)

        refused = self._refusal(scope, Headers(scope=scope))
        await (refused or self.app)(scope, receive, send_with_policy)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the refusal of a forbidden request; None for an allowed request."""
        if headers.getlist("host") not in [[host] for host in self.secrets.hosts]:
            return PlainTextResponse("Expected the host 127.0.0.1 or localhost.\n", 421)
        query = parse_qs(scope["query_string"].decode("latin-1"))
        token = query.get("token", [""])[0]
        if scope["method"] == "GET" and (_equal(token, self.secrets.token) or self._has_code(query)):
            return self._entry()
        if not self._is_own(headers):
            return PlainTextResponse("Open the URL that `unum ui` printed.\n", 403)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Expected GET or POST.\n", 405)
        is_foreign = headers.get("origin", "") not in self.secrets.origins
        if scope["method"] == "POST" and is_foreign:
            return PlainTextResponse("Expected a form of this page.\n", 403)
        return None

    def _is_own(self, headers: Headers) -> bool:
        """Return True if the request has the page's cookie."""
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.secrets.cookie)
        except CookieError:
            return False
        return found is not None and _equal(found.value, self.secrets.session)

    def _has_code(self, query: dict[str, list[str]]) -> bool:
        """Return True for a query with the code that is good once."""
        return self.secrets.code is not None and self.secrets.code.use(query.get("code", [""])[0])

    def _entry(self) -> Response:
        response = HTMLResponse(_ENTRY)
        response.set_cookie(self.secrets.cookie, self.secrets.session, httponly=True, samesite="strict", path="/")
        return response


def is_form_of(secrets_: Secrets, form: dict[str, list[str]]) -> bool:
    """Return True if `form` has the secret of the page's forms."""
    return _equal(form.get("csrf", [""])[0], secrets_.csrf)


def _equal(text: str, expected: str) -> bool:
    return compare_digest(text.encode(), expected.encode())
