"""Fusion: a delivery runs its next invocation itself, given the same function version.

The outcome between the two is committed as usual, but no event is sent. If the sandbox dies after that, the platform
repeats the event that it delivered, and that delivery finds the outcome. It then sends the event that fusion saved: an
invocation that died once gets deliveries of its own, with retries of its own. So a delivery continues only from an
outcome that it has committed itself.

Source of the term: Elgamal et al., "Costless: Optimizing Cost of Serverless Computing through Function Fusion and
Placement" (SEC 2018); there functions are fused when they are deployed, and nothing is kept in between.
"""

from collections.abc import Callable

from unum_runtime.cold_start.records import dataclass
from unum_runtime.json_text import to_text
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Name, Scope
from unum_runtime.model.states import Guard, Pattern, Task
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.runtime import Runtime

SHARE = 0.75
"""Share of a delivery's initial time that must remain for a Task without ``TimeoutSeconds``.

Fused user code has less time than in a delivery of its own. If it takes longer than this share of its function's
timeout, it may be killed and run again."""

MARGIN_MS = 1_000
"""Time needed beside the ``TimeoutSeconds`` of a Task, to commit its failure and to continue."""


@dataclass(frozen=True)
class Fusion:
    """Condition of fusion for one delivery; see `Runtime.fuses`.

    Attributes:
        address: address of its function version.
        remaining_ms: remaining time in milliseconds.
        given_ms: initial time in milliseconds.
    """

    address: str
    remaining_ms: Callable[[], int]
    given_ms: int

    def __call__(self, address: str, _event: Envelope, task: Task) -> bool:
        """Return True if `task` has this address, and enough time remains."""
        return address == self.address and self.remaining_ms() >= self._needed_ms(task)

    def _needed_ms(self, task: Task) -> float:
        share_ms, limit_s = SHARE * self.given_ms, task.data.get("TimeoutSeconds")
        return min(share_ms, limit_s * 1000 + MARGIN_MS) if isinstance(limit_s, int | float) else share_ms


def may_fuse(rt: Runtime, delivery: DeliveryState, name: Name, task: Task) -> bool:
    """Return True if a delivery may run invocation `name` of `task`, its only remaining effect, itself."""
    if not delivery.may_continue or not delivery.created or delivery.found:
        return False
    # Eager collection deletes an outcome as soon as the next event is sent; a repeated delivery would find nothing.
    if rt.collection is not Collection.TTL:
        return False
    # A Task that waits gives out the token of a delivery of its own.
    return task.pattern is Pattern.RESPONSE and _is_next(rt, delivery.created[-1].name, name, task)


def _is_next(rt: Runtime, before: Name, after: Name, task: Task) -> bool:
    """Return True if `after` follows `before` in its branch, a nested branch, or the lane's next branch.

    What waits for several branches is excluded from the last case: it may begin because of another one's delivery.
    """
    depth = min(len(before.frames), len(after.frames))
    if before.frames[:depth] == after.frames[:depth]:
        return True
    beside = Scope.around(after.execution, after.frames)
    if Scope.around(before.execution, before.frames) != beside or task.meets_previous or task.after_previous:
        return False
    needs = rt.workflow.fan_out(beside.state).needs
    return not needs or len(needs[after.frames[-1].index][1]) == 1


def fits(rt: Runtime, event: Envelope) -> bool:
    """Return True if `event` certainly fits Lambda's limit; senders handle larger events."""
    if rt.large is not None or not isinstance(event.input, Value):
        return True
    variables = to_text(dict(event.input.variables)) if event.input.variables else ""
    return len(event.input.given.text.encode()) + len(variables.encode()) <= MAX_OUTCOME_BYTES


def own_event(event: Envelope) -> Envelope:
    """Return `event` with a copied input, because user code may change its input."""
    return event.with_input(event.input.own()) if isinstance(event.input, Value) else event


def is_first(rt: Runtime, delivery: DeliveryState, done: Envelope, ahead: Envelope) -> bool:
    """Return True if `ahead`, fused after `done`, certainly lacks an outcome, which saves one read.

    That holds if the delivery has just read it, or has just created the only outcome that leads to it.
    """
    # In a branch the read is needed, because the fan-out may be settled. Around a lease it is needed too: between two
    # leases another delivery may have done the work.
    before = delivery.created[-1].name
    is_next = not before.frames and not ahead.name.frames and ahead.name.step == before.step + 1
    return (delivery.is_new or is_next) and not (_takes_a_lease(rt, done) or _takes_a_lease(rt, ahead))


def _takes_a_lease(rt: Runtime, envelope: Envelope) -> bool:
    task = rt.workflow.states[envelope.state]
    return isinstance(task, Task) and task.guard is Guard.LEASE
