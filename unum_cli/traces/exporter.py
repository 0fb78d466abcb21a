"""Send traces to a collector, by OTLP over HTTP with JSON.

Source: OpenTelemetry Protocol Specification, "OTLP/HTTP".
"""

import gzip
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus

from unum_cli.commands.command_errors import CommandFailed
from unum_cli.traces.settings import Settings
from unum_runtime.json_text import parse_foreign, to_ascii
from unum_runtime.model.states import Json

MOST_TRIES = 5
"""Most requests for one batch that a collector refuses for the moment."""

LONGEST_PAUSE_S = 30
_MOST_TEXT = 300
"""Most characters of an answer in an error."""

_FOR_THE_MOMENT = frozenset({429, 502, 503, 504})
"""Statuses after which a request may be repeated. Source: "OTLP/HTTP", "Retryable Response Codes"."""


@dataclass(frozen=True)
class Exporter:
    """Connection to a collector.

    Attributes:
        settings: its address, and how to send.
        sleep: waits for a number of seconds.
    """

    settings: Settings
    sleep: Callable[[float], None]

    def send(self, batches: Iterable[Json]) -> None:
        """Send one request per batch, an ``ExportTraceServiceRequest``.

        Raises:
            CommandFailed: the collector cannot be reached, or refuses spans.
        """
        for batch in batches:
            self._check_accepted(self._post(to_ascii(batch, is_compact=True).encode()))

    def _post(self, body: bytes) -> bytes:
        """Send one request, again while the collector is busy, and return the answer."""
        for tried in range(1, MOST_TRIES + 1):
            try:
                return self._ask(body)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in _FOR_THE_MOMENT or tried == MOST_TRIES:
                        raise self._refused(f"{_status_text(error.code)}: {_told(error.read())}") from error
                    pause_s = _pause_s(error.headers, tried)
            except (OSError, ValueError) as error:  # URLError is an OSError
                reason = getattr(error, "reason", error)
                raise CommandFailed(
                    f"{self.settings.url}: no answer: {reason}; expected an OpenTelemetry collector that receives OTLP "
                    "over HTTP, mostly on port 4318"
                ) from error
            self.sleep(pause_s)
        raise AssertionError("the last try has returned or raised")

    def _ask(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "User-Agent": "unum-cli", **self.settings.headers}
        if self.settings.compresses:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        request = urllib.request.Request(self.settings.url, body, headers, method="POST")  # noqa: S310 - settings check it
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=self.settings.tls()), _NoRedirects)
        with opener.open(request, timeout=self.settings.timeout_s) as answer:
            content: bytes = answer.read()
            return content if "json" in answer.headers.get("Content-Type", "") else b""

    def _check_accepted(self, answer: bytes) -> None:
        """Raise if the collector has rejected a part of the spans."""
        try:
            partial = parse_foreign(answer or b"{}").get("partialSuccess") or {}
            rejected = int(partial.get("rejectedSpans", 0))
        except (ValueError, AttributeError, TypeError):
            return  # the status says that it has accepted them, whatever the answer is
        if rejected:
            raise self._refused(f"rejected {rejected} spans: {partial.get('errorMessage') or 'without a reason'}")

    def _refused(self, answer: str) -> CommandFailed:
        return CommandFailed(f"{self.settings.url}: expected the collector to accept the spans, got {answer}")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes a redirect as a refusal: urllib would follow it without the spans, and send the headers elsewhere."""

    def redirect_request(self, *_: object) -> None:
        return None


def _status_text(code: int) -> str:
    names = {each.value: each.phrase for each in HTTPStatus}
    return f"HTTP {code} {names.get(code, '')}".rstrip()


def _told(content: bytes) -> str:
    """Return the message in an answer, a ``google.rpc.Status`` as JSON, or the begin of another answer."""
    text = content.decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError):
        text = str(parse_foreign(text)["message"])
    return " ".join(text.split())[:_MOST_TEXT] or "no reason given"


def _pause_s(headers: Message, tried: int) -> float:
    """Return the time before the next request: what the collector asks for, else twice as long as before it."""
    asked = headers.get("Retry-After", "")
    return min(float(asked) if asked.isdecimal() else 2.0 ** (tried - 1), LONGEST_PAUSE_S)
