"""Which executions there are, newest first: pages of a list that an index of the table keeps, without a scan.

A page is a range of places. The starts in it, or the ends of one status, are read from their partitions; how each of
these executions is now, the entries of ends in the same range tell, so no execution is read for itself.

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
    """The status that `given` names; None for any.

    Raises:
        ClientError: there is none.
    """
    try:
        return None if given is None else Status(given)
    except ValueError:
        raise ClientError(f"{parameter}: expected one of {[*map(str, Status)]}, got {given!r}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedExecution:
    """An execution as a list shows it.

    Attributes:
        name: its name.
        status: running, or how it ended.
        started_at: when it was started.
        stopped_at: when it ended; None while it runs.
    """

    name: str
    status: Status
    started_at: datetime
    stopped_at: datetime | None


class ExecutionPage(NamedTuple):
    """A page of a list of executions.

    Attributes:
        executions: newest first; there may be fewer than were asked for, or none, though more follow.
        token: for the page after it; None if it is the last.
    """

    executions: tuple[ListedExecution, ...]
    token: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The executions of one workflow.

    Attributes:
        index: of the workflow's store.
        workflow: its name.
    """

    index: Index
    workflow: str

    def page(self, status: Status | None, *, limit: int, token: str | None) -> ExecutionPage:
        """The executions with `status`, or all, from where `token` leads to.

        Nothing says of an execution that it runs but the lack of an end. So to find those that run, up to 1,000 starts
        are looked through for a page.

        Raises:
            InvalidToken: the token is of no page of this list.
            NoIndex: the table has no index for lists.
            StoreError: the index could not be read.
        """
        kind: Kind | Status = Kind.STARTED if status in (None, Status.RUNNING) else Status(status)
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
