"""List of executions, newest first, in pages read from an index of the table, without a scan.

A page is a range of places. Its starts, or its ends with one status, come from their index partitions. Entries of ends
in the same range give the current status, so no execution is read.

Source of the operation: AWS Step Functions API Reference, "ListExecutions".
"""

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from unum_runtime.client.descriptions import to_datetime
from unum_runtime.client.reading.page_tokens import LARGEST_PAGE, new_token, token_content
from unum_runtime.errors import ClientError, InvalidToken
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.list_index import LAST, Kind, execution_at
from unum_runtime.model.naming import NAME_PATTERN
from unum_runtime.protocol.history.list_entries import Entry, Listed
from unum_runtime.store.base import Index

_PLACE = re.compile(rf"\d{{13}}/{NAME_PATTERN}")


def checked_status(given: str | None, parameter: str = "status") -> Status | None:
    """Return the status called `given`; None for any status.

    Raises:
        ClientError: no such status.
    """
    try:
        return None if given is None else Status(given)
    except ValueError:
        raise ClientError(f"{parameter}: expected one of {[*map(str, Status)]}, got {given!r}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedExecution:
    """An execution in a list.

    Attributes:
        name: name of the execution.
        status: ``RUNNING``, or its end.
        started_at: time of the start.
        stopped_at: time of the end; None while it runs.
    """

    name: str
    status: Status
    started_at: datetime
    stopped_at: datetime | None


class ExecutionPage(NamedTuple):
    """A page of a list of executions.

    Attributes:
        executions: newest first; may be shorter than requested, even empty, although more pages follow.
        token: token of the next page; None on the last.
    """

    executions: tuple[ListedExecution, ...]
    token: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """List of the executions of one workflow.

    Attributes:
        index: index of the workflow's store.
        workflow: name of the workflow.
    """

    index: Index
    workflow: str

    def page(self, status: Status | None, *, limit: int, token: str | None) -> ExecutionPage:
        """Return a page of executions, all or with `status`.

        Only the lack of an end shows that an execution runs, so a page of running executions reads up to 1,000 starts.

        Raises:
            InvalidToken: token of another list, or no token.
            NoIndex: the table has no index for lists.
            StoreError: unreadable index.
        """
        kind: Kind | Status = Kind.STARTED if status in (None, Status.RUNNING) else Status(status)
        # Most starts have ended, so a search for running executions reads a full page of starts.
        size = LARGEST_PAGE if status is Status.RUNNING else limit
        newest = LAST if token is None else self._place(token, status)
        listed = Listed(self.index, self.workflow)
        found = [*islice(listed.newest(kind, newest, size), size + 1)]
        now = listed.as_of_now(kind, dict(found[:size]))
        shown = [(place, entry) for place, entry in now.items() if status in (None, entry.status)]
        following = shown[limit:] or found[size:]
        return ExecutionPage(
            executions=tuple(_listed(place, entry) for place, entry in shown[:limit]),
            token=new_token(self.workflow, status, following[0][0]) if following else None,
        )

    def _place(self, token: str, status: Status | None) -> str:
        match token_content(token):
            case [self.workflow, wanted, str(place)] if wanted == status and _PLACE.fullmatch(place):
                return place
        raise InvalidToken(
            f"nextToken: expected what the page before returned, of {self.workflow!r} with the same status, "
            f"got {token!r}"
        )


def _listed(place: str, entry: Entry) -> ListedExecution:
    execution = execution_at(place)
    return ListedExecution(
        name=execution.name,
        status=entry.status,
        started_at=to_datetime(execution.started_ms),
        stopped_at=None if entry.status is Status.RUNNING else to_datetime(entry.at_ms),
    )
