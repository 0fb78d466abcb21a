"""An invocation's metadata between the Invoke API and the sandbox."""

import contextvars
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from unum_emulator.aws_lambda.recursion import Lineage


class InvocationType(StrEnum):
    """Lambda's invocation types."""

    REQUEST_RESPONSE = "RequestResponse"
    EVENT = "Event"
    DRY_RUN = "DryRun"


@dataclass(frozen=True)
class Invocation:
    """Identity of an invocation, equal in all retries of an asynchronous event.

    Attributes:
        request_id: id in the caller's `x-amzn-RequestId` and in the handler's context.
        lineage: preceding chain of requests, without this invocation.
        kind: invocation type; events from services are asynchronous.
    """

    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    lineage: Lineage = field(default_factory=Lineage.new)
    kind: InvocationType = InvocationType.EVENT


_current: contextvars.ContextVar[Invocation | None] = contextvars.ContextVar("invocation", default=None)


def current_invocation() -> Invocation:
    """Return the invocation that the Invoke API accepted, or a new one for a service's own event."""
    return _current.get() or Invocation()


@contextmanager
def as_current(invocation: Invocation) -> Iterator[None]:
    """Make `invocation` the current one in this context."""
    token = _current.set(invocation)
    try:
        yield
    finally:
        _current.reset(token)
