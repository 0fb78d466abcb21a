"""Names visible in the expressions of a state: ``$states`` and the workflow's variables."""

from collections.abc import Mapping
from typing import Any

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.cold_start.records import dataclass, field, replace
from unum_runtime.model.states import Json

STATES = "states"
"""The reserved variable. Source: specification, 'Reserved "states" Variable'."""


@dataclass(frozen=True)
class Names:
    """Names in one evaluation of a state's fields.

    Attributes:
        states: fields of ``$states``.
        context: variables, time and random seed.
        item: value of ``$states.context.Map.Item`` during an ItemSelector; None elsewhere.
        converted: values in the library's form by name, filled at first lookup.
    """

    states: Mapping[str, Json]
    context: ExpressionContext
    item: dict[str, Json] | None = None
    converted: dict[str, Any] = field(default_factory=dict)

    def for_item(self, item: dict[str, Json]) -> "Names":
        """Return the names for one item of a Map, sharing converted values."""
        return replace(self, item=item)

    def has(self, name: str) -> bool:
        """Return True if `name`, without ``$``, has a value."""
        return name == STATES or name in self.context.variables

    def value(self, name: str) -> Json:
        """Return the value of `name`, without the Map item."""
        return self.states if name == STATES else self.context.variables[name]
