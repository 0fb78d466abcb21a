"""Conversion between JSON and botocore types, driven by the service model."""

import base64
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.utils import parse_timestamp

from unum_runtime.asl.places import element, member
from unum_runtime.asl.serialize import dumps
from unum_runtime.errors import StatesError
from unum_runtime.features.services.spelling import capitalize, field_name, fold_name
from unum_runtime.model.states import Json

_FRACTION = re.compile(r"\.?0*(?=Z$)")


class BadParameter(StatesError):
    """``States.Runtime``: unknown parameter, or wrong type."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__("States.Runtime", f"The Parameters could not be used to start the Task: {place}: {message}")


def to_request(value: Json, shape: Any, place: str = "$") -> Any:
    """Convert `value` to botocore's types for `shape`.

    Field names match in any case. An object or array for a text field becomes JSON text; null equals absence.

    Args:
        value: parameters, or a part of them.
        shape: ``botocore.model.Shape``.
        place: location of `value` in the parameters, for errors.

    Raises:
        BadParameter: unknown field, or wrong type.
    """
    if getattr(shape, "is_document_type", False):
        return value
    match shape.type_name:
        case "structure":
            return _structure(value, shape, place)
        case "list":
            items = _check_type(value, list, "an array", place)
            return [to_request(item, shape.member, element(place, index)) for index, item in enumerate(items)]
        case "map":
            entries = _check_type(value, dict, "an object", place).items()
            return {key: to_request(item, shape.value, member(place, key)) for key, item in entries if item is not None}
        case _:
            return _scalar(value, shape, place)


def _structure(value: Json, shape: Any, place: str) -> dict[str, Any]:
    names = {fold_name(name): name for name in shape.members}
    request = {}
    for key, item in _check_type(value, dict, "an object", place).items():
        name = names.get(fold_name(key)) or names.get(fold_name(key).removesuffix("value"))
        if name is None:
            message = f"The field {key!r} is not supported; there are: {', '.join(map(field_name, shape.members))}"
            raise BadParameter(place, message)
        if item is not None:
            request[name] = to_request(item, shape.members[name], member(place, key))
    for name in shape.required_members:
        # botocore cannot build a URL without these; other missing fields are left to the service's own error.
        if name not in request and shape.members[name].serialization.get("location") == "uri":
            raise BadParameter(place, f"The field {field_name(name)!r} is required but was missing")
    return request


def _check_type(value: Json, kind: type, wanted: str, place: str) -> Any:
    if not isinstance(value, kind):
        raise BadParameter(place, f"expected {wanted}, got {dumps(value)[:100]}")
    return value


def _scalar(value: Json, shape: Any, place: str) -> Any:
    match shape.type_name:
        case "string" if shape.serialization.get("jsonvalue"):  # botocore serializes such a field itself
            return value
        case "string" | "character":
            return value if isinstance(value, str) else dumps(value)
        case "blob":
            return (value if isinstance(value, str) else dumps(value)).encode()
        case "boolean":
            return _check_type(value, bool, "true or false", place)
        case kind:
            return _number_or_time(value, kind, place)


def _number_or_time(value: Json, kind: str, place: str) -> Any:
    """Convert `value`, or a number in text, to a number or time."""
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
    """Convert botocore's `value` for `shape` to JSON.

    Args:
        value: response, or a part of it.
        shape: ``botocore.model.Shape``.
        optimized: True keeps names except the case of their first letter, and gives times in milliseconds since 1970;
            False gives names in PascalCase and times in ISO 8601.
    """
    if value is None or getattr(shape, "is_document_type", False):
        return value
    match shape.type_name:
        case "structure":
            return _structure_result(value, shape, optimized=optimized)
        case "list":
            return [to_result(item, shape.member, optimized=optimized) for item in value]
        case "map":
            return {key: to_result(item, shape.value, optimized=optimized) for key, item in value.items()}
        case _:
            return _scalar_result(value, optimized=optimized)


def _scalar_result(value: Any, *, optimized: bool) -> Json:
    if isinstance(value, datetime):
        return _time_result(value, optimized=optimized)
    body = value.read() if hasattr(value, "read") else value
    return _decode(body) if isinstance(body, bytes) else body


def _structure_result(value: Mapping[str, Any], shape: Any, *, optimized: bool) -> Json:
    spelled = capitalize if optimized else field_name
    return {
        spelled(name): to_result(item, shape.members[name], optimized=optimized)
        for name, item in value.items()
        if name in shape.members and item is not None
    }


def _time_result(value: datetime, *, optimized: bool) -> Json:
    instant = value.astimezone(UTC)  # recorded from AWS for both kinds of integrations
    if optimized:
        return round(instant.timestamp() * 1000)
    return _FRACTION.sub("", instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def _decode(value: bytes) -> str:
    """Decode UTF-8; encode other bytes in Base64."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
