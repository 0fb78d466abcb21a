"""Typed access to one object of a definition: read its fields, report mistakes at their JSON paths.

A reader of a new state field needs `Part` alone: ``part.optional("Field", str)`` returns the value or reports its type,
``part.mistake("Field", "expected X, got Y; do Z")`` reports anything else. Reading continues after every problem.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard, TypeVar

from unum_compiler.problems import Report, alternatives, did_you_mean, listed, shown
from unum_runtime.asl.places import element, member
from unum_runtime.asl.timestamps import parse_timestamp
from unum_runtime.model.states import Json, Language

_T = TypeVar("_T")

_PLACEHOLDER = re.compile(r"\$\{[^{}]+\}")
_KIND_NAMES: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "an integer",
    list: "an array",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One object of a definition, including its place.

    Attributes:
        fields: content of the object.
        place: JSON path of the object.
        language: query language of its expressions.
        report: collector of problems.
        states: fields of JSONata's ``$states`` that only the object's ``Output`` and ``Assign`` can read.
    """

    fields: Mapping[str, Json]
    place: str
    language: Language
    report: Report
    states: frozenset[str] = frozenset()

    def at(self, field: str) -> str:
        """Return the JSON path of `field`."""
        return member(self.place, field)

    def has(self, *fields: str) -> bool:
        """Return True if any of `fields` exists."""
        return any(field in self.fields for field in fields)

    def mistake(self, field: str, message: str) -> None:
        """Report a language violation in `field`."""
        self.report.mistake(self.at(field), message)

    def unsupported(self, field: str, feature: str, remedy: str) -> None:
        """Report a valid use of `field` that this version cannot compile."""
        self.report.unsupported(self.at(field), feature, remedy)

    def inner(self, field: str) -> "Part | None":
        """Return the object in `field`; report a value of another type."""
        value = self.optional(field, dict)
        return None if value is None else replace(self, fields=value, place=self.at(field), states=frozenset())

    def objects(self, field: str, what: str) -> Iterator["Part"]:
        """Yield array items of `field` that are objects; report other items, expecting `what`."""
        for index, value in enumerate(self.optional(field, list) or ()):
            place = element(self.at(field), index)
            if isinstance(value, dict):
                yield replace(self, fields=value, place=place, states=frozenset())
            else:
                self.report.mistake(place, f"expected {what}, got {shown(value)}")

    def required(self, field: str, kind: type[_T]) -> _T | None:
        """Return the value of `field`; report a missing field or a wrong type."""
        if field not in self.fields:
            present = f"there are {listed(self.fields)}" if self.fields else "there is none at all"
            self.report.mistake(self.place, f'the field "{field}" is missing; {present}')
            return None
        return self.optional(field, kind)

    def non_empty(self, field: str, kind: type[_T], item: str) -> _T | None:
        """Return the array or object in `field`; report missing fields, wrong types and empty values."""
        value = self.required(field, kind)
        if value is not None and not value:
            self.mistake(field, f"expected at least one {item}, got none")
        return value

    def optional(self, field: str, kind: type[_T]) -> _T | None:
        """Return the value of `field`; report a wrong type. None for a missing field."""
        value = self.fields.get(field)
        if field not in self.fields:
            return None
        if _is(kind, value):
            return value
        self.mistake(field, f"expected {_KIND_NAMES[kind]}, got {shown(value)}")
        return None

    def choice(self, field: str, allowed: Collection[str]) -> str | None:
        """Return the value of `field` if `allowed` contains it; report any other."""
        value = self.fields.get(field)
        if isinstance(value, str) and value in allowed:
            return value
        if field in self.fields:
            self.mistake(field, f"expected {alternatives(allowed)}, got {shown(value)}")
        return None

    def not_both(self, field: str, other: str) -> None:
        """Report two fields that exclude each other."""
        if field in self.fields and other in self.fields:
            self.report.mistake(self.place, f"expected {shown(field)} or {shown(other)}, got both; remove one")

    def check_names(self, what: str, known: Collection[str]) -> None:
        """Report unknown fields; `what` names the object's kind in messages."""
        for name in self.fields.keys() - known:
            self.mistake(name, f"{what} has no field {shown(name)}; {did_you_mean(name, known)}")


def is_placeholder(value: Json) -> bool:
    """Return True if `value` is exactly ``${Name}``, a placeholder for a value of the deployment."""
    return isinstance(value, str) and _PLACEHOLDER.fullmatch(value) is not None


Check: TypeAlias = Callable[[Part, str], None]
"""A function that reports mistakes in one field of a part; the part has the field."""


def check_text(part: Part, field: str) -> None:
    """Report a value of `field` other than text."""
    part.optional(field, str)


def check_timestamp(part: Part, field: str) -> None:
    """Report `field` if its value is no timestamp; placeholders are checked at run time."""
    value = part.fields[field]
    if parse_timestamp(value) is None and not is_placeholder(value):
        part.mistake(field, f'expected a timestamp like "2016-12-05T21:29:29Z" (RFC 3339), got {shown(value)}')


def _is(kind: type[_T], value: Json) -> TypeGuard[_T]:
    # In Python True is an int; in JSON it is no number.
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
