"""Send traces to a collector, by OTLP over HTTP with JSON.

Source: OpenTelemetry Protocol Specification, "OTLP/HTTP"; OpenTelemetry Specification, "OpenTelemetry Protocol
Exporter". Its variables for traces go before the general ones.
"""

import gzip
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from urllib.parse import unquote, urlsplit

from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.traces.conventions import ERROR
from unum_cli.traces.spans import Attribute, Link, Span, Trace
from unum_runtime.features.traces.opentelemetry import otlp_json
from unum_runtime.json_text import parse_foreign, to_ascii
from unum_runtime.model.states import Json

PREFIX = "OTEL_EXPORTER_OTLP_"
PATH = "/v1/traces"
DEFAULT_ENDPOINT = "http://localhost:4318"
DEFAULT_TIMEOUT_MS = 10_000

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""Name of a header. Source: RFC 9110, "Tokens"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to reach a collector.

    Attributes:
        url: URL of its receiver of traces.
        headers: headers of each request, by name; their values may be secrets.
        timeout_s: longest time for an answer.
        compresses: True to compress requests.
        authority: file with certificates to check the collector's; empty for those of the system.
        certificate: file with the own certificate; empty without one.
        key: file with the key of `certificate`; empty if that contains it.
    """

    url: str
    headers: Mapping[str, str]
    timeout_s: float
    compresses: bool
    authority: str = ""
    certificate: str = ""
    key: str = ""

    def tls(self) -> ssl.SSLContext | None:
        """Return how to secure connections; None for a URL of HTTP.

        Raises:
            OSError: a file with certificates cannot be read.
        """
        if not self.url.startswith("https:"):
            return None
        context = ssl.create_default_context(cafile=self.authority or None)
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key or None)
        return context


def settings(endpoint: str, environment: Mapping[str, str]) -> Settings:
    """Return the settings for the URL in ``--otlp``, empty without one, and the environment variables.

    Raises:
        UsageError: a value that OpenTelemetry does not allow, or that this command does not support.
    """
    _check_protocol(endpoint, environment)
    return Settings(
        url=_url(endpoint, environment),
        headers=_headers(_variable(environment, "HEADERS")),
        timeout_s=_timeout_ms(_variable(environment, "TIMEOUT")) / 1000,
        compresses=_compresses(_variable(environment, "COMPRESSION")),
        authority=_variable(environment, "CERTIFICATE"),
        certificate=_variable(environment, "CLIENT_CERTIFICATE"),
        key=_variable(environment, "CLIENT_KEY"),
    )


def _variable(environment: Mapping[str, str], name: str) -> str:
    # An empty variable counts as none. Source: "OpenTelemetry Environment Variable Specification".
    return environment.get(f"{PREFIX}TRACES_{name}", "") or environment.get(PREFIX + name, "")


def _url(endpoint: str, environment: Mapping[str, str]) -> str:
    exact = "" if endpoint else environment.get(f"{PREFIX}TRACES_ENDPOINT", "")
    if exact:
        return _checked(exact, f"{PREFIX}TRACES_ENDPOINT")
    base = endpoint or environment.get(f"{PREFIX}ENDPOINT", "") or DEFAULT_ENDPOINT
    url = _checked(base, "--otlp" if endpoint else f"{PREFIX}ENDPOINT").rstrip("/")
    return url if endpoint and url.endswith(PATH) else url + PATH


def _checked(url: str, where: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{where}: expected a URL of http or https, such as {DEFAULT_ENDPOINT}, got {url!r}")
    if parts.username is not None:
        raise UsageError(f"{where}: expected a URL without a password; give it as a header, in {PREFIX}HEADERS")
    return url


def _check_protocol(endpoint: str, environment: Mapping[str, str]) -> None:
    """Raise if the environment asks for gRPC; with HTTP, collectors take JSON beside Protobuf."""
    if not endpoint and _variable(environment, "PROTOCOL") == "grpc":
        raise UsageError(
            f"{PREFIX}PROTOCOL: expected http/json or http/protobuf, got grpc, which this command does not send; give "
            f"the collector's URL for HTTP, as in --otlp {DEFAULT_ENDPOINT}"
        )


def _headers(text: str) -> dict[str, str]:
    found = {}
    for entry in filter(str.strip, text.split(",")):
        name, separator, value = entry.partition("=")
        value = unquote(value.strip())
        if not separator or not _TOKEN.fullmatch(name.strip()) or not value.isprintable():
            # The entry may be a secret, so that the message must not show it.
            raise UsageError(
                f"{PREFIX}HEADERS: expected NAME=VALUE,NAME=VALUE with values as in a URL, got another text"
            )
        found[name.strip()] = value
    return found


def _timeout_ms(text: str) -> int:
    if text and not (text.isdecimal() and int(text) > 0):
        raise UsageError(f"{PREFIX}TIMEOUT: expected milliseconds, got {text!r}")
    return int(text or DEFAULT_TIMEOUT_MS)


def _compresses(text: str) -> bool:
    if text not in ("", "none", "gzip"):
        raise UsageError(f"{PREFIX}COMPRESSION: expected gzip or none, got {text!r}")
    return text == "gzip"


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
                        raise self._refused(f"{_status_text(error.code)}: {_reason_in(error.read())}") from error
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


def _reason_in(content: bytes) -> str:
    """Return the message in an answer, a ``google.rpc.Status`` as JSON, or the begin of another answer."""
    text = content.decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError):
        text = str(parse_foreign(text)["message"])
    return " ".join(text.split())[:_MOST_TEXT] or "no reason given"


def _pause_s(headers: Message, tried: int) -> float:
    """Return the time before the next request: what the collector asks for, else twice as long as before it."""
    asked = headers.get("Retry-After", "")
    return min(float(asked) if asked.isdecimal() else 2.0 ** (tried - 1), LONGEST_PAUSE_S)


MOST_SPANS = 512
"""Most spans in one request, as the batches of OpenTelemetry's exporters have: collectors limit its size."""

_STATUS_ERROR = 2
_SCOPE = {"name": "unum"}


def batches(traces: Iterable[Trace]) -> Iterator[Json]:
    """Yield ``ExportTraceServiceRequest`` objects with all spans of `traces`."""
    for trace in traces:
        for first in range(0, len(trace.spans), MOST_SPANS):
            yield {"resourceSpans": [_resource_spans(trace, trace.spans[first : first + MOST_SPANS])]}


def document(traces: Iterable[Trace]) -> dict[str, Json]:
    """Return all spans of `traces` as one ``ExportTraceServiceRequest``."""
    return {"resourceSpans": [_resource_spans(trace, trace.spans) for trace in traces]}


def _resource_spans(trace: Trace, spans: Sequence[Span]) -> Json:
    return otlp_json.resource_spans(trace.resource, [(_SCOPE, [*map(_span, spans)])])


def _span(span: Span) -> Json:
    failed: Mapping[str, Attribute] = {} if span.error is None else {ERROR: span.error}
    return otlp_json.span(
        otlp_json.ids_of(span.trace_id, span.span_id),
        span.name,
        int(span.kind),
        (_nanoseconds(span.from_ms), _nanoseconds(span.to_ms)),
        parentSpanId=span.parent_id,
        attributes=otlp_json.attributes({**span.attributes, **failed}),
        events=[otlp_json.event(each.name, _nanoseconds(each.at_ms), each.attributes) for each in span.events],
        links=[*map(_link, span.links)],
        droppedLinksCount=span.dropped_links,
        status=None if span.error is None else {"code": _STATUS_ERROR, "message": span.error},
    )


def _link(link: Link) -> Json:
    return {**otlp_json.ids_of(link.trace_id, link.span_id), "attributes": otlp_json.attributes(link.attributes)}


def _nanoseconds(ms: int) -> int:
    return ms * 1_000_000
