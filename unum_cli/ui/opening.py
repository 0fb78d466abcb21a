"""Opening of the page in a browser, without a secret in the browser's arguments, which every user of the machine sees.

The browser opens a file that only this user can read. It leads to a URL with a code that is good once, and for a short
time: what the browser's history keeps is worth nothing.
"""

import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe

LASTS_S = 60
_MODE = 0o600

_FILE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={url}"><title>unum</title><p><a href="{url}">Continue</a></p></html>'
)


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

    def use(self, given: str) -> bool:
        """Return True if `given` is the code, for the first time and in time."""
        with self._lock:
            if not compare_digest(given.encode(), self.value.encode()) or not self._is_good():
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
