"""Answers to the CDK's command line about stacks in progress, which wait for the end.

The command line asks whether a stack is ready when it has begun, and again after 5 seconds. Most stacks are ready here
after a fraction of that. So its question is answered when the stack is ready, or after `LONGEST_S`. Other clients are
answered at once, as on AWS.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from ministack.services import cloudformation
from ministack.services.cloudformation import handlers

from unum_emulator.patching import replace

LONGEST_S = 4.0
"""Longest wait; the command line shows a stack's events meanwhile, and its requests may take longer."""

_POLL_S = 0.02
_COMMAND_LINE = "aws-cdk"
"""Part of the user agent of the CDK's command line."""

_IN_PROGRESS, _IN_REVIEW = "_IN_PROGRESS", "REVIEW_IN_PROGRESS"


def install() -> None:
    """Let DescribeStacks of the CDK's command line wait."""
    handle = replace(cloudformation, "handle_request", None)

    async def handle_request(method: str, path: str, headers: Mapping[str, str], body: bytes, query: Any) -> Any:
        if body.startswith(b"Action=DescribeStacks&") or b"&Action=DescribeStacks&" in body:
            await _wait(headers, body)
        return await handle(method, path, headers, body, query)

    replace(cloudformation, "handle_request", handle_request)


async def _wait(headers: Mapping[str, str], body: bytes) -> None:
    """Wait until the stack that `body` names is not in progress, if the CDK's command line asks."""
    if _COMMAND_LINE not in headers.get("user-agent", "").lower():
        return
    (name,) = parse_qs(body.decode()).get("StackName", ("",))
    end_s = time.monotonic() + LONGEST_S
    while _is_in_progress(name) and time.monotonic() < end_s:  # noqa: ASYNC110 - ministack has no event for it
        await asyncio.sleep(_POLL_S)


def _is_in_progress(name: str) -> bool:
    stack = handlers._resolve_stack(name)
    status = "" if stack is None else str(stack.get("StackStatus"))
    # A stack in review waits for the execution of its change set.
    return status.endswith(_IN_PROGRESS) and status != _IN_REVIEW
