"""The response alias of a workflow with a Task that waits for somebody, in this process."""

import json
from dataclasses import dataclass, field
from typing import Any

from tests.unit.protocol.platform import Platform
from unum_runtime.errors import InvokeError
from unum_runtime.protocol.requests import respond
from unum_runtime.protocol.runtime import CallbackPending

ALIAS = "arn:aws:lambda:us-east-1:000000000000:function:entry:respond-w"
WAITING = {
    "Type": "Task",
    "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
    "Parameters": {"FunctionName": "F", "Payload": {"token.$": "$$.Task.Token"}},
    "HeartbeatSeconds": 60,
    "End": True,
}


@dataclass
class AliasCaller:
    """Response alias of a workflow with one waiting Task; fails before or after its work."""

    platform: Platform
    tokens: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)

    @classmethod
    def of_a_task_that_waits(cls) -> "AliasCaller":
        tokens: list[str] = []

        def ask(event: Any) -> CallbackPending:
            tokens.append(event["token"])
            return CallbackPending()

        found = cls(Platform.of({"StartAt": "Ask", "States": {"Ask": WAITING}}, F=ask), tokens)
        found.platform.options["timer"] = found
        return found

    def call(self, address: str, payload: bytes) -> Any:
        assert address == ALIAS
        event = json.loads(payload)
        assert respond.is_request(event)
        self.requests.append(event)
        failure = self.failures.pop(0) if self.failures else None
        if failure == "before":
            raise InvokeError("throttled")
        answer = json.loads(json.dumps(respond.answer(self.platform.runtime(), event)))
        if failure == "after":
            raise InvokeError("connection closed")
        return answer

    def schedule(self, events: Any) -> None:
        """Drop the event: no test here waits."""

    def begun(self) -> str:
        self.platform.start(f"e{len(self.tokens)}")
        self.platform.deliver_all()
        return self.tokens[-1]

    @property
    def outcome(self) -> Any:
        self.platform.deliver_all()
        ending = self.platform.ending("e0")
        return ending and ending.outcome
