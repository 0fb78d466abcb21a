"""Events of states passed without a commit."""

from collections.abc import Iterable

from unum_client.events.journal import Event, assigned
from unum_client.events.scope_events import Account
from unum_client.events.task_events import EVALUATION
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.states import FanOut
from unum_runtime.protocol.planning.advance import Visit, Visits


def pass_on(account: Account, visits: Visits, *, is_inside: bool = False, meets: bool = False) -> None:
    """Report visited states.

    Args:
        account: reporter of the scope.
        visits: visited states, in order.
        is_inside: True if the first state was entered before.
        meets: True if the last state also gets input of another branch.
    """
    for number, visit in enumerate(visits):
        if number > 0 or not is_inside:
            # The last state of a neighbour join has two inputs, and only one of them is known here.
            value = None if meets and visit.exit is None else visit.given
            account.enter(visit.state, value, visit.evaluation.entered_ms)
        _visit(account, visit)
    if visits and visits[-1].failure is not None and visits[-1].failure.error == EVALUATION:
        account.fail_to_evaluate(visits[-1].state, visits[-1].failure)


def reason(ends: Iterable[tuple[Event, bool]], started: Event, *, succeeded: bool) -> Event:
    """Return the event that ended a fan-out: its first failed branch, otherwise its last branch.

    Args:
        ends: last event of each branch, with True for a failed branch.
        started: event that started the branches.
        succeeded: True if the fan-out succeeded.
    """
    ends = list(ends)
    failed = [event for event, has_failed in ends if has_failed]
    if failed and not succeeded:
        return min(failed, key=lambda event: event.at_ms)
    return max((event for event, _ in ends), key=lambda event: event.at_ms, default=started)


def _visit(account: Account, visit: Visit) -> None:
    if isinstance(visit.state, FanOut):
        _compute(account, visit.state, visit)
    if visit.exit is not None:
        variables = assigned(visit.evaluation.variables, visit.exit.evaluation.variables)
        account.exit(visit.state, Success(visit.exit.value), visit.exit.evaluation.entered_ms, variables)


def _compute(account: Account, state: FanOut, visit: Visit) -> None:
    """Report a fan-out computed in place, or one without branches; unopened fan-outs report nothing."""
    succeeded = visit.exit is not None and visit.exit.target == state.next
    if not succeeded and not visit.branches:
        return
    started = account.start(state, len(visit.branches), visit.evaluation.entered_ms)
    ends = [_branch(account.branch(index, started), state, visits) for index, visits in enumerate(visit.branches)]
    account.last = reason(ends, started, succeeded=succeeded)
    account.end(state, succeeded=succeeded)


def _branch(account: Account, state: FanOut, visits: Visits) -> tuple[Event, bool]:
    """Report a branch; return its last event, with True for a failed branch."""
    has_failed = visits[-1].failure is not None
    account.iterate(state, "Started")
    pass_on(account, visits)
    return account.iterate(state, "Failed" if has_failed else "Succeeded"), has_failed
