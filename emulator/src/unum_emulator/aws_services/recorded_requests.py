"""Requests in the history: who sends them, which items and objects they write, and which messages queues accept.

Items are read from ministack's tables right after the write, in the same step of its event loop: no other request comes
in between, so the lines have the order in which the writes took effect. Objects are read right before and after the
request, in the same step.
"""

import json
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from html import unescape
from http import HTTPStatus
from typing import Any

from ministack import app
from ministack.services import dynamodb, s3, sqs

from unum_emulator.aws_lambda.injected_faults import FaultInjector
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
        _record_objects(history)


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


_MOST_BYTES = 1_000_000
"""Largest content that the history keeps; of a larger one, only the size."""

_KEY = re.compile(r"<Key>(.*?)</Key>", re.DOTALL)


def _record_objects(history: History) -> None:
    """Record all writes and deletions of objects."""
    put, delete, delete_all = s3._put_object, s3._delete_object, s3._delete_objects
    replace(s3, "_put_object", _recorded_object(history, "put_object", put))
    replace(s3, "_delete_object", _recorded_object(history, "delete_object", delete))

    def delete_objects(bucket: str, body: bytes, *more: Any) -> Answer:
        names = [unescape(name) for name in _KEY.findall(body.decode())]
        before = {name: _content(bucket, name) for name in names}
        answer: Answer = delete_all(bucket, body, *more)
        for name in names:
            _add(history, "delete_objects", bucket, name, before[name], is_accepted=_content(bucket, name) is None)
        return answer

    replace(s3, "_delete_objects", delete_objects)


def _recorded_object(history: History, operation: str, write: Callable[..., Answer]) -> Callable[..., Answer]:
    def recorded(bucket: str, name: str, *more: Any, **options: Any) -> Answer:
        before = _content(bucket, name)
        answer = write(bucket, name, *more, **options)
        accepted = answer[0] in (HTTPStatus.OK, HTTPStatus.NO_CONTENT)
        _add(history, operation, bucket, name, before, is_accepted=accepted)
        return answer

    return recorded


def _add(history: History, operation: str, bucket: str, name: str, before: Any, *, is_accepted: bool) -> None:
    history.add(
        "object",
        by=sender(),
        bucket=bucket,
        name=name,
        operation=operation,
        accepted=is_accepted,
        before=before,
        after=_content(bucket, name),
    )


def _content(bucket: str, name: str) -> Any:
    """Return an object's content: JSON as its value, the size of others, None for an absent object."""
    content = s3._get_object_data(bucket, name)
    if content is None:
        return None
    try:
        return json.loads(content) if len(content) <= _MOST_BYTES else len(content)
    except ValueError:
        return len(content)
