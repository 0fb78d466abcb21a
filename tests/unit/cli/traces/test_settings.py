"""Settings of the exporter, from the command line and OpenTelemetry's environment variables."""

import pytest

from unum_cli.commands.command_errors import UsageError
from unum_cli.traces.exporter import PREFIX, Settings, settings


def of(given: str = "", **environment: str) -> Settings:
    return settings(given, {PREFIX + name: value for name, value in environment.items()})


@pytest.mark.parametrize(
    ("given", "environment", "url"),
    [
        ("", {}, "http://localhost:4318/v1/traces"),
        ("", {"ENDPOINT": "https://c.example/otlp/"}, "https://c.example/otlp/v1/traces"),
        ("", {"ENDPOINT": "http://a", "TRACES_ENDPOINT": "http://b/exactly"}, "http://b/exactly"),
        ("http://c:4318", {"TRACES_ENDPOINT": "http://b/exactly"}, "http://c:4318/v1/traces"),
        ("http://c:4318/v1/traces/", {}, "http://c:4318/v1/traces"),
    ],
)
def test_the_url(given: str, environment: dict[str, str], url: str) -> None:
    assert of(given, **environment).url == url


def test_headers_are_decoded() -> None:
    assert of(HEADERS="Authorization=Bearer%20a%2Cb, x-tenant = 7 ,").headers == {
        "Authorization": "Bearer a,b",
        "x-tenant": "7",
    }
    assert of(HEADERS="a=1", TRACES_HEADERS="b=2").headers == {"b": "2"}


def test_the_other_settings() -> None:
    found = of(TIMEOUT="2500", COMPRESSION="gzip", CERTIFICATE="ca.pem", CLIENT_CERTIFICATE="c.pem", CLIENT_KEY="k.pem")
    assert (found.timeout_s, found.compresses) == (2.5, True)
    assert (found.authority, found.certificate, found.key) == ("ca.pem", "c.pem", "k.pem")
    assert (of().timeout_s, of().compresses, of(COMPRESSION="none").compresses) == (10, False, False)
    assert of().tls() is None


@pytest.mark.parametrize(
    ("given", "environment", "text"),
    [
        ("order-17", {}, "--otlp: expected a URL of http or https, such as http://localhost:4318, got 'order-17'"),
        ("grpc://c:4317", {}, "--otlp: expected a URL of http or https"),
        ("", {"ENDPOINT": "c:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT: expected a URL"),
        ("http://me:secret@c", {}, "--otlp: expected a URL without a password"),
        ("", {"PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL: expected http/json or http/protobuf, got grpc"),
        ("", {"TIMEOUT": "soon"}, "OTEL_EXPORTER_OTLP_TIMEOUT: expected milliseconds, got 'soon'"),
        ("", {"COMPRESSION": "zstd"}, "OTEL_EXPORTER_OTLP_COMPRESSION: expected gzip or none, got 'zstd'"),
        ("", {"HEADERS": "secret"}, "OTEL_EXPORTER_OTLP_HEADERS: expected NAME=VALUE"),
        ("", {"HEADERS": "a=secret%0Ab"}, "OTEL_EXPORTER_OTLP_HEADERS: expected NAME=VALUE"),
    ],
)
def test_what_is_refused(given: str, environment: dict[str, str], text: str) -> None:
    with pytest.raises(UsageError) as refused:
        of(given, **environment)
    assert str(refused.value).startswith(text)
    assert "secret" not in str(refused.value)


def test_url_on_the_command_line_is_http_despite_the_environment() -> None:
    assert of("http://c:4318", PROTOCOL="grpc").url == "http://c:4318/v1/traces"
