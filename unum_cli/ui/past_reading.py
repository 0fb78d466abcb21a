"""What the pages of one execution read: its description, its commits, and its definition if that is stored."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unum_cli.timing.levels import Levels, Row, Shown
from unum_cli.ui.graph_data import graph_data, told_apart
from unum_client.client import Client
from unum_client.descriptions import Description
from unum_client.reading.progress import progress
from unum_client.reading.stored_definitions import Past
from unum_compiler.cost.receipt import StoredReceipt, stored_receipt
from unum_runtime.errors import ExecutionDoesNotExist, UnumError
from unum_runtime.model.checkpoint import Checkpoint, Status
from unum_runtime.model.naming import Frames
from unum_runtime.protocol.history.timeline import Timeline


@dataclass(frozen=True)
class Reading:
    """One execution, read once.

    Attributes:
        client: client of the workflow.
        description: the execution.
        past: its commits and definitions; None if a definition is not stored.
        problem: why `past` is missing; empty otherwise.
    """

    client: Client
    description: Description
    past: Past | None
    problem: str = ""

    @classmethod
    def of(cls, client: Client, name: str) -> "Reading":
        """Read execution `name`.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            UnumError: the store did not answer.
        """
        # Status before steps: once an execution has ended, the steps read afterwards are complete.
        description = client.describe(name)
        try:
            return cls(client, description, client.past(name))
        except ExecutionDoesNotExist:
            raise
        except UnumError as error:  # the description is worth showing without a definition, too
            return cls(client, description, None, str(error))

    @property
    def is_running(self) -> bool:
        """True before the end."""
        return self.description.status is Status.RUNNING

    @cached_property
    def levels(self) -> Levels | None:
        """Levels of rows; None without a definition."""
        if self.past is None:
            return None
        last, checkpoints, earlier = self.past
        return Levels(Timeline(last, checkpoints, earlier), self.client.clock.now_ms())

    @cached_property
    def graph(self) -> Any:
        """Graph with the progress of all states; None without a definition."""
        if self.past is None or self.levels is None:
            return None
        found = progress(*self.past, now_ms=self.levels.now_ms)
        waiting = {row.state: row.status for row in self.rows() if row.status is Shown.WAITING}
        return graph_data(self.past.last, found, {**told_apart(self.past.checkpoints, found), **waiting})

    def rows(self, frames: Frames = ()) -> list[Row]:
        """Return the rows of a level; none without a definition."""
        return [] if self.levels is None else self.levels.rows(frames)

    def receipt(self) -> StoredReceipt | None:
        """Return what the execution has used; None if the store cannot tell."""
        try:
            client = self.client
            return stored_receipt(client.store, client.workflow, self.description.name, retention_s=client.retention_s)
        except UnumError:
            return None

    def checkpoint(self, key: str) -> Checkpoint | None:
        """Return the commit of the invocation named `key`; None without one."""
        return None if self.levels is None else self.levels.by_key.get(key)
