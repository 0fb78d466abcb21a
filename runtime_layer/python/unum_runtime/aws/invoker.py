"""Asynchronous invocation of Lambda functions."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from unum_runtime.cold_start.records import dataclass
from unum_runtime.wire.call_errors import call_errors, invoke_error

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

PARALLEL_CALLS = 16
"""Maximum of concurrent calls; a call takes about 30 ms, with less than 1 ms of CPU time."""


@dataclass(frozen=True)
class LambdaInvoker:
    """Asynchronous invocations: Lambda queues each event and delivers it at least once.

    Attributes:
        client: Lambda client with at least `PARALLEL_CALLS` connections.
    """

    client: Any

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Send each (address, payload) to Lambda, several in parallel; return after Lambda accepted all.

        Args:
            events: qualified function ARNs, and JSON of at most 1 MB.

        Raises:
            InvokeError: Lambda rejected an event; it may have accepted others.
            RouteGone: Lambda refuses this caller, or the function does not exist.
        """
        if len(events) == 1:
            self._invoke(*events[0])
            return
        calls = [self._pool.submit(self._invoke, *event) for event in events]
        for call in calls:  # in order and to the end: `result` raises the error of the first rejected event
            call.result()

    @cached_property
    def _pool(self) -> "ThreadPoolExecutor":
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only for several events at once

        return ThreadPoolExecutor(PARALLEL_CALLS)

    def _invoke(self, address: str, payload: bytes) -> None:
        try:
            self.client.invoke(FunctionName=address, InvocationType="Event", Payload=payload)
        except call_errors() as error:
            raise invoke_error(address, error) from error
