"""Checks of JSON values by a JSON Schema, as far as `unum_compiler.frontends.ir_schema` needs it.

Every problem is found, and says what is allowed; that and the choice of a variant by its ``type`` are why no library
is used.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from unum_compiler.problems import did_you_mean, listed, shown
from unum_runtime.asl.places import element, member
from unum_runtime.errors import Problem
from unum_runtime.model.ir import Json

Schema: TypeAlias = Mapping[str, Json]

_TYPES: Mapping[str, Callable[[Json], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
}


def problems(value: Json, schema: Schema) -> Iterator[Problem]:
    """Everything in `value` that `schema` does not allow."""
    return _Checker(schema.get("$defs", {})).check(value, schema, "$")


class _Checker:
    """Knows the definitions that a schema refers to."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions

    def check(self, value: Json, schema: Schema, place: str) -> Iterator[Problem]:
        if "$ref" in schema:
            yield from self.check(value, self._referred(schema), place)
        elif "oneOf" in schema:
            yield from self._variant(value, schema["oneOf"], place)
        elif (wrong := _mismatch(value, schema)) is not None:
            yield Problem(place, f"expected {wrong}, got {shown(value)}")
        elif isinstance(value, dict):
            yield from self._object(value, schema, place)
        elif isinstance(value, list):
            yield from self._array(value, schema, place)

    def _referred(self, schema: Schema) -> Schema:
        return self._definitions[schema["$ref"].rpartition("/")[2]]

    def _variant(self, value: Json, schemas: list[Schema], place: str) -> Iterator[Problem]:
        by_type = {each["properties"]["type"]["const"]: each for each in map(self._referred, schemas)}
        kind = value.get("type") if isinstance(value, dict) else None
        if isinstance(kind, str) and kind in by_type:
            yield from self.check(value, by_type[kind], place)
        elif kind is None:
            yield Problem(
                place, f'expected an object with the field "type", one of {listed(by_type)}; got {shown(value)}'
            )
        else:
            yield Problem(member(place, "type"), f"there is no type {shown(kind)}; allowed are {listed(by_type)}")

    def _object(self, value: Mapping[str, Json], schema: Schema, place: str) -> Iterator[Problem]:
        known: Mapping[str, Schema] = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield Problem(
                    place, f"the field {shown(name)} is missing; it is {known[name].get('description', name)}"
                )
        other = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in known:
                yield from self.check(item, known[name], member(place, name))
            elif other is False:
                yield Problem(member(place, name), f"there is no field {shown(name)}; {did_you_mean(name, known)}")
            elif isinstance(other, dict):
                yield from self.check(item, other, member(place, name))

    def _array(self, value: list[Json], schema: Schema, place: str) -> Iterator[Problem]:
        inner = schema.get("prefixItems") or [schema.get("items", {})] * len(value)
        if len(inner) != len(value):
            yield Problem(place, f"expected {len(inner)} items, got {len(value)}")
            return
        for index, (item, each) in enumerate(zip(value, inner, strict=True)):
            yield from self.check(item, each, element(place, index))


def _mismatch(value: Json, schema: Schema) -> str | None:
    """What is expected instead of `value`; None if it fits as far as that can be told without looking inside."""
    if "const" in schema:
        return None if value == schema["const"] else shown(schema["const"])
    if "enum" in schema:
        return None if value in schema["enum"] else f"one of {listed(schema['enum'])}"
    allowed = schema.get("type", [])
    names = [allowed] if isinstance(allowed, str) else allowed
    if not names or any(_TYPES[name](value) for name in names):
        return None
    return " or ".join(names)
