"""What the expressions of a state may refer to beside the state's own data."""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.model.ir import Json

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True)
class ExpressionContext:
    """The surroundings of one visit of a state; the same on every delivery that computes it.

    Attributes:
        context_object: the context object (``$$``, ``$states.context``).
        variables: those that the state sees, by name without ``$``.
        now_ms: the time, in milliseconds since 1970: of ``$now()`` and ``$millis()``, and from which a Wait counts.
        seed: what all that is random in this visit derives from; no other visit has the same.
    """

    context_object: Mapping[str, Json]
    variables: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    now_ms: int = 0
    seed: str = ""

    def part(self, name: str, now_ms: int) -> "ExpressionContext":
        """The context of a part of the same visit, at `now_ms`, whose random numbers begin anew, as `name` says."""
        return ExpressionContext(self.context_object, self.variables, now_ms, self.seed + name)

    @cached_property
    def random(self) -> "Random":
        """Where ``States.UUID``, ``States.MathRandom``, ``$random()`` and ``$uuid()`` take their numbers from."""
        from random import Random  # noqa: PLC0415 - few workflows need it

        return Random(self.seed)  # noqa: S311 - to be repeatable is the point; nothing secret is made of it
