"""Objects in the history: what S3's requests write and delete, in the order of effect.

Contents are read from ministack's buckets right before and after the request, in the same step of its event loop.
"""

import json
import re
from collections.abc import Callable, Mapping
from html import unescape
from http import HTTPStatus
from typing import Any

from ministack.services import s3

from unum_emulator.history import History, sender
from unum_emulator.patching import replace

_MOST_BYTES = 1_000_000
"""Largest content that the history keeps; of a larger one, only the size."""

_KEY = re.compile(r"<Key>(.*?)</Key>", re.DOTALL)

Answer = tuple[int, Mapping[str, str], Any]


def install(history: History) -> None:
    """Record all writes and deletions of objects."""
    put, delete, delete_all = s3._put_object, s3._delete_object, s3._delete_objects
    replace(s3, "_put_object", _recorded(history, "put_object", put))
    replace(s3, "_delete_object", _recorded(history, "delete_object", delete))

    def delete_objects(bucket: str, body: bytes, *more: Any) -> Answer:
        names = [unescape(name) for name in _KEY.findall(body.decode())]
        before = {name: _content(bucket, name) for name in names}
        answer: Answer = delete_all(bucket, body, *more)
        for name in names:
            _add(history, "delete_objects", bucket, name, before[name], is_accepted=_content(bucket, name) is None)
        return answer

    replace(s3, "_delete_objects", delete_objects)


def _recorded(history: History, operation: str, write: Callable[..., Answer]) -> Callable[..., Answer]:
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
