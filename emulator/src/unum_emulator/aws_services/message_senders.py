"""Attribute `SenderId` of messages: the identity of the sending principal; ministack gives the account's number.

A function's identity is ``ROLE-ID:FUNCTION-NAME``, because Lambda names the session of its role after the function.
Without IAM, all credentials have one access key, so a function's session token names role and function.
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
"""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from ministack import app
from ministack.core import iam_evaluator, responses
from ministack.services import eventbridge, iam, lambda_svc, sqs, sts

from unum_emulator.patching import replace

_SCHEDULED = "schedule"
"""Session name of schedules; AWS chooses a longer one."""

_token: ContextVar[str] = ContextVar("session_token", default="")
_schedule_role: ContextVar[str] = ContextVar("schedule_role", default="")


def session_token(role_arn: str, function: str) -> str:
    """Return the session token of a function's role, for an emulator without IAM."""
    return f"{role_arn}/{function}"


def install() -> None:
    """Let messages name their senders."""
    handle, attributes = sqs.handle_request, sqs._build_send_sys_attrs
    invoke, dispatch = eventbridge._invoke_target, eventbridge._dispatch_to_sqs
    receive, chosen = sqs._receive_messages_for_esm, lambda_svc._apply_filter_criteria
    received: dict[str, str] = {}

    async def handle_request(method: str, path: str, headers: Mapping[str, str], *rest: Any) -> Any:
        _token.set(headers.get("x-amz-security-token", ""))
        return await handle(method, path, headers, *rest)

    def with_sender(now: float, given: Mapping[str, Any]) -> Any:
        return attributes(now, given) | {"SenderId": _sender()}

    def invoke_target(target: Mapping[str, Any], event: Mapping[str, Any], *rest: Any, **options: Any) -> Any:
        _schedule_role.set(target.get("RoleArn", ""))
        return invoke(target, event, *rest, **options)

    def dispatch_to_sqs(target: Any, payload: str, *options: Any) -> None:
        dispatch(target, payload, *options)
        queue = sqs._queue_by_arn(str(target))
        if queue and _schedule_role.get():
            queue["messages"][-1]["sys"]["SenderId"] = f"{sts._role_id(_schedule_role.get())}:{_SCHEDULED}"

    def received_by_mapping(*arguments: Any) -> Any:
        batch = receive(*arguments)
        received.update({message["id"]: message["sys"]["SenderId"] for message in batch or ()})
        return batch

    def chosen_records(records: list[dict[str, Any]], mapping: Any) -> Any:
        # The first function that sees the records that ministack makes of received messages.
        for record in records:
            if record.get("messageId") in received:
                record["attributes"]["SenderId"] = received.pop(record["messageId"])
        return chosen(records, mapping)

    replace(sqs, "_receive_messages_for_esm", received_by_mapping)
    replace(lambda_svc, "_apply_filter_criteria", chosen_records)
    replace(sqs, "handle_request", handle_request)
    replace(sqs, "_build_send_sys_attrs", with_sender)
    replace(eventbridge, "_invoke_target", invoke_target)
    replace(eventbridge, "_dispatch_to_sqs", dispatch_to_sqs)


def _sender() -> str:
    """Return the identity of the current request's caller."""
    if not app.AUTH:
        role, _, function = _token.get().rpartition("/")
        return f"{sts._role_id(role)}:{function}" if role.startswith("arn:") else responses.get_account_id()
    *_, service, _region, account, resource = iam_evaluator.caller_arn().split(":")
    kind, _, name = resource.partition("/")
    if service == "sts":
        role, _, session = name.partition("/")
        return f"{sts._role_id(f'arn:aws:iam::{account}:role/{role}')}:{session}"
    user = iam._users.get_scoped(account, None, name.rpartition("/")[2]) if kind == "user" else None
    return str((user or {}).get("UserId") or account)
