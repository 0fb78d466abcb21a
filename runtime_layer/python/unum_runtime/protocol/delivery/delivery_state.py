"""One step of a delivery: where its events go, what it wrote and found, and whether the delivery goes on itself."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from unum_runtime.model.naming import Frames, Name, Scope, scopes_around
from unum_runtime.protocol.fanout.lanes import Lanes

if TYPE_CHECKING:
    from unum_runtime.model.checkpoint import Checkpoint, Item
    from unum_runtime.model.envelope import Envelope
    from unum_runtime.protocol.planning.plan import BranchFailed, Commit, CompleteBranch


class DeliveryState:
    """One step of a delivery, which it may have to clear away after, or make up for.

    Attributes:
        routes: addresses that travel with the execution.
        created: the checkpoints that it created.
        found: the invocations whose outcomes it found committed. Where there are any, it may have come in place of a
            delivery that died; where there are none, it has not.
        committed: what it committed in following its first effect.
        ended: the ends of branches that it added to the sets of their scopes.
        collected: the scopes that it collected.
        packs: those in which it committed how a branch ended, by the branch's frames.
        is_fused: whether the delivery has come here without an event.
        may_go_on: whether somebody works on `ahead`.
        ahead: what the delivery goes on with itself, in place of its event.
        is_new: whether that was looked for just now, and has no outcome.
        lanes: the fan-outs that the delivery goes through, from branch to branch.
    """

    is_fused: bool = False
    ahead: "Envelope | None" = None
    is_new: bool = False

    def __init__(self, routes: Mapping[str, str], *, may_go_on: bool = False) -> None:
        self.routes = routes
        self.created: list[Checkpoint] = []
        self.found: list[Name] = []
        self.committed: list[Commit] = []
        self.ended: list[CompleteBranch | BranchFailed] = []
        self.collected: list[Scope] = []
        self.packs: dict[Frames, Item] = {}
        self.may_go_on = may_go_on
        self.lanes = Lanes()

    def onward(self, ahead: "Envelope") -> "DeliveryState":
        """The next step of the same delivery, which goes on with `ahead`."""
        delivery = DeliveryState(ahead.routes, may_go_on=True)
        delivery.is_fused, delivery.lanes = True, self.lanes
        return delivery

    def paths(self) -> Iterator[tuple[Scope, ...]]:
        """The scopes around each thing that it came to, outermost first; none inside a scope that it collected."""
        names = [*self.found, *(checkpoint.name for checkpoint in self.created)]
        places = {(place.execution, place.frames) for place in (*names, *self.ended)}
        for place in places:
            around = scopes_around(*place)
            if not any(scope in self.collected for scope in around):
                yield around
