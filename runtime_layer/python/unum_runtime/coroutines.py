"""Results of asynchronous handlers.

Handlers may be ``async def``, or return what can be awaited. A process has one event loop for them, which outlives
deliveries, so clients that user code keeps in globals stay usable: in the main thread, where Lambda runs handlers, or
in a thread of its own, if handlers run in several threads or beneath a running loop. Nothing here imports `asyncio`
before the first asynchronous handler.
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

Handler: TypeAlias = Callable[[Any, Any], Any]

GRACE_S = 1.0
"""Time in seconds for a cancelled coroutine to clean up, before it is abandoned."""


class Interruption(BaseException):
    """Interruption of user code whose time is over; no `Exception`, so that user code does not catch it by accident."""


_loops: "dict[str, AbstractEventLoop]" = {}
"""The loop that runs `_HERE`, in the main thread, and that for all else, as far as they were needed."""

_HERE, _ELSEWHERE = "main thread", "other threads"

_lock = threading.Lock()
_at_work: "list[Task[Any]]" = []
"""The coroutine that the main thread runs, if any; emptied when it is cancelled."""


def awaiting(handler: Handler) -> Handler:
    """Return `handler` with its result awaited, if that can be awaited."""

    def handle(event: Any, context: Any) -> Any:
        return finish(handler(event, context))

    return handle


def finish(returned: Any, timeout_s: float | None = None) -> Any:
    """Return what `returned` awaits to; `returned` itself if it cannot be awaited.

    Args:
        returned: result of a handler.
        timeout_s: limit in seconds outside the main thread, where no alarm can interrupt; None for no limit.

    Raises:
        Interruption: the limit has passed, or `cancel_running` has cancelled it.
        concurrent.futures.CancelledError: user code has cancelled itself.
    """
    if not hasattr(returned, "__await__"):
        return returned
    import asyncio  # noqa: PLC0415 - most handlers are functions

    try:
        return _run_elsewhere(returned, timeout_s) if _is_elsewhere() else _run_here(returned)
    except asyncio.CancelledError as error:
        _raise_cancelled(error)
    except Exception as error:
        # The frames of the loop say nothing about user code.
        error.__traceback__ = _user_frames(error.__traceback__)
        raise


def cancel_running() -> bool:
    """Cancel the main thread's coroutine, so that it can clean up; a signal handler may call this.

    Returns False if none runs, or it has been cancelled before.
    """
    if not _at_work:
        return False
    task = _at_work.pop()
    task.get_loop().call_soon_threadsafe(task.cancel)
    return True


async def _await(awaitable: Any) -> Any:
    return await awaitable


def _is_elsewhere() -> bool:
    """Return True if the main thread's loop cannot run here: in another thread, or beneath a running loop."""
    import asyncio  # noqa: PLC0415 - as in `finish`

    if threading.current_thread() is not threading.main_thread():
        return True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_here(awaitable: Any) -> Any:
    loop = _loop(_HERE)
    task = loop.create_task(_await(awaitable))
    _at_work.append(task)
    try:
        result = loop.run_until_complete(task)
        is_late = not _at_work  # user code has swallowed the cancellation
    except Interruption:
        # Whatever stands still in this loop, the next delivery must not run it.
        loop.close()
        del _loops[_HERE]
        raise
    except BaseException:
        # A task that `cancel_running` has cancelled ends with `CancelledError`, which is no `Exception`; and a
        # `SystemExit` of user code must pass here, too.
        if task.cancelled() and not _at_work:
            raise Interruption from None
        raise
    finally:
        _at_work.clear()
    if is_late:
        raise Interruption
    return result


def _run_elsewhere(awaitable: Any, timeout_s: float | None) -> Any:
    import asyncio  # noqa: PLC0415 - as in `finish`

    future = asyncio.run_coroutine_threadsafe(_await(awaitable), _loop(_ELSEWHERE))
    try:
        return future.result(timeout_s)
    except TimeoutError:
        if future.done():  # by user code itself
            raise
        future.cancel()
        raise Interruption from None


def _loop(place: str) -> "AbstractEventLoop":
    with _lock:
        if place not in _loops:
            _loops[place] = _start_loop(place)
        return _loops[place]


def _start_loop(place: str) -> "AbstractEventLoop":
    import asyncio  # noqa: PLC0415 - as in `finish`
    import atexit  # noqa: PLC0415 - as in `finish`

    loop = asyncio.new_event_loop()
    if place == _HERE:
        atexit.register(loop.close)
    else:
        threading.Thread(target=loop.run_forever, name="coroutines of handlers", daemon=True).start()
    return loop


def _raise_cancelled(error: BaseException) -> NoReturn:
    """Raise an exception in place of asyncio's, which is none and would end the delivery instead of the Task."""
    from concurrent.futures import CancelledError  # noqa: PLC0415 - loaded with asyncio

    raise CancelledError(*error.args) from error


def _user_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return the frames of `trace` from user code's coroutine on; all frames without such a coroutine."""
    rest = trace
    while rest is not None:
        if rest.tb_frame.f_code is _await.__code__:
            return rest.tb_next or trace
        rest = rest.tb_next
    return trace
