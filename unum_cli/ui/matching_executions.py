"""Executions that match filters, page by page.

The index of executions is ordered by start time and knows no other property. So filters are applied to what it lists,
and a page ends after `MOST_LISTED` executions, however few of them match.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from unum_client.client import Client
from unum_client.reading.execution_list import ExecutionPage, ListedExecution
from unum_runtime.errors import ExecutionDoesNotExist, NoIndex
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.naming import is_name

PAGE = 50
MOST_LISTED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Filters.

    Attributes:
        status: required status; None for any.
        name: part of the name; empty for any.
        since: earliest start; None for any.
        until: latest start; None for any.
        attributes: required attributes.
    """

    status: Status | None = None
    name: str = ""
    since: datetime | None = None
    until: datetime | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)

    def admits(self, execution: ListedExecution) -> bool:
        """Return True if `execution` passes all filters."""
        return (
            self.name in execution.name
            and self.status in (None, execution.status)
            and (self.since is None or execution.started_at >= self.since)
            and (self.until is None or execution.started_at <= self.until)
            and self.attributes.items() <= (execution.attributes or {}).items()
        )


@dataclass(frozen=True, slots=True)
class Matching:
    """A page of executions.

    Attributes:
        executions: newest first.
        token: token of the next page; None on the last.
        problem: why executions cannot be listed; empty if they can.
    """

    executions: tuple[ListedExecution, ...]
    token: str | None
    problem: str = ""


def matching(client: Client, wanted: Wanted, token: str | None) -> Matching:
    """Return the page after `token`, by default the first.

    An execution of exactly the wanted name is found in any case, because its name is its address.

    Raises:
        InvalidToken: `token` belongs to another list.
        StoreError: the store did not answer.
    """
    exact = _exact(client, wanted) if token is None else None
    found = [] if exact is None else [exact]
    known = {each.name for each in found}
    try:
        for _ in range(MOST_LISTED // PAGE):
            page = client.list(wanted.status, limit=PAGE, token=token, attributes=wanted.attributes)
            found += [each for each in page.executions if wanted.admits(each) and each.name not in known]
            token = None if _is_over(page, wanted) else page.token
            if token is None or len(found) >= PAGE:
                break
    except NoIndex as error:
        return Matching(tuple(found), None, str(error))
    return Matching(tuple(found), token)


def _is_over(page: ExecutionPage, wanted: Wanted) -> bool:
    """Return True if all further executions started too early."""
    return wanted.since is not None and bool(page.executions) and page.executions[-1].started_at < wanted.since


def _exact(client: Client, wanted: Wanted) -> ListedExecution | None:
    if not is_name(wanted.name):
        return None
    try:
        one = client.describe(wanted.name)
    except ExecutionDoesNotExist:
        return None
    listed = ListedExecution(
        name=one.name,
        status=one.status,
        started_at=one.started_at,
        stopped_at=one.stopped_at,
        attributes=one.attributes,
    )
    return listed if wanted.admits(listed) else None
