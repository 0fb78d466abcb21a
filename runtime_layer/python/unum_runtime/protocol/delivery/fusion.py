"""Fusion: a delivery goes on with the next invocation itself, where that is for the function that it runs in.

The outcome between the two is committed all the same, but no event is sent. If the sandbox dies after that, the
platform delivers the event again that it delivered, and that delivery finds the outcome. It then sends the event that
was saved: what has died once gets deliveries of its own, and its failures are those of nobody else. So a delivery only
goes on from what it has committed itself.

Source of the term: Elgamal et al., "Costless: Optimizing Cost of Serverless Computing through Function Fusion and
Placement" (SEC 2018); there functions are fused when they are deployed, and nothing is kept in between.
"""

from collections.abc import Callable

from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.checkpoint import to_text
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Collection, Guard, Pattern, Task
from unum_runtime.model.naming import Name, Scope
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.runtime import Runtime

SHARE = 0.75
"""How much of the time that a delivery began with has to be left for user code that says no time of its own.

User code gets less time than alone, so it may be cut off, and run again, if it takes longer than this share of its
function's timeout."""

MARGIN_MS = 1_000
"""What is needed beside the ``TimeoutSeconds`` of a Task, to commit that it has failed and go on."""


@dataclass(frozen=True)
class Fusion:
    """What one delivery may go on with: see `Runtime.fuses`.

    Attributes:
        address: of the function version that it runs in.
        remaining_ms: how much time is left to it, in milliseconds.
        given_ms: how much it began with.
    """

    address: str
    remaining_ms: Callable[[], int]
    given_ms: int

    def __call__(self, address: str, _event: Envelope, task: Task) -> bool:
        """Whether `task` lives at this address, and enough time is left for it."""
        return address == self.address and self.remaining_ms() >= self._needed_ms(task)

    def _needed_ms(self, task: Task) -> float:
        share_ms, limit_s = SHARE * self.given_ms, task.data.get("TimeoutSeconds")
        return min(share_ms, limit_s * 1000 + MARGIN_MS) if isinstance(limit_s, int | float) else share_ms


def may_fuse(rt: Runtime, delivery: DeliveryState, name: Name, task: Task) -> bool:
    """Whether a delivery may go on with `task` itself under `name`, if nothing is left to do but to send its event.

    Only from what it has committed; under `Collection.EAGER` not at all, for there an outcome is collected as soon as
    what follows is sent. Whoever waits for an answer gets the token of a delivery of its own.
    """
    if not delivery.may_go_on or not delivery.created or delivery.found or rt.collection is not Collection.TTL:
        return False
    return task.pattern is Pattern.RESPONSE and _is_on_the_way(delivery.created[-1].name, name, task)


def _is_on_the_way(before: Name, after: Name, task: Task) -> bool:
    """Whether the one is inside of the other, or where the other is, or in the branch that begins when the other ends.

    Whether another branch comes to a meeting is no matter of this delivery's outcome alone.
    """
    depth = min(len(before.frames), len(after.frames))
    if before.frames[:depth] == after.frames[:depth]:
        return True
    is_beside = Scope.around(before.execution, before.frames) == Scope.around(after.execution, after.frames)
    return is_beside and not task.meets_previous


def fits(rt: Runtime, event: Envelope) -> bool:
    """Whether `event` is certain not to be too large to be sent; where it is not, whoever sends it finds that out."""
    if rt.large is not None or not isinstance(event.input, Value):
        return True
    variables = to_text(dict(event.input.variables)) if event.input.variables else ""
    return len(event.input.given.text.encode()) + len(variables.encode()) <= MAX_OUTCOME_BYTES


def own_event(event: Envelope) -> Envelope:
    """`event` as its receiver would have it: user code may change its input, and nobody else sees that."""
    return event.with_input(event.input.own()) if isinstance(event.input, Value) else event


def is_first(rt: Runtime, delivery: DeliveryState, done: Envelope, ahead: Envelope) -> bool:
    """Whether a delivery that goes on with `ahead` after `done` knows without a look that there is no outcome yet.

    It has just looked; or it has just created the outcome before it, and nothing else leads there. It looks all the
    same in a branch, because the fan-out may have been settled without it; and where it has released a lease since, or
    may have waited for one.
    """
    before = delivery.created[-1].name
    is_next = not before.frames and not ahead.name.frames and ahead.name.step == before.step + 1
    return (delivery.is_new or is_next) and not (_takes_a_lease(rt, done) or _takes_a_lease(rt, ahead))


def _takes_a_lease(rt: Runtime, envelope: Envelope) -> bool:
    task = rt.workflow.states[envelope.state]
    return isinstance(task, Task) and task.guard is Guard.LEASE
