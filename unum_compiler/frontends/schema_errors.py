"""Violations of the IR's JSON Schema, found by the `jsonschema` library and worded like all problems of the compiler.

Import this module only where an IR is read: the library takes 100 ms to load.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from unum_compiler.problems import did_you_mean, listed, shown
from unum_runtime.asl.places import element, member
from unum_runtime.errors import Problem
from unum_runtime.model.states import Json

# JSON Schema takes 1.0 for an integer. A float in the IR would change its digest, and fail in Python's `range`.
_Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int),
)


def schema_problems(value: Json, schema: Mapping[str, Json]) -> Iterator[Problem]:
    """Yield every violation of `schema` in `value`, with its JSON path."""
    for error in _Validator(schema).iter_errors(value):
        yield from _reworded(error)


def _reworded(error: ValidationError) -> Iterator[Problem]:
    place = "$"
    for part in error.absolute_path:
        place = element(place, part) if isinstance(part, int) else member(place, part)
    words = _WORDS.get(error.validator, lambda each, where: [Problem(where, each.message)])
    yield from words(error, place)


def _unexpected(expected: str, error: ValidationError, place: str) -> Iterator[Problem]:
    yield Problem(place, f"expected {expected}, got {shown(error.instance)}")


def _wrong_type(error: ValidationError, place: str) -> Iterator[Problem]:
    names = error.validator_value
    return _unexpected(names if isinstance(names, str) else " or ".join(names), error, place)


def _wrong_length(error: ValidationError, place: str) -> Iterator[Problem]:
    yield Problem(place, f"expected {error.validator_value} items, got {len(error.instance)}")


def _missing_fields(error: ValidationError, place: str) -> Iterator[Problem]:
    """Yield all missing fields: an error names its field only in its text, and `Report` drops repeated problems."""
    for name in error.validator_value:
        if name not in error.instance:
            description = error.schema["properties"][name].get("description", name)
            yield Problem(place, f"the field {shown(name)} is missing; it is {description}")


def _unknown_fields(error: ValidationError, place: str) -> Iterator[Problem]:
    known = error.schema["properties"]
    for name in error.instance.keys() - known.keys():
        yield Problem(member(place, name), f"there is no field {shown(name)}; {did_you_mean(name, known)}")


def _wrong_state(error: ValidationError, place: str) -> Iterator[Problem]:
    """Yield violations of the schema selected by ``type``, ignoring the seven other kinds."""
    kinds = [schema["$ref"].rpartition("/")[2] for schema in error.validator_value]
    kind = error.instance.get("type") if isinstance(error.instance, dict) else None
    if kind in kinds:
        for each in error.context:
            if each.schema_path[0] == kinds.index(kind):
                yield from _reworded(each)
    elif kind is None:
        yield from _unexpected(f'an object whose "type" is one of {listed(kinds)}', error, place)
    else:
        yield Problem(member(place, "type"), f"there is no type {shown(kind)}; allowed are {listed(kinds)}")


_WORDS: Mapping[str, Callable[[Any, str], Iterator[Problem]]] = {
    "type": _wrong_type,
    "const": lambda error, place: _unexpected(shown(error.validator_value), error, place),
    "enum": lambda error, place: _unexpected(f"one of {listed(error.validator_value)}", error, place),
    "required": _missing_fields,
    "additionalProperties": _unknown_fields,
    "minItems": _wrong_length,
    "maxItems": _wrong_length,
    "oneOf": _wrong_state,
}
"""The rewording of each keyword that `ir_schema` uses."""
