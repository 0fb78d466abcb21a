"""Remembered calls of one Task of a workflow, from any program."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from unum_client.polling import Pauses, Waiter
from unum_runtime.errors import CallFailed
from unum_runtime.features.memo import calling
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.states import Json


@dataclass(kw_only=True, eq=False)
class Call:
    """Call of a Task.

    Equal calls of several programs share one run. Another call with the same arguments takes up what is lost, so a
    program that died calls again.

    Attributes:
        send: sender of requests.
        waiter: clock and sleep function of polls.
        state: name of the Task.
        arguments: event of user code.
    """

    send: Callable[[dict[str, Json]], Any]
    waiter: Waiter
    state: str
    arguments: Json
    _answer: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self._answer = self.send(calling.request(self.state, self.arguments))

    def is_done(self) -> bool:
        """Return True if the call has ended; ask unless that is known."""
        if "Run" in self._answer:
            self._answer = self.send(calling.question(self.state, self._answer["Run"]))
        return "Run" not in self._answer

    def result(self, *, timeout_s: float | None = None) -> Json:
        """Wait for the end, and return what user code returned.

        Args:
            timeout_s: limit of the wait, in seconds; None for no limit.

        Raises:
            CallFailed: the run failed or was stopped; another call runs anew.
            WaitTimedOut: the run goes on; wait again, or call again.
            InvokeError: no answer; wait again, or call again.
        """
        pauses = Pauses(execution_name=self._answer.get("Run", ""), timeout_s=timeout_s, waiter=self.waiter)
        while "Run" in self._answer and not self.is_done():
            pauses.pause()
        if self._answer["Status"] == Status.SUCCEEDED:
            return parse_json(self._answer["Output"])
        raise CallFailed(self.state, self._answer["Status"], self._answer.get("Error"), self._answer.get("Cause"))


def as_completed(calls: Iterable[Call], *, timeout_s: float | None = None) -> Iterator[Call]:
    """Yield `calls` in order of completion.

    Args:
        calls: calls of one or several clients.
        timeout_s: limit of the wait for all, in seconds; None for no limit.

    Raises:
        WaitTimedOut: some have not ended; they go on.
        InvokeError: no answer; wait again for those that were not yielded.
    """
    waiting = [*calls]
    if not waiting:
        return
    pauses = Pauses(execution_name=f"{len(waiting)} calls", timeout_s=timeout_s, waiter=waiting[0].waiter)
    while True:
        done = [each for each in waiting if each.is_done()]
        yield from done
        waiting = [each for each in waiting if each not in done]
        if not waiting:
            return
        if done:
            pauses.restart()
        pauses.pause()
