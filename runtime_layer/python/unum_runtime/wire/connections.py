"""Connections that are kept open between requests, also while the sandbox is frozen between two deliveries."""

import socket
from functools import cache
from typing import TYPE_CHECKING

from unum_runtime.wire.responses import Response, Unanswered, read_head, read_response
from unum_runtime.wire.routes import Proxy, Route

if TYPE_CHECKING:
    from ssl import SSLContext

TIMEOUT_S = 60
"""For connecting, and for each silence of the other side; as botocore has it."""


class Connection:
    """One connection.

    Raises:
        OSError: there is no way.
    """

    def __init__(self, route: Route) -> None:
        self._socket = _connected(route)
        self._stream = self._socket.makefile("rb")

    def exchange(self, request: bytes) -> Response:
        """The answer to `request`.

        Raises:
            Unanswered: the connection was closed meanwhile; `request` may have arrived all the same.
            OSError: something else went wrong.
        """
        try:
            self._socket.sendall(request)
        except TimeoutError:
            raise
        except OSError as error:  # of which TLS has its own
            raise Unanswered(f"closed: {error}") from error
        try:
            return read_response(self._stream)
        except ConnectionResetError as error:
            raise Unanswered(f"closed: {error}") from error

    def close(self) -> None:
        """Give it up."""
        self._stream.close()
        self._socket.close()


class Connections:
    """The connections over one route, one for each request that is under way; threads may share them."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._idle: list[Connection] = []

    def open(self) -> None:
        """Have a connection before it is needed.

        Raises:
            OSError: there is no way.
        """
        self._idle.append(Connection(self._route))

    def exchange(self, request: bytes) -> Response:
        """The answer to `request`, which may arrive twice, because a kept connection may be closed any time.

        Raises:
            OSError: there was none.
        """
        try:
            kept = self._idle.pop()
        except IndexError:
            return self._exchange(Connection(self._route), request)
        try:
            return self._exchange(kept, request)
        except Unanswered:
            return self._exchange(Connection(self._route), request)

    def _exchange(self, connection: Connection, request: bytes) -> Response:
        try:
            response = connection.exchange(request)
        except BaseException:  # whatever it was, the next request must not read what is left of this answer
            connection.close()
            raise
        if response.is_last:
            connection.close()
        else:
            self._idle.append(connection)
        return response


def _connected(route: Route) -> socket.socket:
    plain = _direct(route.host, route.port) if route.proxy is None else _tunnel(route, route.proxy)
    if not route.is_secure:
        return plain
    try:
        return _tls(route.ca_bundle).wrap_socket(plain, server_hostname=route.host)
    except OSError:
        plain.close()
        raise


def _direct(host: str, port: int) -> socket.socket:
    connected = socket.create_connection((host, port), TIMEOUT_S)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connected


def _tunnel(route: Route, proxy: Proxy) -> socket.socket:
    """Source: RFC 9110, section 9.3.6, "CONNECT"."""
    target = f"{route.host}:{route.port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    connected = _direct(proxy.host, proxy.port)
    try:
        connected.sendall("\r\n".join([*lines, "", ""]).encode())
        with connected.makefile("rb", 0) as stream:
            status = read_head(stream).status
        if status // 100 != 2:  # noqa: PLR2004 - all of them are success
            raise ConnectionError(f"proxy {proxy.host}:{proxy.port}: status {status} for {target}")
    except OSError:
        connected.close()
        raise
    return connected


@cache
def _tls(ca_bundle: str | None) -> "SSLContext":
    from ssl import create_default_context  # noqa: PLC0415 - an emulator speaks no TLS, and tests do not

    return create_default_context(cafile=ca_bundle)
