"""Plan Tasks that wait for a result of the previous branch."""

from collections.abc import Iterable

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import OutcomeCollected
from unum_runtime.model.checkpoint import Checkpoint, Success
from unum_runtime.model.envelope import Value
from unum_runtime.protocol.planning.plan import Invoke, JoinNeighbour


def begin_joined(own: JoinNeighbour, previous: Checkpoint) -> Invoke:
    """Return the event of the Task of `own`, with the result of `previous` added to its input.

    Raises:
        OutcomeCollected: the result is collected, because the fan-out is settled.
    """
    entered, outcome = own.invoke.input, previous.outcome
    if not isinstance(outcome, Success):
        raise OutcomeCollected(f"{previous.name}: was collected, because the fan-out around it is settled")
    assert isinstance(entered, Value)  # noqa: S101 - planned as such
    # The later of both commits, whichever delivery came last: all deliveries that begin the Task plan the same event.
    entered_ms = max(entered.entered_ms, previous.committed_ms)
    joined = Success({**entered.value, "previous": outcome.value})
    return replace(own.invoke, input=Value(joined, entered_ms, entered.variables))


def result_of(steps: Iterable[Checkpoint], state: str | None) -> Checkpoint | None:
    """Return the commit among `steps` of a branch with the result of `state`; None without one."""
    return next((step for step in steps if step.state == state and isinstance(step.outcome, Success)), None)
