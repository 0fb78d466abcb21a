"""Workflows on the page: one stack's, all stacks', or one by its table's name."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TypeAlias

from unum_cli.logs.search import LogSearch
from unum_client.client import Client

STALE_S = 15
"""Time after which stacks are listed again, so that a new deployment appears."""


@dataclass(frozen=True)
class Place:
    """A deployed workflow.

    Attributes:
        stack: name of its stack; ``-`` for a workflow that was named by its table.
        workflow: name of the workflow.
        connect: makes a client of the workflow.
        search: makes a search in its logs; None without access to them.
    """

    stack: str
    workflow: str
    connect: Callable[[], Client] = field(repr=False)
    search: Callable[[Client], LogSearch] | None = field(default=None, repr=False)

    @property
    def path(self) -> str:
        """Path of the workflow's pages."""
        return f"/{self.stack}/{self.workflow}"

    @cached_property
    def client(self) -> Client:
        """Client of the workflow, made on first use: clients of AWS take a while to make.

        Raises:
            ClientError: the stack's outputs are not those of a workflow.
        """
        return self.connect()

    @cached_property
    def logs(self) -> LogSearch | None:
        """Search in the workflow's logs; None without access to them."""
        return None if self.search is None else self.search(self.client)


Address: TypeAlias = tuple[str, str]
"""Stack and workflow."""


@dataclass
class Directory:
    """Deployed workflows, listed when they are asked for; safe to use from several threads.

    Attributes:
        listed: lists all workflows.
        clock_s: monotonic time in seconds.
    """

    listed: Callable[[], Mapping[Address, Place]]
    clock_s: Callable[[], float] = time.monotonic
    _known: Mapping[Address, Place] = field(default_factory=dict)
    _until_s: float = -1
    _lock: Lock = field(default_factory=Lock)

    def places(self) -> Mapping[Address, Place]:
        """Return all workflows by stack and name."""
        with self._lock:
            if self.clock_s() >= self._until_s:
                self._known = self.listed()
                # A page without workflows waits for the first deployment, which should appear at once.
                self._until_s = self.clock_s() + (STALE_S if self._known else 0)
            return self._known
