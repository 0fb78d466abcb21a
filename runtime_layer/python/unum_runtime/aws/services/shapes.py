"""JSON to the types that a service's model asks for, and back."""

import base64
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.utils import parse_timestamp

from unum_runtime.asl.places import element, member
from unum_runtime.asl.serialize import dumps
from unum_runtime.aws.services.spelling import capitalized, field_name, folded
from unum_runtime.errors import StatesError
from unum_runtime.model.ir import Json

_FRACTION = re.compile(r"\.?0*(?=Z$)")


class BadParameter(StatesError):
    """``States.Runtime``: the service has no such parameter, or not of that type."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__("States.Runtime", f"The Parameters could not be used to start the Task: {place}: {message}")


def to_request(value: Json, shape: Any, place: str = "$") -> Any:
    """`value` as botocore takes it for `shape`.

    Names of fields may be spelled in any case. An object or an array where the service wants text becomes its JSON
    text; null is the same as absence.

    Args:
        value: the parameters, or a part of them.
        shape: a ``botocore.model.Shape``.
        place: where `value` is in the parameters, for errors.

    Raises:
        BadParameter: a field is unknown, or its value is of another type than the service takes.
    """
    if getattr(shape, "is_document_type", False):
        return value
    match shape.type_name:
        case "structure":
            return _structure(value, shape, place)
        case "list":
            items = _expect(value, list, "an array", place)
            return [to_request(item, shape.member, element(place, index)) for index, item in enumerate(items)]
        case "map":
            entries = _expect(value, dict, "an object", place).items()
            return {key: to_request(item, shape.value, member(place, key)) for key, item in entries if item is not None}
        case _:
            return _scalar(value, shape, place)


def _structure(value: Json, shape: Any, place: str) -> dict[str, Any]:
    names = {folded(name): name for name in shape.members}
    request = {}
    for key, item in _expect(value, dict, "an object", place).items():
        name = names.get(folded(key)) or names.get(folded(key).removesuffix("value"))
        if name is None:
            message = f"The field {key!r} is not supported; there are: {', '.join(map(field_name, shape.members))}"
            raise BadParameter(place, message)
        if item is not None:
            request[name] = to_request(item, shape.members[name], member(place, key))
    for name in shape.required_members:
        if name not in request and shape.members[name].serialization.get("location") == "uri":
            raise BadParameter(place, f"The field {field_name(name)!r} is required but was missing")
    return request


def _expect(value: Json, kind: type, wanted: str, place: str) -> Any:
    if not isinstance(value, kind):
        raise BadParameter(place, f"expected {wanted}, got {dumps(value)[:100]}")
    return value


def _scalar(value: Json, shape: Any, place: str) -> Any:
    match shape.type_name:
        case "string" if shape.serialization.get("jsonvalue"):
            return value
        case "string" | "character":
            return value if isinstance(value, str) else dumps(value)
        case "blob":
            return (value if isinstance(value, str) else dumps(value)).encode()
        case "boolean":
            return _expect(value, bool, "true or false", place)
        case kind:
            return _number_or_time(value, kind, place)


def _number_or_time(value: Json, kind: str, place: str) -> Any:
    """`value` as a number, which a text may hold too, or as a time."""
    try:
        match kind:
            case "timestamp":
                return parse_timestamp(value)
            case "integer" | "long":
                return _integer(value)
            case _:
                return float(value)
    except (TypeError, ValueError):
        raise BadParameter(place, f"expected a value of type {kind}, got {dumps(value)[:100]}") from None


def _integer(value: Json) -> int:
    number = int(value)
    if isinstance(value, float) and number != value:
        raise ValueError
    return number


def to_result(value: Any, shape: Any, *, optimized: bool) -> Json:
    """What botocore gives for `shape` as JSON.

    Args:
        value: the response, or a part of it.
        shape: a ``botocore.model.Shape``.
        optimized: names keep all but the case of their first letter, and times are milliseconds since 1970; else names
            are in PascalCase, and times are ISO 8601.
    """
    if value is None or getattr(shape, "is_document_type", False):
        return value
    match shape.type_name:
        case "structure":
            return _fields(value, shape, optimized=optimized)
        case "list":
            return [to_result(item, shape.member, optimized=optimized) for item in value]
        case "map":
            return {key: to_result(item, shape.value, optimized=optimized) for key, item in value.items()}
        case _:
            return _plain(value, optimized=optimized)


def _plain(value: Any, *, optimized: bool) -> Json:
    if isinstance(value, datetime):
        return _time(value, optimized=optimized)
    body = value.read() if hasattr(value, "read") else value
    return _text(body) if isinstance(body, bytes) else body


def _fields(value: Mapping[str, Any], shape: Any, *, optimized: bool) -> Json:
    spelled = capitalized if optimized else field_name
    return {
        spelled(name): to_result(item, shape.members[name], optimized=optimized)
        for name, item in value.items()
        if name in shape.members and item is not None
    }


def _time(value: datetime, *, optimized: bool) -> Json:
    instant = value.astimezone(UTC)
    if optimized:
        return round(instant.timestamp() * 1000)
    return _FRACTION.sub("", instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def _text(value: bytes) -> str:
    """`value` as text; Base64 where it is none."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
