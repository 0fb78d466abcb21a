"""Events through Cloud Tasks: each is a task that a queue delivers to a function's URL at least once, now or later."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cached_property
from typing import Any

from google.api_core.exceptions import GoogleAPIError
from google.cloud.tasks_v2 import HttpMethod

from unum_google.firestore import as_time
from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvokeError, NoRoute

MAX_DELAY_MS = 30 * 24 * 3600 * 1000
"""Longest delay of a task. Source: Google Cloud Tasks documentation, "Quotas and limits"."""

DELIVERY_S = 1800
"""Longest delivery of a task; later, Cloud Tasks repeats it beside the first. The default is 10 minutes. Source: Cloud
Tasks REST reference, "Task", `dispatchDeadline`."""

PARALLEL_CALLS = 16

EVENTS = "/events"
"""Path of a function's URL for events of its workflow."""


@dataclass(frozen=True)
class CloudTasks:
    """Invoker and timer of a workflow.

    Attributes:
        client: function that returns the client, a ``google.cloud.tasks_v2.CloudTasksClient``.
        queues: full name of the queue of each function, by its URL.
        account: email of the service account in whose name tasks are delivered.
        clock: current time.
    """

    client: Callable[[], Any]
    queues: Mapping[str, str]
    account: str
    clock: Clock

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Send each (URL, payload); see `Invoker.invoke`."""
        self._send([(address, payload, None) for address, payload in events])

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        """Store each (URL, payload, time) until its time; see `Timer.schedule`."""
        self._send(events)

    def post(self, address: str, path: str, payload: bytes) -> None:
        """Send `payload` to another path than that of events.

        Raises:
            InvokeError: it was not accepted.
        """
        self._create(address, payload, None, path)

    def _send(self, events: Sequence[tuple[str, bytes, int | None]]) -> None:
        if len(events) == 1:
            self._create(*events[0])
            return
        calls = [self._pool.submit(self._create, *event) for event in events]
        for call in calls:  # in order and to the end: `result` raises the error of the first rejected event
            call.result()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(PARALLEL_CALLS)

    def _create(self, address: str, payload: bytes, due_ms: int | None, path: str = EVENTS) -> None:
        queue = self.queues.get(address)
        if queue is None:
            raise NoRoute(f"queues: expected one for {address}, got {sorted(self.queues)}")
        request: dict[str, Any] = {
            "http_method": HttpMethod.POST,
            "url": f"{address}{path}",
            "headers": {"Content-Type": "application/json"},
            "body": payload,
            "oidc_token": {"service_account_email": self.account, "audience": address},
        }
        try:
            task = {"http_request": request, "dispatch_deadline": timedelta(seconds=DELIVERY_S), **self._due(due_ms)}
            self.client().create_task(parent=queue, task=task)
        except GoogleAPIError as error:
            raise InvokeError(f"{queue}: {error}") from error

    def _due(self, due_ms: int | None) -> Mapping[str, Any]:
        if due_ms is None:
            return {}
        if due_ms > self.clock.now_ms() + MAX_DELAY_MS:
            raise NoRoute(f"delay until {as_time(due_ms)}: expected at most 30 days, the limit of Cloud Tasks")
        return {"schedule_time": as_time(due_ms)}
