"""Rebuild event histories of child executions."""

from unum_client.events.history_events import ENDINGS, branch_end
from unum_client.events.journal import Event, HistoryEvent, Journal, data, failure_data
from unum_client.events.scope_events import Account
from unum_client.reading.child_executions import ChildExecution
from unum_client.reading.map_runs import runs
from unum_client.reading.stored_definitions import Past
from unum_runtime.model.checkpoint import Failure, Status, Success
from unum_runtime.model.states import Json
from unum_runtime.protocol.history.timeline import Timeline


def child_events(past: Past, child: ChildExecution, *, now_ms: int) -> list[HistoryEvent]:
    """Return the events of `child`, in order of time.

    Args:
        past: commits of the parent, and the definitions that it has run on.
        child: child execution of the parent.
        now_ms: current time, in milliseconds since 1970.
    """
    timeline, journal = Timeline(*past), Journal()
    (opened,) = (run.opened() for run in runs(timeline) if run.id == child.map_run)
    assert opened is not None  # noqa: S101 - a child is computed from it
    role = past.last.home.role_arn
    details = data(input=Success(child.input)) | ({"roleArn": role} if role else {})
    started_ms = round(child.started_at.timestamp() * 1000)
    began = Event(type="ExecutionStarted", at_ms=started_ms, previous=None, details=details)
    account = Account(journal, journal.add(began))
    last = branch_end(timeline, opened, child.index[-1], account, succeeds=child.status is Status.SUCCEEDED)
    if child.stopped_at is None:
        return journal.shaped(until_ms=max(now_ms, timeline.latest_ms))
    at_ms = max(round(child.stopped_at.timestamp() * 1000), last.at_ms)
    journal.end(Event(type=ENDINGS[child.status], at_ms=at_ms, previous=last, details=_result(child)))
    return journal.shaped(until_ms=at_ms)


def _result(child: ChildExecution) -> dict[str, Json]:
    if child.status is Status.SUCCEEDED:
        return data(output=Success(child.output))
    return failure_data(None if child.error is None else Failure(child.error, child.cause))
