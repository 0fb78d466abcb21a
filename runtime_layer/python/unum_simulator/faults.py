"""Injectable platform faults and their budgets."""

from dataclasses import dataclass, fields
from enum import StrEnum

HOUR_S = 3600
EVENT_AGE_S = 6 * HOUR_S
"""Maximum age of an undelivered event. Source: AWS Lambda Developer Guide, "Configuring error handling settings for
asynchronous invocations"."""

REDELIVERIES_S = (60, 120)
"""Delays before redelivery of an event that a function rejected; afterwards Lambda drops the event. Source: the same
guide, "How Lambda handles errors and retries with asynchronous invocation"."""

RUN_S = 900
"""Maximum duration of a delivery. Source: AWS Lambda Developer Guide, "Lambda quotas"."""


SKEW_MS = 5_000
"""Largest difference between a sandbox's clock and the true time."""


class Fault(StrEnum):
    """Possible fault of one call in a delivery."""

    NONE = "ok"
    CRASH_BEFORE = "the sandbox dies before it"
    CRASH_AFTER = "the sandbox dies after it"
    THROTTLED = "throttled, without effect"
    UNANSWERED = "done, but the answer is an error"
    REPEATED = "done, but the answer is lost, and the AWS client repeats it"
    FROZEN = "done, but the sandbox freezes before the next run of user code"
    SPLIT = "read in two parts, of which the second comes later"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Fault budget of one execution; reordering is always possible and has no budget.

    Attributes:
        crashes: sandbox deaths at a call, before or after its effect (a crash, out of memory, or the function's
            timeout).
        duplicates: additional deliveries of an event, in parallel to the first or after its success.
        throttles: failed calls of store or invoker, with or without the call's effect.
        losses: events that the platform drops into the dead-letter queue.
        vanishes: events that the platform loses without a record; sweeps find the stalled execution at the end.
        jumps: forward jumps of the clock between deliveries.
        jump_s: possible lengths of a jump, in seconds.
        stops: stop requests for the execution.
        concurrency: maximum number of parallel deliveries, interleaved at every call.
        nudges: nudge requests; no fault, but possible at any time.
        redrives: redrive requests after a failure or a stop, repeated until the request gets an answer.
        skews: deliveries to sandboxes whose clock is `SKEW_MS` slow or fast.
        repeats: writes and sends that the AWS client repeats after a lost answer.
        splits: reads of several items that see two moments.
        forks: requests for the forks of the scenario, repeated until the request gets an answer.
        restarts: starts of the first execution's name after its start record has expired.
        answers: results and failures that responders send for task tokens, each repeated until it gets an answer.
        heartbeats: heartbeats that responders send for task tokens.
        signals: signals of the scenario that senders send, each with a new id or that of an earlier one.
        calls: calls of the scenario that programs make, each of which may die with its program.
        forgets: requests to forget the result of a call of the scenario.
        freezes: sandboxes that freeze right before user code, after the runtime has looked at all that it looks at.
        give_ups: events that Lambda gives up before their last attempt. If it is not 0, the failure handler gets a
            record of every event that Lambda gives up, and events have Lambda's maximum age.
    """

    crashes: int = 1
    duplicates: int = 1
    throttles: int = 0
    losses: int = 0
    vanishes: int = 0
    jumps: int = 0
    jump_s: tuple[int, ...] = (5 * HOUR_S, 9 * HOUR_S, 8 * 24 * HOUR_S)
    stops: int = 0
    concurrency: int = 2
    nudges: int = 0
    redrives: int = 0
    skews: int = 0
    repeats: int = 0
    splits: int = 0
    give_ups: int = 0
    forks: int = 0
    restarts: int = 0
    answers: int = 0
    heartbeats: int = 0
    signals: int = 0
    calls: int = 0
    forgets: int = 0
    freezes: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            # A concurrency of 0 would deliver nothing, so every run would report lost work.
            least = 1 if field.name == "concurrency" else 0
            value = getattr(self, field.name)
            if field.name != "jump_s" and value < least:
                raise ValueError(f"Faults.{field.name}: expected at least {least}, got {value!r}")

    @property
    def failures(self) -> int:
        """Total budget for lost deliveries and lost events."""
        return self.crashes + self.throttles + self.losses + self.vanishes


def tolerance_ms(faults: Faults) -> int:
    """Return the largest difference between the clocks of two sandboxes."""
    return 2 * SKEW_MS if faults.skews else 0


NO_FAULTS = Faults(crashes=0, duplicates=0, concurrency=1)
"""Exactly one delivery per event, one after another."""
