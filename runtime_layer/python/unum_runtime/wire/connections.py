"""HTTP connections that stay open between requests, even while Lambda freezes the sandbox between deliveries."""

import socket
from functools import cache
from typing import TYPE_CHECKING

from unum_runtime.wire.responses import Response, Unanswered, read_head, read_response
from unum_runtime.wire.routes import Proxy, Route

if TYPE_CHECKING:
    from ssl import SSLContext

TIMEOUT_S = 60
"""Time limit for connecting and for each read, in seconds; botocore's default."""


class Connection:
    """One open connection.

    Raises:
        OSError: the connection failed.
    """

    def __init__(self, route: Route) -> None:
        self._socket = _connect(route)
        self._stream = self._socket.makefile("rb")

    def exchange(self, request: bytes) -> Response:
        """Send `request` and return the response.

        Raises:
            Unanswered: the server closed the connection; `request` may have arrived.
            OSError: any other failure.
        """
        try:
            self._socket.sendall(request)
        except TimeoutError:  # a slow server may still process the request, so a new connection would not help
            raise
        except OSError as error:  # besides ConnectionError: TLS raises SSLError on a closed connection
            raise Unanswered(f"closed: {error}") from error
        try:
            return read_response(self._stream)
        except ConnectionResetError as error:
            raise Unanswered(f"closed: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()
        self._socket.close()


class Connections:
    """Pool of connections over one route, with one connection per concurrent request; threads may share it."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._idle: list[Connection] = []

    def open(self) -> None:
        """Open a connection ahead of the first request.

        Raises:
            OSError: the connection failed.
        """
        self._idle.append(Connection(self._route))

    def exchange(self, request: bytes) -> Response:
        """Send `request` and return the response.

        Raises:
            OSError: no response.
        """
        try:
            connection = self._idle.pop()
        except IndexError:
            return self._exchange(Connection(self._route), request)
        try:
            return self._exchange(connection, request)
        except Unanswered:  # a server may close an idle connection at any time; the request may thus arrive twice
            return self._exchange(Connection(self._route), request)

    def _exchange(self, connection: Connection, request: bytes) -> Response:
        try:
            response = connection.exchange(request)
        except BaseException:  # even KeyboardInterrupt: the next request must not read the rest of this response
            connection.close()
            raise
        if response.is_last:
            connection.close()
        else:
            self._idle.append(connection)
        return response


def _connect(route: Route) -> socket.socket:
    plain = _connect_to(route.host, route.port) if route.proxy is None else _open_tunnel(route, route.proxy)
    if not route.is_secure:
        return plain
    try:
        return _tls_context(route.ca_bundle).wrap_socket(plain, server_hostname=route.host)
    except OSError:
        plain.close()
        raise


def _connect_to(host: str, port: int) -> socket.socket:
    connection = socket.create_connection((host, port), TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # Nagle's algorithm would delay small requests
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # recommended by Lambda, "Best practices"
    return connection


def _open_tunnel(route: Route, proxy: Proxy) -> socket.socket:
    """Open a tunnel through `proxy`. Source: RFC 9110, section 9.3.6, "CONNECT"."""
    target = f"{route.host}:{route.port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    connection = _connect_to(proxy.host, proxy.port)
    try:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        # Unbuffered: a buffer could swallow the first bytes of the TLS handshake.
        with connection.makefile("rb", 0) as stream:
            status = read_head(stream).status
        if status // 100 != 2:  # noqa: PLR2004 - every 2xx status is success
            raise ConnectionError(f"proxy {proxy.host}:{proxy.port}: status {status} for {target}")
    except OSError:
        connection.close()
        raise
    return connection


@cache
def _tls_context(ca_bundle: str | None) -> "SSLContext":
    from ssl import create_default_context  # noqa: PLC0415 - emulator and tests need no TLS

    return create_default_context(cafile=ca_bundle)
