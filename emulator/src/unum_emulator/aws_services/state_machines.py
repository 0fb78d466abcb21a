"""Step Functions without ministack's pause of 0.15 s before every execution, and with permissions for task tokens.

AWS has no such pause; in comparisons, the emulated Step Functions would look slower than it is.

SendTaskSuccess, SendTaskFailure and SendTaskHeartbeat need a permission on the state machine or the activity that has
made the token, such as `StateMachine.grant_task_response` gives. ministack requires one on all resources.
https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsstepfunctions.html
"""

import contextvars
import json
import time
from collections.abc import Mapping
from typing import Any

from ministack.core import iam_actions
from ministack.services import stepfunctions

from unum_emulator.patching import replace

_PAUSE_S = 0.15

_ANSWERS = ("SendTaskSuccess", "SendTaskFailure", "SendTaskHeartbeat")

_owner: contextvars.ContextVar[str] = contextvars.ContextVar("owner", default="")
"""ARN of what makes the next token: a state machine or an activity."""

_owners: dict[str, str] = {}
"""ARNs of state machines and activities by the token that they have made."""


class _Time:
    """Module `time` without the pause at each start."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        # Wait states use `time.sleep` too, and must keep their durations.
        if seconds != _PAUSE_S:
            time.sleep(seconds)


def install() -> None:
    """Give ministack's Step Functions a clock without the pause, and its task tokens owners."""
    replace(stepfunctions, "time", _Time())
    _note_owners()
    _authorize_answers()


def _note_owners() -> None:
    """Note which state machine or activity makes each token."""
    execute = replace(stepfunctions, "_execute_task", None)
    call, queue = (
        replace(stepfunctions, "_invoke_with_callback", None),
        replace(stepfunctions, "_invoke_activity", None),
    )
    make = replace(stepfunctions, "new_uuid", None)

    def execute_task(state: Any, given: Any, execution: Mapping[str, Any], *rest: Any) -> Any:
        before = _owner.set(execution.get("stateMachineArn", ""))
        try:
            return execute(state, given, execution, *rest)
        finally:
            _owner.reset(before)

    def invoke_with_callback(resource: str, given: Any, token: str, *rest: Any) -> Any:
        _owners[token] = _owner.get()
        try:
            return call(resource, given, token, *rest)
        finally:
            _owners.pop(token, None)

    def invoke_activity(arn: str, given: Any) -> Any:
        made: list[str] = []
        before, others = _owner.set(arn), _made.set(made)
        try:
            return queue(arn, given)
        finally:
            _owner.reset(before)
            _made.reset(others)
            for token in made:
                _owners.pop(token, None)

    def new_uuid() -> str:
        token: str = make()
        made = _made.get()
        if made is not None:
            made.append(token)
            _owners[token] = _owner.get()
        return token

    replace(stepfunctions, "_execute_task", execute_task)
    replace(stepfunctions, "_invoke_with_callback", invoke_with_callback)
    replace(stepfunctions, "_invoke_activity", invoke_activity)
    replace(stepfunctions, "new_uuid", new_uuid)


_made: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("made", default=None)
"""Tokens of the activity that is waited for; None outside."""


def _authorize_answers() -> None:
    """Let permissions for answers name the owner of the token."""
    extract = iam_actions.extract_resource_arn

    def extract_arn(service: str, method: str, path: str, headers: Mapping[str, str], body: bytes, *rest: Any) -> str:
        if service == "states" and headers.get("x-amz-target", "").endswith(_ANSWERS):
            return _owners.get(_token_of(body), "*")
        found: str = extract(service, method, path, headers, body, *rest)
        return found

    replace(iam_actions, "extract_resource_arn", extract_arn)


def _token_of(body: bytes) -> str:
    try:
        return str(json.loads(body).get("taskToken"))
    except (ValueError, AttributeError):
        return ""
