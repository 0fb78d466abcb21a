"""Delivery state: one step's routes, created and found outcomes, ended branches, and next fused event."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from unum_runtime.model.naming import Frames, Name, Scope, scopes_around
from unum_runtime.protocol.fanout.lanes import Lanes

if TYPE_CHECKING:
    from unum_runtime.model.checkpoint import Checkpoint, Item
    from unum_runtime.model.envelope import Envelope
    from unum_runtime.protocol.planning.plan import BranchFailed, Commit, CompleteBranch


class DeliveryState:
    """State of one delivery step, which the step repairs or collects at its end.

    Attributes:
        routes: addresses that travel with the execution.
        created: the checkpoints that this step created.
        found: the invocations whose outcomes were committed already. If there are any, this delivery may replace a
            delivery that died; if there are none, it does not.
        committed: the commits that followed the first effect.
        ended: the ends of branches that this step added to completion sets.
        collected: the scopes that this step collected.
        packs: content of each pack that this step committed into, by the branch's frames.
        is_fused: True if the step began without an event.
        may_continue: True if the caller runs `ahead`.
        ahead: the event whose invocation this delivery runs itself; None if all events are sent.
        is_new: True if the store was just read and `ahead` has no outcome.
        lanes: the open fan-outs whose branches this delivery runs in sequence; None before the first.
    """

    is_fused: bool = False
    ahead: "Envelope | None" = None
    is_new: bool = False
    lanes: Lanes | None = None

    def __init__(self, routes: Mapping[str, str], *, may_continue: bool = False) -> None:
        self.routes = routes
        self.created: list[Checkpoint] = []
        self.found: list[Name] = []
        self.committed: list[Commit] = []
        self.ended: list[CompleteBranch | BranchFailed] = []
        self.collected: list[Scope] = []
        self.packs: dict[Frames, Item] = {}
        self.may_continue = may_continue

    def enter_lanes(self) -> Lanes:
        """Return this delivery's open fan-outs, shared by its steps."""
        if self.lanes is None:
            self.lanes = Lanes()
        return self.lanes

    def next_step(self, ahead: "Envelope") -> "DeliveryState":
        """Return the next step's state in the same delivery; that step runs `ahead`."""
        delivery = DeliveryState(ahead.routes, may_continue=True)
        delivery.is_fused, delivery.lanes = True, self.lanes
        return delivery

    def paths(self) -> Iterator[tuple[Scope, ...]]:
        """Yield the scopes around each outcome and branch end of this step, outermost first.

        Places inside a collected scope are left out.
        """
        names = [*self.found, *(checkpoint.name for checkpoint in self.created)]
        places = {(place.execution, place.frames) for place in (*names, *self.ended)}
        for place in places:
            around = scopes_around(*place)
            if not any(scope in self.collected for scope in around):
                yield around
