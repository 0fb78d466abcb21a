"""A local HTTPS server with a certificate of its own authority."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class Asked(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]
    body: str


Answer = tuple[int, str]


class Server(NamedTuple):
    """A running server: its URL, the file of its certificate, and the requests that it got."""

    url: str
    certificate: Path
    asked: list[Asked]


@contextmanager
def https_server(folder: Path, answer: Callable[[Asked], Answer]) -> Iterator[Server]:
    """Run a server that gives the answers of `answer`, with a certificate below `folder`."""
    certificate, key = _certificate(folder)
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            asked.append(Asked(self.command, self.path, dict(self.headers.items()), body))
            status, text = answer(asked[-1])
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - names of the standard library

        def log_message(self, *_arguments: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        yield Server(f"https://127.0.0.1:{server.server_address[1]}", certificate, asked)
        server.shutdown()


def _certificate(folder: Path) -> tuple[Path, Path]:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (certificate := folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (private := folder / "key.pem").write_bytes(plain)
    return certificate, private
