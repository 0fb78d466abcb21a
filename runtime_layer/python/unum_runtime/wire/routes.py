"""How a service is reached: directly, or through the proxy that the environment names."""

from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.wire.call_errors import Unsupported

_PORTS = {"http": 80, "https": 443}


class Proxy(NamedTuple):
    """A proxy that is asked for a tunnel.

    Attributes:
        host: its name.
        port: its port.
        authorization: what ``Proxy-Authorization`` is; None where nobody is named.
    """

    host: str
    port: int
    authorization: str | None


class Route(NamedTuple):
    """The way to a service.

    Attributes:
        host: its name.
        port: its port.
        is_secure: TLS is spoken.
        name: host and port, as ``Host`` has them.
        path: before the path of every request; empty as a rule.
        proxy: on the way; None where there is none.
        ca_bundle: file of the authorities to trust; None for those that the system trusts.
    """

    host: str
    port: int
    is_secure: bool
    name: str
    path: str
    proxy: Proxy | None = None
    ca_bundle: str | None = None


def route_to(url: str, environment: Mapping[str, str]) -> Route:
    """The way to `url` from where `environment` is.

    Raises:
        Unsupported: it leads through a proxy that does not make tunnels, or is no way over HTTP.
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
    url = _either(environment, f"{scheme}_proxy")
    if not url or _is_excepted(netloc, _either(environment, "no_proxy")):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if scheme != "https" or parts.scheme != "http" or not parts.hostname:
        raise Unsupported(f"the way over a proxy from {scheme} to {parts.scheme}")
    return Proxy(parts.hostname, _port(parts), _authorization(parts.username, parts.password))


def _port(parts: SplitResult) -> int:
    try:
        return parts.port or _PORTS[parts.scheme]
    except ValueError as error:
        raise Unsupported(f"the port of {parts.scheme}://{parts.hostname}: {error}") from None


def _either(environment: Mapping[str, str], name: str) -> str:
    """What `environment` has under `name` in small letters, even if that is nothing, or else in capitals."""
    return environment.get(name, environment.get(name.upper(), ""))


def _is_excepted(netloc: str, exceptions: str) -> bool:
    """Whether `exceptions` (``NO_PROXY``) has the host, with or without its port, or a domain that it is in."""
    host = netloc.lower().rpartition("@")[2]
    names = [name.strip().lstrip(".").lower() for name in exceptions.split(",")]
    return exceptions == "*" or any(
        each == name or each.endswith(f".{name}") for each in (host, host.partition(":")[0]) for name in names if name
    )


def _authorization(user: str | None, password: str | None) -> str | None:
    if user is None:
        return None
    from base64 import b64encode  # noqa: PLC0415 - few proxies want to know

    return "Basic " + b64encode(f"{unquote(user)}:{unquote(password or '')}".encode()).decode()
