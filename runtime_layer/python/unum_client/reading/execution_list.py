"""List of executions, newest first, in pages read from an index of the table, without a scan.

A page is a range of places in the index of starts. The status of each execution is that of its last step, which is
read for the executions of the page, several at the same time.

Source of the operation: AWS Step Functions API Reference, "ListExecutions".
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import NamedTuple

from unum_client.deliveries import to_datetime
from unum_client.reading.page_tokens import LARGEST_PAGE, new_token, token_content
from unum_runtime.errors import ClientError, InvalidToken
from unum_runtime.model.checkpoint import Item, Status
from unum_runtime.model.list_index import LAST, PLACE, execution_at, is_place
from unum_runtime.model.naming import Execution, Key, start_key
from unum_runtime.model.start_facts import attributes_in
from unum_runtime.model.states import Json
from unum_runtime.protocol.history.list_entries import Listed
from unum_runtime.protocol.history.start_records import end_of
from unum_runtime.store.base import Index

READERS = 16
"""Executions whose last steps are read at the same time."""

_LOG = logging.getLogger(__name__)


def _warn(key: Key, item: Item) -> None:
    """Log an index entry that does not belong to the workflow's list."""
    _LOG.warning("skipped a malformed entry of the list: item %r at %r", key, item.get(PLACE))


def checked_status(text: str | None, parameter: str = "status") -> Status | None:
    """Return the status called `text`; None for any status.

    Raises:
        ClientError: no such status.
    """
    try:
        return None if text is None else Status(text)
    except ValueError:
        raise ClientError(f"{parameter}: expected one of {[*map(str, Status)]}, got {text!r}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedExecution:
    """An execution in a list.

    Attributes:
        name: name of the execution.
        status: ``RUNNING``, or its end.
        started_at: time of the start.
        stopped_at: time of the end; None while it runs.
        attributes: attributes by name; None if the list was read without them.
    """

    name: str
    status: Status
    started_at: datetime
    stopped_at: datetime | None
    attributes: Mapping[str, str] | None = None


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

    def page(
        self,
        status: Status | None,
        *,
        limit: int,
        token: str | None,
        attributes: Mapping[str, str] | None = None,
    ) -> ExecutionPage:
        """Return a page of executions, all or with `status` and `attributes`.

        The index has neither, so a page of some of them reads up to 1,000 executions. Attributes are in start records:
        with any, only the executions that have them are asked for their status.

        Raises:
            InvalidToken: token of another list, or no token.
            NoIndex: the table has no index for lists.
            StoreError: unreadable index or execution.
        """
        size = limit if status is None and not attributes else LARGEST_PAGE
        wanted = (status, dict(attributes)) if attributes else (status,)
        newest = LAST if token is None else self._place(token, wanted)
        places = [*islice(Listed(self.index, self.workflow, _warn).newest(newest, size), size + 1)]
        shown: list[ListedExecution] = []
        looked_at = 0
        with ThreadPoolExecutor(READERS) as readers:
            for each in self._described(places[:size], attributes, readers, max(limit, READERS)):
                if len(shown) == limit:
                    break
                looked_at += 1
                shown += [each] if each is not None and status in (None, each.status) else []
        following = places[looked_at:]
        return ExecutionPage(
            executions=tuple(shown),
            token=new_token(self.workflow, *wanted, following[0]) if following else None,
        )

    def _described(
        self, places: Sequence[str], wanted: Mapping[str, str] | None, readers: ThreadPoolExecutor, size: int
    ) -> Iterator[ListedExecution | None]:
        """Yield executions at `places`, reading `size` at once; None for a filtered execution."""
        for first in range(0, len(places), size):
            yield from readers.map(partial(self._describe, wanted), places[first : first + size])

    def _describe(self, wanted: Mapping[str, str] | None, place: str) -> ListedExecution | None:
        """Return the execution at `place`; None if it lacks an attribute, or cannot be read."""
        execution = execution_at(place)
        try:
            attributes = None if wanted is None else self._attributes(execution)
            if wanted and attributes is not None and not wanted.items() <= attributes.items():
                return None
            end = end_of(self.index, self.workflow, execution)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            _LOG.warning("skipped execution %r, whose last step is malformed: %r", execution.name, error)
            return None
        return ListedExecution(
            name=execution.name,
            status=Status.RUNNING if end is None else end[0],
            started_at=to_datetime(execution.started_ms),
            stopped_at=None if end is None else to_datetime(end[1]),
            attributes=attributes,
        )

    def _attributes(self, execution: Execution) -> Mapping[str, str]:
        """Return the attributes in the start record of `execution`; none of another one that has taken its name."""
        key = start_key(self.workflow, execution.name)
        item = self.index.query(key.partition, newest=1).get(key, {})
        return attributes_in(item.get("about")) if item.get("at") == execution.started_ms else {}

    def _place(self, token: str, wanted: Sequence[Json]) -> str:
        match token_content(token):
            case [self.workflow, *found, str(place)] if found == [*wanted] and is_place(place):
                return place
        raise InvalidToken(
            f"nextToken: expected what the page before returned, of {self.workflow!r} with the same status and "
            f"attributes, got {token!r}"
        )
