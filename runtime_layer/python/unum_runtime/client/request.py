"""What a client may ask to start: a name and an input that the store can hold."""

import json
import re

from unum_runtime.asl.serialize import NotSerializable, dumps
from unum_runtime.errors import InvalidExecutionInput, InvalidName
from unum_runtime.model.checkpoint import Checkpoint, Success
from unum_runtime.model.ir import Json
from unum_runtime.protocol.plan import MAX_OUTCOME_BYTES

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


def checked_name(name: str) -> str:
    """`name`, if it is one that an execution may have.

    Raises:
        InvalidName: it is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
    """
    if not _NAME.fullmatch(name):
        raise InvalidName(f"name: expected 1 to 80 characters from A-Z a-z 0-9 - _, got {len(name)}: {name!r}")
    return name


def checked_input(value: object) -> Json:
    """`value` as the workflow will read it: tuples become arrays, keys become text.

    Raises:
        InvalidExecutionInput: it is not JSON (the text names type and place), or has more than 380 KB.
    """
    try:
        text = dumps(value)
    except NotSerializable as error:
        raise InvalidExecutionInput(f"input: {error.cause}") from error
    size = len(text.encode())
    if size > MAX_OUTCOME_BYTES:
        raise InvalidExecutionInput(
            f"input: {size} bytes of JSON, but at most {MAX_OUTCOME_BYTES} are stored; "
            "put large data into S3 and pass where it is"
        )
    return json.loads(text)


def same_input(one: Checkpoint, other: Checkpoint) -> bool:
    """Whether two start records have the same JSON as input; Python alone would take true for 1."""
    return _canonical(one) == _canonical(other)


def _canonical(record: Checkpoint) -> str:
    assert isinstance(record.outcome, Success)  # noqa: S101 - a start record has a value, which is never collected
    return json.dumps(record.outcome.value, sort_keys=True)
