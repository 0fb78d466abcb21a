"""What the expressions of a state see by name: ``$states`` and the workflow's variables."""

from collections.abc import Mapping
from typing import Any

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.cold_start.records import dataclass, field, replace
from unum_runtime.model.ir import Json

STATES = "states"
"""The reserved variable (specification, Reserved "states" Variable with JSONata)."""


@dataclass(frozen=True)
class Names:
    """The names of one evaluation of a state's fields.

    Attributes:
        states: fields of ``$states``.
        context: variables, time and chance.
        item: ``$states.context.Map.Item``, while an item of a Map is looked at.
        taken: values in the form of the library, by name, each from when it was first asked for.
    """

    states: Mapping[str, Json]
    context: ExpressionContext
    item: dict[str, Json] | None = None
    taken: dict[str, Any] = field(default_factory=dict)

    def of(self, item: dict[str, Json]) -> "Names":
        """The same while `item` of a Map is looked at; what was taken is shared."""
        return replace(self, item=item)

    def has(self, name: str) -> bool:
        """Whether `name`, without ``$``, stands for something."""
        return name == STATES or name in self.context.variables

    def raw(self, name: str) -> Json:
        """What `name` stands for, but for the item."""
        return self.states if name == STATES else self.context.variables[name]
