"""Redrive listed executions one by one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from unum_client.control import Redriven, checked_on
from unum_client.reading.execution_list import ExecutionPage, ListedExecution
from unum_runtime.errors import ClientError, UnumError
from unum_runtime.model.checkpoint import Status
from unum_runtime.protocol.control.operator_requests import On

REDRIVABLE = (Status.FAILED, Status.TIMED_OUT, Status.ABORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedriveResult:
    """Result of one redrive.

    Attributes:
        name: execution name.
        redriven: time of the redrive, with the versions and the reason of their choice; None if it was refused.
        error: name of the error; None if it was redriven.
        message: text of the error for humans; None if it was redriven.
    """

    name: str
    redriven: Redriven | None
    error: str | None = None
    message: str | None = None


def redrive_all(
    page: Callable[..., ExecutionPage],
    redrive: Callable[..., Redriven],
    status: Status | str,
    *,
    since: datetime | None = None,
    on: On | str | None = None,
) -> Iterator[RedriveResult]:
    """Redrive executions with one status; yield each result. A refused execution does not stop the others.

    Args:
        page: returns a page of the list, as `Client.list`.
        redrive: redrives one execution, as `Control.redrive`.
        status: FAILED, TIMED_OUT or ABORTED.
        since: earliest end, with a time zone; None for all that are listed.
        on: as in `Control.redrive`.

    Raises:
        ClientError: another status or another `on`, or `since` has no time zone.
        NoIndex: the table has no index for lists; the text says how to add it.
        StoreError: the index could not be read.
    """
    if status not in REDRIVABLE:
        raise ClientError(f"status: expected one of {[*map(str, REDRIVABLE)]}, which can be redriven, got {status!r}")
    if since is not None and since.tzinfo is None:
        raise ClientError(f"since: expected a time with a time zone, got {since!r}")
    # All names are read before the first redrive, which changes the list.
    names = [each.name for each in _listed(status, page) if since is None or (each.stopped_at or since) >= since]
    return _results(names, partial(redrive, on=checked_on(on)))


def _results(names: list[str], redrive: Callable[[str], Redriven]) -> Iterator[RedriveResult]:
    for name in names:
        try:
            yield RedriveResult(name=name, redriven=redrive(name))
        except UnumError as error:
            yield RedriveResult(name=name, redriven=None, error=type(error).__name__, message=str(error))


def _listed(status: Status | str, page: Callable[..., ExecutionPage]) -> Iterator[ListedExecution]:
    found = page(status, limit=0)
    yield from found.executions
    while found.token is not None:
        found = page(status, limit=0, token=found.token)
        yield from found.executions
