"""Connections on real sockets: reuse, reconnection, TLS, proxies."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.unit.wire.conftest import HANG_UP, Peer, answer
from unum_runtime.wire.connections import Connections
from unum_runtime.wire.responses import BadResponse, Unanswered
from unum_runtime.wire.routes import route_to

Start = Callable[..., Peer]
Over = Callable[..., Connections]
REQUEST = b"POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a self-signed certificate of localhost, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    file.write_bytes(made.public_bytes(pem) + private)
    return file


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def over() -> Iterator[Over]:
    """Return a function that opens connections to a peer or URL, closed at the end of the test."""
    made: list[Connections] = []

    def connections(to: Peer | str, **environment: str) -> Connections:
        made.append(Connections(route_to(to if isinstance(to, str) else to.url, environment)))
        return made[-1]

    yield connections
    for each in made:
        for connection in each._idle:
            connection.close()


def test_one_connection_serves_many_requests(start: Start, over: Over) -> None:
    peer = start(answer(b"1"), answer(b"2"))
    connections = over(peer)
    assert [connections.exchange(REQUEST).body for _ in range(3)] == [b"1", b"2", b"2"]
    assert [request.connection for request in peer.requests] == [1, 1, 1]
    assert peer.requests[0].body == b"body"


def test_a_connection_opened_ahead_is_used(start: Start, over: Over) -> None:
    peer = start(answer())
    connections = over(peer)
    connections.open()
    connections.exchange(REQUEST)
    assert peer.connections == 1


def test_concurrent_requests_have_separate_connections(start: Start, over: Over) -> None:
    peer = start(answer())
    connections, together = over(peer), threading.Barrier(8)

    def ask(_: int) -> bytes:
        together.wait()
        return connections.exchange(REQUEST).body

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [b"{}"] * 8
        opened = peer.connections
        assert list(pool.map(ask, range(8))) == [b"{}"] * 8
    assert 1 < opened <= peer.connections <= 8


def test_a_closed_idle_connection_is_replaced(start: Start, over: Over) -> None:
    peer = start(answer())
    connections = over(peer)
    connections.exchange(REQUEST)
    peer.hang_up()
    assert connections.exchange(REQUEST).status == 200
    assert [request.connection for request in peer.requests] == [1, 2]


def test_an_idle_connection_closed_during_a_request_is_replaced(start: Start, over: Over) -> None:
    peer = start(answer(), HANG_UP, answer(b"again"))
    connections = over(peer)
    connections.exchange(REQUEST)
    assert connections.exchange(REQUEST).body == b"again"
    assert [request.connection for request in peer.requests] == [1, 1, 2]


def test_a_new_connection_closed_by_the_server_is_an_error(start: Start, over: Over) -> None:
    peer = start(HANG_UP)
    with pytest.raises(Unanswered):
        over(peer).exchange(REQUEST)
    assert len(peer.requests) == 1


def test_an_incomplete_response_is_an_error_and_closes_the_connection(start: Start, over: Over) -> None:
    peer = start(answer(), answer(b"12345")[:-2] + b"...", answer(b"whole"))
    connections = over(peer)
    connections.exchange(REQUEST)
    with pytest.raises(BadResponse):
        connections.exchange(REQUEST)
    assert connections.exchange(REQUEST).body == b"whole"
    assert [request.connection for request in peer.requests] == [1, 1, 2]


def test_a_connection_closed_by_the_server_is_not_kept(start: Start, over: Over) -> None:
    peer = start(answer(b"", "200 OK", "Connection: close"))
    connections = over(peer)
    assert [connections.exchange(REQUEST).status for _ in range(2)] == [200, 200]
    assert [request.connection for request in peer.requests] == [1, 2]


def test_no_server(over: Over) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        over(f"http://localhost:{port}").exchange(REQUEST)


def test_tls_with_a_custom_ca_bundle(start: Start, over: Over, tls: ssl.SSLContext, certificate: Path) -> None:
    peer = start(answer(), tls=tls)
    connections = over(peer, AWS_CA_BUNDLE=str(certificate))
    assert [connections.exchange(REQUEST).status for _ in range(2)] == [200, 200]
    assert peer.connections == 1
    peer.hang_up()
    assert connections.exchange(REQUEST).status == 200


def test_tls_with_an_untrusted_certificate(start: Start, over: Over, tls: ssl.SSLContext) -> None:
    peer = start(answer(), tls=tls)
    with pytest.raises(ssl.SSLCertVerificationError):
        over(peer).exchange(REQUEST)
    assert peer.requests == []


def test_tls_with_a_certificate_for_another_name(
    start: Start, over: Over, tls: ssl.SSLContext, certificate: Path
) -> None:
    peer = start(answer(), tls=tls)
    connections = over(peer.url.replace("localhost", "127.0.0.1"), AWS_CA_BUNDLE=str(certificate))
    with pytest.raises(ssl.SSLCertVerificationError):
        connections.exchange(REQUEST)


class Tunnels:
    """Proxy that opens tunnels for authenticated clients."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                accepted, _ = self._listener.accept()
                with accepted:
                    self._serve(accepted)

    def _serve(self, client: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            if not (byte := client.recv(1)):  # another program looked whether its own server listens here
                return
            head += byte
        self.asked.append(head)
        if b"Proxy-Authorization: Basic bWU6YUBi\r\n" not in head:
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        host, port = head.split()[1].decode().split(":")
        with socket.create_connection((host, int(port))) as server:
            client.sendall(b"HTTP/1.0 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pump, args=(server, client))
            back.start()
            _pump(client, server)
            back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def tunnels() -> Iterator[Tunnels]:
    proxy = Tunnels()
    yield proxy
    proxy.close()


def test_tls_through_a_tunnel(
    tunnels: Tunnels, start: Start, over: Over, tls: ssl.SSLContext, certificate: Path
) -> None:
    peer = start(answer(), tls=tls)
    proxy = f"http://me:a%40b@localhost:{tunnels.port}"
    connections = over(peer, AWS_CA_BUNDLE=str(certificate), HTTPS_PROXY=proxy)
    assert [connections.exchange(REQUEST).status for _ in range(2)] == [200, 200]
    (asked,) = tunnels.asked
    assert asked.startswith(f"CONNECT localhost:{peer.port} HTTP/1.1\r\nHost: localhost:{peer.port}\r\n".encode())


def test_a_tunnel_that_is_refused(tunnels: Tunnels, start: Start, over: Over, tls: ssl.SSLContext) -> None:
    peer = start(answer(), tls=tls)
    with pytest.raises(ConnectionError, match="status 407"):
        over(peer, HTTPS_PROXY=f"http://localhost:{tunnels.port}").exchange(REQUEST)
    assert peer.connections == 0
