"""What a failure of a Task or of a fan-out leads to: another try, a catcher, or the end of its scope."""

from typing import TypeAlias

from unum_runtime.asl import recovery
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.checkpoint import Failure, Outcome, Success, Way
from unum_runtime.model.ir import Json, Work
from unum_runtime.protocol.planning.advance import Failed, fall_back
from unum_runtime.protocol.planning.evaluation import Moment, deadline


@dataclass(frozen=True)
class Retry:
    """The state is tried again.

    Attributes:
        retries: how often each of its retriers was used, this one included.
        due_ms: when, in milliseconds since 1970.
    """

    retries: tuple[int, ...]
    due_ms: int


@dataclass(frozen=True)
class Settled:
    """The state is not tried again; `outcome` is what it comes to, and `way` how control goes on from there."""

    outcome: Outcome
    way: Way


Recovery: TypeAlias = Retry | Settled


def recover(
    state: Work, failure: Failure, value: Json, moment: Moment, *, retries: tuple[int, ...], now_ms: int
) -> Recovery:
    """What `failure` of `state` leads to.

    Args:
        state: the state.
        failure: what it came to.
        value: what it was entered with.
        moment: when it was entered.
        retries: how often its retriers were used.
        now_ms: when it failed, in milliseconds since 1970.
    """
    again = recovery.next_retry(state.retry, retries, failure.error, moment.scene(state.name, retries=retries))
    deadline_ms = deadline(moment.workflow, moment.execution)
    is_late = moment.is_late_at(now_ms)
    if again is not None and not is_late:
        due_ms = now_ms + again.delay_ms
        return Retry(again.counts, due_ms if deadline_ms is None else min(due_ms, deadline_ms))
    fallen = Failed(state.name, failure) if is_late else fall_back(state, value, failure, moment)
    if isinstance(fallen, Failed):
        return Settled(fallen.failure, Way())
    way = Way(variables=fallen.moment.variables, goes_to=fallen.target, caught=failure)
    return Settled(Success(fallen.value), way)
