"""Client for programs with an event loop: the same client, with its calls in threads."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Any, Self

from unum_client import task_calls
from unum_client.client import Client
from unum_client.task_calls import Call

AT_ONCE = 32
"""Default number of threads, and so of calls that wait at once."""

ITERATES = frozenset({"redrive_all", "steps", "watch", "watch_progress"})
"""Methods of `Client` that return iterators; here they return asynchronous ones."""

_END = object()


class AsyncClient:
    """Client of one deployed workflow, with each method of `Client` as a coroutine, and iterators as asynchronous ones.

    Each call waits in a thread of its own pool; more calls than threads wait for one. A cancelled call stops to wait:
    its request may still be sent, and no execution is stopped.

    Attributes:
        client: the client that does the work.
    """

    def __init__(self, client: Client, *, at_once: int = AT_ONCE) -> None:
        """Take a client.

        Args:
            client: the client; its methods are safe in several threads.
            at_once: most calls that wait at once.
        """
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - most clients are used without an event loop

        self.client = client
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="unum")

    @classmethod
    def connect(cls, *, at_once: int = AT_ONCE, **address: Any) -> Self:
        """Connect to a workflow; see `Client.connect` for `address`."""
        return cls(Client.connect(**address), at_once=at_once)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads when their calls have ended; do not wait for them."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the method `name` of the client as a coroutine function, or as one that returns an async iterator."""
        method = getattr(self.client, name)
        if name.startswith("_") or not callable(method):
            raise AttributeError(f"AsyncClient has no method {name!r}; attributes are those of `client`")
        if name in ITERATES:
            return lambda *args, **named: self._iterate(partial(method, *args, **named))
        return partial(self._run, method)

    def as_completed(self, pending: Iterable[Call], *, timeout_s: float | None = None) -> AsyncIterator[Call]:
        """Yield each of the calls, of `begin_call`, when it has ended; see `task_calls.as_completed`."""
        return self._iterate(partial(task_calls.as_completed, [*pending], timeout_s=timeout_s))

    async def result(self, call: Call, *, timeout_s: float | None = None) -> Any:
        """Wait for the end of `call`; see `Call.result`."""
        return await self._run(call.result, timeout_s=timeout_s)

    async def _run(self, method: Callable[..., Any], *args: Any, **named: Any) -> Any:
        import asyncio  # noqa: PLC0415 - as above

        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(method, *args, **named))

    async def _iterate(self, begin: Callable[[], Iterator[Any]]) -> AsyncIterator[Any]:
        iterator = await self._run(lambda: iter(begin()))
        while (found := await self._run(next, iterator, _END)) is not _END:
            yield found
