"""What one invocation carries besides its payload, from the API to the sandbox."""

import contextvars
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from unum_emulator.aws_lambda.recursion import Lineage


class InvocationType(StrEnum):
    """Lambda's ways to invoke."""

    REQUEST_RESPONSE = "RequestResponse"
    EVENT = "Event"
    DRY_RUN = "DryRun"


@dataclass(frozen=True)
class Invocation:
    """The identity of an invocation: retries of an asynchronous event keep it.

    Attributes:
        request_id: what the caller got in `x-amzn-RequestId` and the handler sees in its context.
        lineage: the chain of requests that led here, this invocation excluded.
        kind: how it was invoked; services that deliver events themselves do so asynchronously.
    """

    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    lineage: Lineage = field(default_factory=Lineage.new)
    kind: InvocationType = InvocationType.EVENT


_current: contextvars.ContextVar[Invocation | None] = contextvars.ContextVar("invocation", default=None)


def current_invocation() -> Invocation:
    """Return the invocation that the API accepted, or a new one for events that services send themselves."""
    return _current.get() or Invocation()


@contextmanager
def as_current(invocation: Invocation) -> Iterator[None]:
    """Give the invocation that starts within this identity."""
    token = _current.set(invocation)
    try:
        yield
    finally:
        _current.reset(token)
