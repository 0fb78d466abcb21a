"""AWS clients for the hot path: the runtime's small HTTP client ("wire"), or botocore on request or as a fallback.

The function's environment selects one with `UNUM_CLIENT`: ``wire`` or ``botocore``. Without the variable, wire clients
are used wherever they support the environment, botocore elsewhere. With ``wire``, the log gives the reason for a
fallback.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from threading import RLock, Thread
from typing import Any

from unum_runtime.aws.invoker import PARALLEL_CALLS
from unum_runtime.json_text import to_ascii
from unum_runtime.wire.call_errors import Unsupported

_CHOICES = (None, "wire", "botocore")

_CONNECT_TIMEOUT_S = 60
"""Default of ``connect_timeout`` in botocore's `Config`."""

_CREATION_LOCK = RLock()
"""Lock around the creation of clients: the connection thread and the first delivery must share one client."""


def client(service: str) -> Any:
    """Return the cached client of `service`: ``dynamodb``, ``lambda``, ``sqs`` or ``events``.

    Raises:
        ValueError: `UNUM_CLIENT` has an unknown value.
    """
    with _CREATION_LOCK:
        return _client(service)


@cache
def _client(service: str) -> Any:
    try:
        return _wire_client(service)
    except Unsupported as reason:
        if _environment().get("UNUM_CLIENT") == "wire":
            line = {"source": "unum", "message": f"botocore is the client of {service}", "reason": str(reason)}
            sys.stdout.write(to_ascii(line) + "\n")
        return botocore_client(service)


@cache
def _wire_client(service: str) -> Any:
    """Return the cached wire client of `service`.

    Raises:
        Unsupported: the environment selects botocore, or needs a feature that wire clients lack.
        ValueError: `UNUM_CLIENT` has an unknown value.
    """
    choice = _environment().get("UNUM_CLIENT") or None
    if choice not in _CHOICES:
        raise ValueError(f"UNUM_CLIENT: expected 'wire', 'botocore' or nothing, got {choice!r}")
    if choice == "botocore":
        raise Unsupported("UNUM_CLIENT=botocore")
    from unum_runtime.wire.service_clients import wire_client  # noqa: PLC0415 - in parallel with user code

    return wire_client(service, _environment())


@cache
def _environment() -> Mapping[str, str]:
    """Return the function's environment as of before the import of user code.

    User code may change variables for its own clients; the runtime's clients must not follow.
    """
    return dict(os.environ)


def botocore_client(service: str, *, retries: int = 5, timeout_s: int = 60, signature: str | None = None) -> Any:
    """Create a botocore client: up to `retries` retries, each attempt limited to `timeout_s` seconds.

    The connect timeout equals the read timeout, up to botocore's default. `signature` is botocore's name of a signature
    version; default: the service's.
    """
    from botocore.config import Config  # noqa: PLC0415 - the slowest import of a cold start

    config = Config(
        max_pool_connections=PARALLEL_CALLS,
        retries={"mode": "standard", "max_attempts": retries},
        tcp_keepalive=True,
        read_timeout=timeout_s,
        connect_timeout=min(timeout_s, _CONNECT_TIMEOUT_S),
        signature_version=signature,
    )
    region = _environment().get("AWS_DEFAULT_REGION") or _environment().get("AWS_REGION")
    with _CREATION_LOCK, _original_environment():
        return _session().create_client(service, region_name=region, config=config)


@contextmanager
def _original_environment() -> Iterator[None]:
    """Restore environment variables that user code changed, while botocore creates a client.

    botocore reads variables in a dozen places, most without a parameter. Nothing changes unless user code changed a
    variable that configures clients.
    """
    before = _environment()
    names = filter(_configures_clients, {*before, *os.environ})
    now = {name: os.environ.get(name) for name in names if os.environ.get(name) != before.get(name)}
    _set_variables({name: before.get(name) for name in now})
    try:
        yield
    finally:
        _set_variables(now)


def _configures_clients(name: str) -> bool:
    """Return True if botocore reads the variable for credentials, region, endpoints or proxies."""
    # A restored SnapStart snapshot gets new AWS_CONTAINER_* values, which point to valid credentials
    # (Lambda Developer Guide, "Defined runtime environment variables"): the old ones must not come back.
    return (name.startswith("AWS_") and not name.startswith("AWS_CONTAINER_")) or name.lower().endswith("_proxy")


def _set_variables(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def start_connecting(*services: str) -> Thread:
    """Start and return a thread that creates and connects wire clients of `services`; botocore clients are skipped.

    Errors are left to the first call, which retries and reports them.
    """
    _environment()  # copied now, while user code has not run yet
    # Daemon: a connection attempt that hangs must not delay the sandbox's shutdown.
    thread = Thread(target=_connect, args=services, daemon=True)
    thread.start()
    return thread


def _connect(*services: str) -> None:
    for service in services:
        with suppress(OSError, Unsupported, ValueError):
            with _CREATION_LOCK:
                client = _wire_client(service)
            client.connect()


@cache
def _session() -> Any:
    from botocore.session import get_session  # noqa: PLC0415 - the slowest import of a cold start

    return get_session()
