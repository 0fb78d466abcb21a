"""Asynchronous invocation of Lambda functions."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.wire.call_errors import call_errors

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

PARALLEL_CALLS = 16
"""Calls in flight at once; each takes some 30 ms, of which Lambda's CPU works less than one."""


class LambdaClient(Protocol):
    """The call of ``boto3.client("lambda")`` that is used here, with its own parameters."""

    def invoke(self, **parameters: Any) -> Any: ...  # noqa: D102 - boto3 documents it


@dataclass(frozen=True)
class LambdaInvoker:
    """Hands events to Lambda, which queues them and delivers each at least once.

    Attributes:
        client: a Lambda client with at least `PARALLEL_CALLS` connections.
    """

    client: LambdaClient

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Invoke (address, payload) each, in parallel when there are several; returns when Lambda accepted all.

        Args:
            events: qualified function ARNs, and JSON of at most 1 MB.

        Raises:
            InvokeError: Lambda did not accept some event; others may have been accepted.
        """
        if len(events) == 1:
            self._invoke(*events[0])
            return
        for accepted in [self._pool.submit(self._invoke, *event) for event in events]:
            accepted.result()

    @cached_property
    def _pool(self) -> "ThreadPoolExecutor":
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - few functions have several successors

        return ThreadPoolExecutor(PARALLEL_CALLS)

    def _invoke(self, address: str, payload: bytes) -> None:
        try:
            self.client.invoke(FunctionName=address, InvocationType="Event", Payload=payload)
        except call_errors() as error:
            raise InvokeError(f"{address}: {error}") from error
