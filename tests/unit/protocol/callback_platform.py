"""A platform with a Task that waits for somebody to hand in its result."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.states import Guard
from unum_runtime.protocol.requests import respond
from unum_runtime.protocol.runtime import CallbackPending

ASK = "arn:aws:states:::lambda:invoke.waitForTaskToken"
PAYLOAD = {"token.$": "$$.Task.Token", "input.$": "$"}
WAITING = {"Type": "Task", "Resource": ASK, "Parameters": {"FunctionName": "F", "Payload": PAYLOAD}}
ASKING = {"StartAt": "Ask", "States": {"Ask": {**WAITING, "End": True}}}
AGAIN = [{"ErrorEquals": ["Again"], "IntervalSeconds": 1, "MaxAttempts": 2}]


@dataclass
class Asking:
    """A platform with a Task `Ask` that waits, one `Before` and one `After` it."""

    platform: Platform
    tokens: list[str]
    later: list[tuple[int, Envelope]] = field(default_factory=list)

    def begun(self) -> str:
        """An execution that waits, and its token."""
        self.platform.start()
        self.platform.deliver_all()
        return self.tokens[-1]

    def event(self) -> Envelope:
        """The event for `Ask`, not delivered yet."""
        self.platform.start()
        (event,) = self.platform.sent
        self.platform.sent = []
        return event

    def answer(self, token: str, result: Any = "yes", request: str = "") -> None:
        outcome = result if isinstance(result, Failure) else Success(result)
        respond.send_result(self.platform.runtime(), token, outcome, request)

    def answered(self, token: str, result: Any = "yes", request: str = "") -> None:
        """The answer, and all that follows."""
        self.answer(token, result, request)
        self.platform.deliver_all()

    def beat(self, token: str) -> None:
        respond.beat(self.platform.runtime(), token)

    def pass_time(self, seconds: float) -> None:
        """Time passes; what is due is delivered, in order."""
        clock = self.platform.clock
        end_ms = clock.ms + int(seconds * 1000)
        while self.later and self.later[0][0] <= end_ms:
            due_ms, event = self.later.pop(0)
            clock.ms = max(clock.ms, due_ms)
            self.deliver(event)
            self.platform.deliver_all()
        clock.ms = end_ms

    def deliver(self, event: Envelope) -> str | None:
        """Deliver the event and return the reason of a refusal, if any."""
        try:
            self.platform.deliver(event)
        except RefusedDelivery as refused:
            return str(refused)
        return None

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        before = self.platform.sent
        self.platform.sent = []
        for address, payload, due_ms in events:
            self.platform.invoke([(address, payload)])
            self.later.append((due_ms, self.platform.sent.pop()))
        self.platform.sent = before
        self.later.sort(key=lambda each: each[0])

    @property
    def outcome(self) -> Any:
        ending = self.platform.ending()
        return ending and ending.outcome


def asking(code: Callable[[Any], Any] | None = None, guard: Guard = Guard.READ, **fields: Any) -> Asking:
    tokens: list[str] = []

    def ask(event: Any) -> Any:
        if event["token"] not in tokens:
            tokens.append(event["token"])
        return code(event) if code else CallbackPending()

    definition = chain("F/Before", "F/Ask", "F/After")
    definition["States"]["Ask"] |= {**WAITING, **fields}
    options = {"F": FunctionOptions(guard=guard)}
    platform = Platform.of(definition, options, F=lambda event: ask(event) if "token" in (event or ()) else event)
    found = Asking(platform, tokens)
    platform.options["timer"] = found
    platform.options["own_address"] = "F:1"
    return found


@contextmanager
def broken(part: Any, method: str, error: Exception) -> Iterator[None]:
    """While `method` of `part` fails, which fails what is inside."""

    def fail(*_arguments: Any, **_named: Any) -> Any:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, method, fail)
        with pytest.raises(type(error)):
            yield
