"""Clients of AWS on the normal path: our own, which is small, or botocore's, where that is asked for or needed.

A function's environment may say which (`UNUM_CLIENT`): ``wire`` for our own, ``botocore`` for the other. Where our own
cannot do what the environment asks for, it is botocore's all the same; who asked for ``wire`` reads why in the log.
"""

import json
import os
import sys
from contextlib import suppress
from functools import cache
from threading import Thread
from typing import Any

from unum_runtime.aws.invoker import PARALLEL_CALLS
from unum_runtime.wire.clients import WireClient, wire_client
from unum_runtime.wire.failures import Unsupported

_CHOICES = (None, "wire", "botocore")


@cache
def client(service: str) -> Any:
    """The client of `service`: ``dynamodb``, ``lambda`` or ``sqs``.

    Raises:
        ValueError: `UNUM_CLIENT` names a client that there is not.
    """
    choice = os.environ.get("UNUM_CLIENT")
    if choice not in _CHOICES:
        raise ValueError(f"UNUM_CLIENT: expected 'wire', 'botocore' or nothing, got {choice!r}")
    if choice == "botocore":
        return botocore_client(service)
    try:
        return wire_client(service, os.environ)
    except Unsupported as reason:
        if choice == "wire":
            line = {"source": "unum", "message": f"botocore is the client of {service}", "reason": str(reason)}
            sys.stdout.write(json.dumps(line) + "\n")
        return botocore_client(service)


def botocore_client(service: str, *, retries: int = 5, timeout_s: int = 60) -> Any:
    """A client of botocore's for any call, which makes up to `retries` more attempts at each, of `timeout_s` each."""
    from botocore.config import Config  # noqa: PLC0415 - takes longer to import than all else

    config = Config(
        max_pool_connections=PARALLEL_CALLS,
        retries={"mode": "standard", "max_attempts": retries},
        tcp_keepalive=True,
        read_timeout=timeout_s,
    )
    return _session().create_client(service, config=config)


def connecting(*clients: Any) -> Thread:
    """A thread, started, that opens a connection for each of `clients`; for botocore's, the first call does.

    What fails is left to the first call, which tries again and says what is wrong.
    """
    thread = Thread(target=_connect, args=clients, daemon=True)
    thread.start()
    return thread


def _connect(*clients: Any) -> None:
    for each in clients:
        if isinstance(each, WireClient):
            with suppress(OSError):
                each.connect()


@cache
def _session() -> Any:
    from botocore.session import get_session  # noqa: PLC0415 - takes longer to import than all else

    return get_session()
