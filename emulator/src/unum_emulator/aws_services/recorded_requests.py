"""Requests in the history: who sends them, what they write, and which messages queues accept.

Items are read from ministack's tables right after the write, in the same step of its event loop: no other request comes
in between, so the lines have the order in which the writes took effect.
"""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from http import HTTPStatus
from typing import Any

from ministack import app
from ministack.services import dynamodb, sqs

from unum_emulator.aws_lambda.faults import FaultInjector
from unum_emulator.aws_services import recorded_objects
from unum_emulator.history import History, as_sender, sender
from unum_emulator.patching import replace

_WRITES = ("_put_item", "_update_item", "_delete_item")
_BULK = ("_batch_write_item", "_transact_write_items")

Answer = tuple[int, Mapping[str, str], Any]


def install(history: History, faults: FaultInjector) -> None:
    """Know the sender of each request, and record writes, objects and messages."""
    original = replace(app, "_dispatch_service_request", None)

    async def dispatch(
        method: str, path: str, headers: Mapping[str, str], body: bytes, query: Any, request_id: str
    ) -> Any:
        with as_sender(headers) as delivery:
            if delivery and not faults.arrives(delivery):
                return HTTPStatus.SERVICE_UNAVAILABLE.value, {}, b""  # nobody reads it: the process is dead
            answer = await original(method, path, headers, body, query, request_id)
            if delivery:
                faults.leaves(delivery)
            return answer

    replace(app, "_dispatch_service_request", dispatch)
    if history.is_kept:
        _record_writes(history)
        _record_messages(history)
        recorded_objects.install(history)


def _record_writes(history: History) -> None:
    for name in _WRITES:
        replace(dynamodb, name, _recorded(history, name, getattr(dynamodb, name)))
    for name in _BULK:
        replace(dynamodb, name, _announced(history, name, getattr(dynamodb, name)))


def _recorded(history: History, name: str, write: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    def recorded(data: Any) -> Answer:
        table = dynamodb._tables.get(dynamodb._normalize_table_name(data.get("TableName")))
        if table is None:
            return write(data)
        key = {
            part: (data.get("Key") or data["Item"]).get(part) for part in (table["pk_name"], table["sk_name"]) if part
        }
        before = deepcopy(_item(table, key))  # an update may change the item in place
        answer = write(data)
        history.add(
            "write",
            by=sender(),
            table=table["TableName"],
            operation=name.strip("_"),
            key=[next(iter(value.values())) for value in key.values() if value],
            accepted=answer[0] == HTTPStatus.OK,
            before=before,
            after=_item(table, key),
        )
        return answer

    return recorded


def _announced(history: History, name: str, write: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    def announced(data: Any) -> Answer:
        tables = [*data.get("RequestItems", ())]
        tables += [part["TableName"] for each in data.get("TransactItems", ()) for part in each.values()]
        history.add("bulk", by=sender(), operation=name.strip("_"), tables=sorted({*tables}))
        return write(data)

    return announced


def _item(table: Mapping[str, Any], key: Mapping[str, Any]) -> Any:
    """Return a stored item; None if it is absent."""
    partition, *sort = (dynamodb._extract_key_val(value) for value in key.values())
    return table["items"].get(partition, {}).get(sort[0] if sort else "__no_sort__")


def _record_messages(history: History) -> None:
    original = replace(sqs, "_act_send_message", None)

    def send(data: Any, url: str) -> Any:
        accepted = original(data, url)
        queue, body = data.get("QueueUrl", url), data.get("MessageBody", "")
        history.add("message", by=sender(), queue=queue, message=accepted["MessageId"], body=_parsed(body))
        return accepted

    replace(sqs, "_act_send_message", send)
    sqs._HANDLERS["SendMessage"] = send


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body
