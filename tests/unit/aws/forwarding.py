"""Forwarder of a workflow, with messages from its own and foreign functions."""

import json
from dataclasses import dataclass, field
from typing import Any

from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.aws.senders import Senders
from unum_runtime.features.timers.sqs_timer import SqsTimer
from unum_runtime.features.timers.timer_function import Forwarder, RefusedMessages, Undelivered
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import Execution, Name
from unum_runtime.model.states import Json

INTAKE = "arn:aws:lambda:us-east-1:123456789012:function:on-failure:3"
MAX_RECEIVES = 10
MACHINERY, ROLE = "AROAMACHINERY", "AROANODE"
SENDERS = Senders(workflow="Flow", trusted=frozenset({MACHINERY}), edges={"f": ("g",)})


def event(value: Json = None, *, workflow: str = "Flow") -> Any:
    """An event with this input."""
    name = Name(Execution("e", 1_800_000_000_000), (), 2)
    given = Value(Success(value), 1)
    sent = Envelope(workflow=workflow, digest="d", name=name, state="B", input=given, sent_s=1_800_000_000, routes={})
    return json.loads(sent.to_bytes())


@dataclass
class FailureQueue:
    """Failure queue that keeps its messages."""

    letters: list[str] = field(default_factory=list)

    def send_message_batch(self, **parameters: Any) -> Any:
        self.letters += [entry["MessageBody"] for entry in parameters["Entries"]]
        return {}


def forwarder_of(functions: Any, timer: SqsTimer, clock: Any, **others: Any) -> Forwarder:
    invoker = LambdaInvoker(functions)
    parts: dict[str, Any] = {
        "invoker": invoker,
        "undelivered": Undelivered(invoker, lambda: functions),
        "max_receives": MAX_RECEIVES,
        "senders": SENDERS,
        "refused": RefusedMessages(FailureQueue(), "failures"),
        "intake": INTAKE,
        "log": lambda *_: None,
    }
    return Forwarder(timer=timer, clock=clock, **parts | others)


def messages(*bodies: str, receives: int = 1, sender: str = f"{MACHINERY}:on-failure") -> dict[str, Any]:
    """Messages as Lambda delivers them."""
    attributes = {"ApproximateReceiveCount": str(receives), "SenderId": sender}
    return {
        "Records": [{"messageId": f"m{n}", "body": body, "attributes": attributes} for n, body in enumerate(bodies)]
    }
