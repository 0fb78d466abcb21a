"""Network routes to a service: direct, or through the proxy in the environment."""

from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.wire.call_errors import Unsupported

_PORTS = {"http": 80, "https": 443}


class Proxy(NamedTuple):
    """HTTP proxy that opens tunnels.

    Attributes:
        host: host name.
        port: port.
        authorization: value of ``Proxy-Authorization``; None without a user name.
    """

    host: str
    port: int
    authorization: str | None


class Route(NamedTuple):
    """Network route to a service.

    Attributes:
        host: host name.
        port: port.
        is_secure: True for TLS.
        name: value of the ``Host`` header.
        path: prefix of all request paths; usually empty.
        proxy: proxy to use; None for a direct connection.
        ca_bundle: file of trusted certificate authorities; None for the system's.
    """

    host: str
    port: int
    is_secure: bool
    name: str
    path: str
    proxy: Proxy | None = None
    ca_bundle: str | None = None


def route_to(url: str, environment: Mapping[str, str]) -> Route:
    """Return the route to `url` with the proxy settings in `environment`.

    Raises:
        Unsupported: the URL is not HTTP, or needs a proxy that cannot open tunnels.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or parts.query:
        raise Unsupported(f"the endpoint {url!r}")
    port = _port(parts)
    name = parts.hostname if port == _PORTS[parts.scheme] else f"{parts.hostname}:{port}"
    return Route(
        host=parts.hostname,
        port=port,
        is_secure=parts.scheme == "https",
        name=name,
        path=parts.path.rstrip("/"),
        proxy=_proxy(parts.scheme, parts.netloc, environment),
        ca_bundle=environment.get("AWS_CA_BUNDLE"),
    )


def _proxy(scheme: str, netloc: str, environment: Mapping[str, str]) -> Proxy | None:
    url = _variable(environment, f"{scheme}_proxy")
    if not url or _is_excepted(netloc, _variable(environment, "no_proxy")):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if scheme != "https" or parts.scheme != "http" or not parts.hostname:
        raise Unsupported(f"an {scheme} endpoint behind the {parts.scheme} proxy {parts.hostname}")
    return Proxy(parts.hostname, _port(parts), _authorization(parts.username, parts.password))


def _port(parts: SplitResult) -> int:
    try:
        return parts.port or _PORTS[parts.scheme]
    except ValueError as error:
        raise Unsupported(f"the port of {parts.scheme}://{parts.hostname}: {error}") from None


def _variable(environment: Mapping[str, str], name: str) -> str:
    # Lower case first, even if empty: `urllib.request.getproxies` and thus botocore read variables so.
    return environment.get(name, environment.get(name.upper(), ""))


def _is_excepted(netloc: str, exceptions: str) -> bool:
    """Return True if `exceptions` (``NO_PROXY``) lists the host, with or without port, or a parent domain."""
    host = netloc.lower().rpartition("@")[2]
    names = [name.strip().lstrip(".").lower() for name in exceptions.split(",")]
    return exceptions == "*" or any(
        each == name or each.endswith(f".{name}") for each in (host, host.partition(":")[0]) for name in names if name
    )


def _authorization(user: str | None, password: str | None) -> str | None:
    if user is None:
        return None
    from base64 import b64encode  # noqa: PLC0415 - few proxies need a password

    return "Basic " + b64encode(f"{unquote(user)}:{unquote(password or '')}".encode()).decode()
