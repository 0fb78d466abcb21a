"""Values visible to a state's expressions besides the state's own data."""

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.model.states import Json

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True)
class ExpressionContext:
    """Expression context of one state visit, identical in every delivery of the visit.

    Attributes:
        context_object: the context object (``$$``, ``$states.context``).
        variables: visible variables, by name without ``$``.
        now_ms: current time, in milliseconds since 1970: value of ``$now()`` and ``$millis()``, start of a Wait.
        seed: seed of all random numbers in this visit, unique to the visit.
    """

    context_object: Mapping[str, Json]
    variables: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    now_ms: int = 0
    seed: str = ""

    @cached_property
    def random(self) -> "Random":
        """Random numbers of ``States.UUID``, ``States.MathRandom``, ``$random()``, ``$uuid()`` and retry jitter."""
        from random import Random  # noqa: PLC0415 - few workflows need it

        # A second delivery of the same visit must compute the same value, so the numbers cannot be truly random.
        return Random(self.seed)  # noqa: S311 - repeatable on purpose, never used for secrets


Expression: TypeAlias = Callable[[Json, ExpressionContext], Json]
"""A compiled expression: function from (input, context) to a value."""
