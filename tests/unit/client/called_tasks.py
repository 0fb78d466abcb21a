"""A program that calls Tasks, for tests of calls."""

import json
from dataclasses import dataclass, replace
from typing import Any

from tests.unit.protocol.platform import Platform
from unum_client.client import Client
from unum_client.control import Control
from unum_client.polling import Waiter
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import ClientError, UnumError
from unum_runtime.features.memo import calling, remembered
from unum_runtime.model.variants import called, why_not_called
from unum_runtime.protocol.control import pausing
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.requests.answers import refusal
from unum_runtime.protocol.requests.definition_records import write_definition

RETRY = [{"ErrorEquals": ["Again"], "MaxAttempts": 2, "IntervalSeconds": 1}]


TASK: dict[str, Any] = {"Type": "Task", "Resource": "F", "Parameters": {"n.$": "$.n"}, "ResultPath": "$.out"}


DEFINITION: dict[str, Any] = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "StartAt": "Resize",
                "States": {"Resize": {**TASK, "TimeoutSeconds": 9, "Retry": RETRY, "End": True}},
            },
            "Next": "Plain",
        },
        "Plain": {
            "Type": "Task",
            "Resource": "G",
            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}],
            "Next": "Late",
        },
        "Late": {"Type": "Task", "Resource": "F", "TimeoutSecondsPath": "$.s", "Next": "Caught"},
        "Caught": {"Type": "Task", "Resource": "H", "End": True},
    },
}


SHARED = FunctionOptions(memoize=True)


class Again(Exception):
    """Error that the Task retries."""


@dataclass
class World:
    """A platform, and a control function in the place of AWS."""

    platform: Platform
    requests: int = 0

    def call(self, _address: str, payload: bytes) -> Any:
        """Answer as the control function does."""
        self.requests += 1
        event = json.loads(payload)
        try:
            rt = self.platform.runtime()
            if not calling.is_request(event):
                return (pausing if pausing.is_request(event) else remembered).answer(rt, event)
            asked = calling.parse(event)
            if asked.run is not None:
                return calling.follow(rt, asked)
            refused = why_not_called(rt.workflow, asked.state)
            if refused is not None:
                return refusal("ValidationException", refused)
            rt = replace(rt, workflow=called(rt.workflow, asked.state), hosts=frozenset())
            write_definition(rt)
            return calling.call(rt, asked)
        except ClientError as error:
            return refusal(type(error).__name__, str(error))

    def client(self) -> Client:
        control = Control(caller=self, control_alias="arn:aws:lambda:r:1:function:control", workflow="w")
        wait = Waiter(now_s=lambda: self.platform.clock.ms / 1000, sleep=self.let_go_on)
        return Client(store=self.platform.memory, workflow="w", control=control, waiter=wait)

    def let_go_on(self, seconds: float) -> None:
        """Let time pass, and deliver what is due."""
        self.platform.clock.pass_seconds(seconds)
        due = [each for each in self.platform.waiting if each[0] <= self.platform.clock.ms]
        self.platform.waiting = [each for each in self.platform.waiting if each not in due]
        self.platform.sent += [event for _, event in due]
        self.deliver_all()

    def deliver_all(self) -> None:
        while self.platform.sent:
            self.deliver(self.platform.sent.pop(0))

    def deliver(self, event: Any) -> None:
        """Deliver `event` on the definition that it names, as often as it fails."""
        rt = self.platform.runtime()
        if event.digest != rt.workflow.digest:
            rt = replace(rt, workflow=called(rt.workflow, event.state))
        try:
            step(rt, event)
        except UnumError:
            self.platform.sent.append(event)


def new_world() -> World:
    functions = {"F": lambda event: {"got": event}, "G": lambda event: event, "H": lambda event: event}
    return World(Platform.of(DEFINITION, {"F": SHARED}, **functions))
