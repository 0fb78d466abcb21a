"""One delivery: where its events go, and what it wrote and found, which it may have to clear away or make up for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from unum_runtime.model.checkpoint import Checkpoint, Item
from unum_runtime.model.naming import Frames, Name, Scope, scopes_around
from unum_runtime.protocol.plan import BranchFailed, Complete


@dataclass(slots=True)
class Trail:
    """One delivery.

    Attributes:
        routes: addresses that travel with the execution.
        created: the checkpoints that it created.
        found: the invocations whose outcomes it found committed. Where there are any, it may have come in place of a
            delivery that died; where there are none, it has not.
        ended: the ends of branches that it added to the sets of their scopes.
        collected: the scopes that it collected.
        packs: those in which it committed how a branch ended, by the branch's frames.
    """

    routes: Mapping[str, str]
    created: list[Checkpoint] = field(default_factory=list)
    found: list[Name] = field(default_factory=list)
    ended: list[Complete | BranchFailed] = field(default_factory=list)
    collected: list[Scope] = field(default_factory=list)
    packs: dict[Frames, Item] = field(default_factory=dict)

    def paths(self) -> Iterator[tuple[Scope, ...]]:
        """The scopes around each thing that it came to, outermost first; none inside a scope that it collected."""
        names = [*self.found, *(checkpoint.name for checkpoint in self.created)]
        places = {(place.execution, place.frames) for place in (*names, *self.ended)}
        for place in places:
            around = scopes_around(*place)
            if not any(scope in self.collected for scope in around):
                yield around
