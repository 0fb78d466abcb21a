"""Delivery state: one step's routes, created and found outcomes, ended branches, and next fused event."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.delivery_record import Arrival, pack
from unum_runtime.model.naming import Frames, Name, Scope, scopes_around
from unum_runtime.protocol.fanout.lanes import Lanes

if TYPE_CHECKING:
    from unum_runtime.model.checkpoint import Checkpoint, Item
    from unum_runtime.model.envelope import Envelope
    from unum_runtime.protocol.planning.plan import BranchFailed, Commit, CompleteBranch


class DeliveredEvent(NamedTuple):
    """Event whose outcome a delivery commits.

    Attributes:
        envelope: the event.
        entered_ms: entry into its state, in milliseconds since 1970.
    """

    envelope: "Envelope"
    entered_ms: int

    def record(self, arrival: Arrival, at_ms: int, *, is_fused: bool) -> str:
        """Return the record of a delivery of this event that commits at `at_ms`."""
        envelope, sent_ms = self.envelope, self._sent_ms()
        job_since_ms = envelope.job.get("since") if envelope.job is not None else None
        return pack(
            arrival,
            sent_ms=sent_ms,
            began_ms=sent_ms if is_fused else arrival.began_ms,  # the delivery began with an earlier step
            at_ms=at_ms,
            since_ms=envelope.begun_ms if job_since_ms is None else job_since_ms,
            tries=envelope.tries,
        )

    def _sent_ms(self) -> int:
        """Return the time at which the event was sent or due; events have it in seconds alone, to save bytes."""
        if self.envelope.due_ms is not None:
            return self.envelope.due_ms
        sent_ms = self.envelope.sent_s * 1000
        return max(sent_ms, self.entered_ms) if self.entered_ms < sent_ms + 1000 else sent_ms


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
        event: the event whose outcome this step commits; None before the outcome.
    """

    is_fused: bool = False
    ahead: "Envelope | None" = None
    is_new: bool = False
    lanes: Lanes | None = None
    event: DeliveredEvent | None = None

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
