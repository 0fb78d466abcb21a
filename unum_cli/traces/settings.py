"""Settings of the exporter, from the command line and from the environment variables of OpenTelemetry.

Source: OpenTelemetry Specification, "OpenTelemetry Protocol Exporter"; the variables for traces go before the general
ones.
"""

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from unum_cli.commands.command_errors import UsageError

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


def settings(given: str, environment: Mapping[str, str]) -> Settings:
    """Return the settings for the URL in ``--otlp``, empty without one, and the environment variables.

    Raises:
        UsageError: a value that OpenTelemetry does not allow, or that this command does not support.
    """
    _check_protocol(given, environment)
    return Settings(
        url=_url(given, environment),
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


def _url(given: str, environment: Mapping[str, str]) -> str:
    exact = "" if given else environment.get(f"{PREFIX}TRACES_ENDPOINT", "")
    if exact:
        return _checked(exact, f"{PREFIX}TRACES_ENDPOINT")
    base = given or environment.get(f"{PREFIX}ENDPOINT", "") or DEFAULT_ENDPOINT
    url = _checked(base, "--otlp" if given else f"{PREFIX}ENDPOINT").rstrip("/")
    return url if given and url.endswith(PATH) else url + PATH


def _checked(url: str, where: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{where}: expected a URL of http or https, such as {DEFAULT_ENDPOINT}, got {url!r}")
    if parts.username is not None:
        raise UsageError(f"{where}: expected a URL without a password; give it as a header, in {PREFIX}HEADERS")
    return url


def _check_protocol(given: str, environment: Mapping[str, str]) -> None:
    """Raise if the environment asks for gRPC; with HTTP, collectors take JSON beside Protobuf."""
    if not given and _variable(environment, "PROTOCOL") == "grpc":
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
