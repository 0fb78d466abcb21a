"""Cloud Tasks on 127.0.0.1: the emulator of ``gcloud-tasks-emulator``, with three things that it lacks.

It delivers tasks with the ID tokens that they ask for, signed by a key of this process, counts the deliveries that were
answered other than with 5xx, as Cloud Tasks does, and listens on the loopback interface alone. Its environment is
`tests/google/requirements-tasks.txt`.

Prints a JSON object with ``tasks``, host and port of the service, and ``tokens``, a URL. There ``/certs`` are the
public keys, and ``/token`` is a token with the claims of the query. Ends with its standard input.
"""

import http.server
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent import futures
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from gcloud_tasks_emulator import server
from gcloud_tasks_emulator.cloudtasks_pb2_grpc import add_CloudTasksServicer_to_server
from google.auth import crypt, jwt
from google.cloud.tasks_v2 import Queue

KEY_ID = "local"
LIFETIME_S = 3600


def new_keys() -> tuple[bytes, str]:
    """Return private key and certificate in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name, now = x509.Name([]), datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(1), now + timedelta(1))
    text = serialization.Encoding.PEM
    private = key.private_bytes(text, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    return private, builder.sign(key, hashes.SHA256()).public_bytes(text).decode()


PRIVATE, CERT = new_keys()
FORGED, _ = new_keys()


def token(email: str, audience: str, **asked: str) -> str:
    """Return an ID token as Google signs it for a service account, except for what is asked for."""
    issued = int(time.time()) - int(asked.get("age", 0))
    claims = {
        "iss": asked.get("issuer", "https://accounts.google.com"),
        "aud": audience,
        "email": email,
        "email_verified": "unverified" not in asked,
        "iat": issued,
        "exp": issued + LIFETIME_S,
    }
    signer = crypt.RSASigner.from_string(FORGED if "forged" in asked else PRIVATE, key_id=KEY_ID)
    signed: bytes = jwt.encode(signer, claims)
    return signed.decode()


class Tokens(http.server.BaseHTTPRequestHandler):
    """Certificates and tokens."""

    def do_GET(self) -> None:
        """Answer a request."""
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = (json.dumps({KEY_ID: CERT}) if parts.path == "/certs" else token(**asked)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write no log."""


answered: Counter[str] = Counter()
"""Deliveries that were answered other than with 5xx, by task."""


def send(queue_name: str, task: Any, *_: Any) -> Any:
    """Deliver a task once, with the headers of Cloud Tasks and the token for which the task asks."""
    wanted = task.http_request
    headers = {
        **wanted.headers,
        "X-CloudTasks-QueueName": queue_name,
        "X-CloudTasks-TaskName": task.name.rpartition("/")[2],
        "X-CloudTasks-TaskRetryCount": str(task.dispatch_count - 1),
        "X-CloudTasks-TaskExecutionCount": str(answered[task.name]),
    }
    account = wanted.oidc_token.service_account_email
    if account:
        headers["Authorization"] = f"Bearer {token(account, wanted.oidc_token.audience or wanted.url)}"
    try:
        return urlopen(Request(wanted.url, wanted.body, headers, method=wanted.http_method.name))  # noqa: S310 - ours
    except HTTPError as error:
        answered[task.name] += error.code < 500
        raise


def main(queues: Iterable[str]) -> None:
    """Serve until standard input ends."""
    server._make_task_request = send
    server._LOOP_SLEEP_TIME = 0.02
    state = server.QueueState("127.0.0.1", 0, -1)
    for each in queues:
        state.create_queue(None, Queue(name=each))
    service = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    add_CloudTasksServicer_to_server(server.Greeter(state), service)
    port = service.add_insecure_port("127.0.0.1:0")
    service.start()
    processor = server.Processor(state)
    processor.daemon = True
    processor.start()
    tokens = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tokens)
    threading.Thread(target=tokens.serve_forever, daemon=True).start()
    print(json.dumps({"tasks": f"127.0.0.1:{port}", "tokens": f"http://127.0.0.1:{tokens.server_port}"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # its threads would go on
