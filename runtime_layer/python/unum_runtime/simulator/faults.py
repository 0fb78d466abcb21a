"""What the platform may do to a workflow, and how often."""

from dataclasses import dataclass, fields
from enum import StrEnum

HOUR_S = 3600
EVENT_AGE_S = 6 * HOUR_S
"""How long the platform keeps an event that it could not deliver. Source: AWS Lambda Developer Guide, "Configuring
error handling settings for asynchronous invocations"."""

REDELIVERIES_S = (60, 120)
"""After how long the platform delivers an event again that a function sent back; then it gives the event up.
Source: the same guide, "How Lambda handles errors and retries with asynchronous invocation"."""

RUN_S = 900
"""How long a delivery may run. Source: AWS Lambda Developer Guide, "Lambda quotas"."""


class Fault(StrEnum):
    """What may go wrong with one call of a delivery."""

    NONE = "ok"
    CRASH_BEFORE = "the sandbox dies before it"
    CRASH_AFTER = "the sandbox dies after it"
    THROTTLED = "throttled, without effect"
    UNANSWERED = "done, but the answer is an error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """How often each thing may happen in one execution; what has no limit is reordering, which is always free.

    Attributes:
        crashes: a sandbox dies at a call, before or after its effect: by itself, out of memory or by its timeout.
        duplicates: an event is delivered once more, while another delivery of it runs or after one succeeded.
        throttles: a call of the store or the invoker fails, with or without having its effect.
        losses: the platform gives up an event, which goes to the dead letters.
        vanishes: the platform loses an event, and nobody is told; when nothing else is left, sweeps find the execution.
        jumps: the clock is put forward while no delivery runs.
        jump_s: how far it may be put forward, in seconds.
        stops: somebody stops the execution.
        concurrency: how many deliveries may run at the same time, interleaved at every call.
        nudges: somebody nudges the execution, which is no fault, but may come at any time.
        redrives: somebody redrives it when it has failed or was stopped, and again until there is an answer.
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

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 1 if field.name == "concurrency" else 0
            value = getattr(self, field.name)
            if field.name != "jump_s" and value < least:
                raise ValueError(f"Faults.{field.name}: expected a number from {least} on, got {value!r}")

    @property
    def failures(self) -> int:
        """How many deliveries or events may be lost on the way."""
        return self.crashes + self.throttles + self.losses + self.vanishes


NO_FAULTS = Faults(crashes=0, duplicates=0, concurrency=1)
"""Everything arrives once, one after the other."""
