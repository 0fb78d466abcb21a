"""Clients of AWS on the normal path: our own, which is small, or botocore's, where that is asked for or needed.

A function's environment may say which (`UNUM_CLIENT`): ``wire`` for our own, ``botocore`` for the other. Where our own
cannot do what the environment asks for, it is botocore's all the same; who asked for ``wire`` reads why in the log.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from threading import RLock, Thread
from typing import Any

from unum_runtime.aws.invoker import PARALLEL_CALLS
from unum_runtime.wire.call_errors import Unsupported

_CHOICES = (None, "wire", "botocore")

_CONNECT_TIMEOUT_S = 60
"""Source: botocore's `Config`, ``connect_timeout``."""

_MAKING = RLock()
"""One of a kind is made, also where a thread wants it at the same time."""


def client(service: str) -> Any:
    """The client of `service`: ``dynamodb``, ``lambda`` or ``sqs``.

    Raises:
        ValueError: `UNUM_CLIENT` names a client that there is not.
    """
    with _MAKING:
        return _client(service)


@cache
def _client(service: str) -> Any:
    try:
        return _own_client(service)
    except Unsupported as reason:
        if _environment().get("UNUM_CLIENT") == "wire":
            line = {"source": "unum", "message": f"botocore is the client of {service}", "reason": str(reason)}
            sys.stdout.write(json.dumps(line) + "\n")
        return botocore_client(service)


@cache
def _own_client(service: str) -> Any:
    """Ours.

    Raises:
        Unsupported: it is not wanted, or cannot do what the environment asks for.
        ValueError: as above.
    """
    choice = _environment().get("UNUM_CLIENT") or None
    if choice not in _CHOICES:
        raise ValueError(f"UNUM_CLIENT: expected 'wire', 'botocore' or nothing, got {choice!r}")
    if choice == "botocore":
        raise Unsupported("UNUM_CLIENT=botocore")
    from unum_runtime.wire.service_clients import wire_client  # noqa: PLC0415 - loaded while user code is, see `connecting`

    return wire_client(service, _environment())


@cache
def _environment() -> Mapping[str, str]:
    """The function's, as it was before user code was imported, which may change it, as for clients of its own."""
    return dict(os.environ)


def botocore_client(service: str, *, retries: int = 5, timeout_s: int = 60) -> Any:
    """A client of botocore's for any call, which makes up to `retries` more attempts at each, of `timeout_s` each.

    A connection may take as long as an answer, but no longer than botocore's own limit.
    """
    from botocore.config import Config  # noqa: PLC0415 - takes longer to import than all else

    config = Config(
        max_pool_connections=PARALLEL_CALLS,
        retries={"mode": "standard", "max_attempts": retries},
        tcp_keepalive=True,
        read_timeout=timeout_s,
        connect_timeout=min(timeout_s, _CONNECT_TIMEOUT_S),
    )
    region = _environment().get("AWS_DEFAULT_REGION") or _environment().get("AWS_REGION")
    with _MAKING, _as_it_was():
        return _session().create_client(service, region_name=region, config=config)


@contextmanager
def _as_it_was() -> Iterator[None]:
    """For as long as botocore makes a client, the environment is what it was before user code was imported.

    For botocore looks at it in a dozen places, most of which cannot be told another. Nothing is touched where user code
    has left alone what clients go by.
    """
    before = _environment()
    names = filter(_is_of_clients, {*before, *os.environ})
    now = {name: os.environ.get(name) for name in names if os.environ.get(name) != before.get(name)}
    _set({name: before.get(name) for name in now})
    try:
        yield
    finally:
        _set(now)


def _is_of_clients(name: str) -> bool:
    """Whether a variable says something to clients; what a sandbox is given when a snapshot is restored is of now."""
    return (name.startswith("AWS_") and not name.startswith("AWS_CONTAINER_")) or name.lower().endswith("_proxy")


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def connecting(*services: str) -> Thread:
    """A thread, started, that makes our client of each of `services` and opens a connection; botocore's do neither.

    What fails is left to the first call, which tries again and says what is wrong.
    """
    _environment()
    thread = Thread(target=_connect, args=services, daemon=True)
    thread.start()
    return thread


def _connect(*services: str) -> None:
    for service in services:
        with suppress(OSError, Unsupported, ValueError):
            with _MAKING:
                own = _own_client(service)
            own.connect()


@cache
def _session() -> Any:
    from botocore.session import get_session  # noqa: PLC0415 - takes longer to import than all else

    return get_session()
