"""Schema of a Parquet file, and the assembly of nested values from columns.

Source: Apache Parquet, "Nested Encoding" and "Parquet Logical Types" (Lists, Maps, Backward-compatibility rules).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from unum_runtime.features.data_sets.parquet.encodings import Physical
from unum_runtime.features.data_sets.parquet.logical_types import Convert, as_key, conversion
from unum_runtime.features.data_sets.parquet.thrift import Fields
from unum_runtime.model.states import Json

_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_MAPS, _LIST = (1, 2), 3
_MAP_TYPE, _LIST_TYPE = 2, 3
_MOST_NESTED = 100
_NO_PHYSICAL = Physical(0)


@dataclass
class Column:
    """Levels and values of one leaf in a row group.

    Attributes:
        repetitions: repetition levels.
        definitions: definition levels.
        present: values that are not null.
        at: position in the levels.
        taken: number of values taken.
    """

    repetitions: list[int]
    definitions: list[int]
    present: list[Json]
    at: int = 0
    taken: int = 0


@dataclass
class Node:
    """Field of the schema.

    Attributes:
        element: its description in the file.
        path: names from the root.
        definition: definition level at which it exists.
        repetition: repetition level of its elements.
        children: fields of a group.
        physical: type of a leaf.
        convert: conversion of a leaf's values.
        column: data of a leaf in the current row group.
        leaves: leaves in this field, or the leaf itself.
    """

    element: Fields
    path: tuple[bytes, ...]
    definition: int
    repetition: int
    children: list["Node"] = field(default_factory=list)
    physical: Physical = _NO_PHYSICAL
    convert: Convert | None = None
    column: Column = field(default_factory=lambda: Column([], [], []))
    leaves: list["Node"] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the field."""
        return self.path[-1].decode()

    def values(self, count: int) -> Iterator[Json]:
        """Yield the field's value in each of `count` rows."""
        if self.children or self.repetition:
            yield from (self.value() for _ in range(count))
        else:  # most columns are flat, and most rows have many of them
            present, exists = iter(self.column.present), self.definition
            yield from (next(present) if level == exists else None for level in self.column.definitions)

    def value(self) -> Json:
        """Return the value at the current position of the columns, and move them behind it."""
        kind, column = self.element.get(3, _REQUIRED), self.leaves[0].column
        if kind == _REQUIRED:
            return self._inside()
        if column.definitions[column.at] < self.definition:
            for leaf in self.leaves:  # each has one entry for what does not exist
                leaf.column.at += 1
            return None if kind == _OPTIONAL else []
        if kind == _OPTIONAL:
            return self._inside()
        found = [self._inside()]
        while column.at < len(column.repetitions) and column.repetitions[column.at] == self.repetition:
            found.append(self._inside())
        return found

    def _inside(self) -> Json:
        if not self.children:
            column = self.column
            column.at, column.taken = column.at + 1, column.taken + 1
            return column.present[column.taken - 1]
        return self._shaped({child.name: child.value() for child in self.children})

    def _shaped(self, members: dict[str, Any]) -> Json:
        """Return a list or map in place of the groups that encode it."""
        logical = self.element.get(10) or {}
        converted = self.element.get(6, -1)
        only = self.children[0]
        if len(self.children) > 1 or only.element.get(3) != _REPEATED:
            return members
        if _LIST_TYPE in logical or converted == _LIST:
            return [item[only.children[0].name] for item in members[only.name]] if self._wraps() else members[only.name]
        if (_MAP_TYPE in logical or converted in _MAPS) and only.children:
            key, *value = (child.name for child in only.children)
            return {as_key(entry[key]): entry[value[0]] if value else None for entry in members[only.name]}
        return members

    def _wraps(self) -> bool:
        """Return True if the elements of this list are in a group of their own each (backward-compatibility rules)."""
        only = self.children[0]
        return len(only.children) == 1 and only.name not in ("array", f"{self.name}_tuple")


def parse_schema(elements: list[Fields]) -> Node:
    """Return the root of the schema.

    Raises:
        ValueError: it nests too deeply, or has no columns.
    """
    root, used = _node(elements, 0, (), 0, 0)
    if used != len(elements) or not root.children:
        raise ValueError("expected a schema with columns")
    return root


def _node(
    elements: list[Fields], at: int, above: tuple[bytes, ...], definition: int, repetition: int
) -> tuple[Node, int]:
    """Return node number `at` of the schema, including its children, and the number of the next node."""
    if len(above) > _MOST_NESTED:
        raise ValueError(f"the schema nests deeper than {_MOST_NESTED}")
    element, is_root = elements[at], not at
    kind = _REQUIRED if is_root else element.get(3, _REQUIRED)
    definition, repetition = definition + (kind != _REQUIRED), repetition + (kind == _REPEATED)
    node = Node(element, above if is_root else (*above, element[4]), definition, repetition)
    at += 1
    if not element.get(5):
        node.physical, node.convert, node.leaves = Physical(element[1], element.get(2, 0)), conversion(element), [node]
    for _ in range(element.get(5) or 0):
        child, at = _node(elements, at, node.path, definition, repetition)
        node.children.append(child)
    node.leaves = [*chain.from_iterable(child.leaves for child in node.children)] or node.leaves
    return node, at
