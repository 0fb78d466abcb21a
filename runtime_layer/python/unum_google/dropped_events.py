"""Recovery of executions whose functions die, or whose events Cloud Tasks has dropped.

Cloud Tasks deletes an event after its last attempt, and tells nobody. So a function fails a Task whose deliveries end
without an answer, and a sweep, on a function without user code, finds executions whose events are gone.

Both repeat what a delivery does, without user code. They may come twice, die anywhere, and race with a late success:
the first commit counts.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NoReturn, TypeAlias

from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.list_index import FIRST
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.control import operator_requests
from unum_runtime.protocol.control.nudge import effects_of, missing
from unum_runtime.protocol.control.platform_failure import fail_invocation
from unum_runtime.protocol.control.sweep import Sweep, Swept, sweep
from unum_runtime.protocol.control.versions import runs_on
from unum_runtime.protocol.delivery.perform import envelope
from unum_runtime.protocol.history.pending import Missing
from unum_runtime.protocol.planning.plan import Invoke, JoinNeighbour
from unum_runtime.protocol.requests.answers import refusal
from unum_runtime.protocol.runtime import Call, Runtime
from unum_runtime.store.base import Index

GIVEN_UP = "Lambda.Unknown"
"""Error of a Task whose function dies: the name that AWS uses, so that a Catch or Retry holds on both platforms."""

OnDefinition: TypeAlias = Callable[[str | None], Runtime]
"""A function that returns the runtime on the stored definition with a digest; on this function's own for None."""


class Search(NamedTuple):
    """A request for a sweep.

    Attributes:
        silent_s: time after which a pending event counts as lost, and is sent again, in seconds.
        give_up_s: time after which the Task of a pending event is failed, in seconds; at least `silent_s`.
        after: place after which the search begins; see `Sweep.after`.
    """

    silent_s: int
    give_up_s: int
    after: str = FIRST

    @classmethod
    def from_json(cls, event: Json) -> "Search":
        """Return the request in `event`.

        Raises:
            ValueError: malformed; the text says what was expected.
        """
        match event:
            case {"silent_s": int(silent_s), "give_up_s": int(give_up_s), **more} if 0 < silent_s <= give_up_s:
                if isinstance(after := more.pop("after", FIRST), str) and not more:
                    return cls(silent_s, give_up_s, after)
        raise ValueError(f"expected `silent_s` and `give_up_s`, seconds, 0 < silent_s <= give_up_s, got {event!r:.200}")


def fail_dying(rt: Runtime, event: Envelope, deaths: int) -> None:
    """Fail the Task of `event` unless it has an outcome, after `deaths` deliveries that ended without an answer.

    Raises:
        RefusedDelivery: the event can have no effect any more.
        UnumError: a service did not answer; the event comes again.
    """
    cause = f"{deaths} deliveries ended without an answer: the function died, or used up its time or memory"
    rt.log("given up", invocation=str(event.name), state=event.state, deaths=deaths)
    fail_invocation(_without_code(rt), event, Failure(GIVEN_UP, cause))


def search(on: OnDefinition, index: Index, asked: Search) -> Swept:
    """Send lost events of running executions again, fail Tasks whose events were given up, end what is over.

    Raises:
        StoreError: the index could not be read; the next sweep tries again.
    """
    rt = _without_code(on(None))
    request = Sweep(silent_ms=asked.silent_s * 1000, nudges=True, after=asked.after)
    return sweep(rt, index, request, partial(_ask, rt, on, asked.give_up_s * 1000), lambda _: rt.retention_s)


def _ask(here: Runtime, on: OnDefinition, give_up_ms: int, event: Mapping[str, Json]) -> Json:
    """Fail what one execution waits for in vain; answer the control request `event` about the rest."""
    try:
        asked = operator_requests.parse(event)
        found = runs_on(here.store, here.workflow.name, asked.execution)
        rt = replace(_without_code(on(found.digest)), remaining_ms=here.remaining_ms)
        for each in missing(rt, asked.execution, silent_ms=give_up_ms):
            _fail_lost(rt, each, give_up_ms)
        return operator_requests.answer(rt, asked, found.began)
    except ClientError as error:
        return refusal(type(error).__name__, str(error))


def _fail_lost(rt: Runtime, gap: Missing, give_up_ms: int) -> None:
    """Fail the Task that `gap` waits for; what needs no user code is left to the nudge."""
    if isinstance(gap.effect, JoinNeighbour):  # it may wait for a branch that still runs
        return
    for effect in effects_of(rt, gap, {gap.name}):
        task = rt.workflow.states.get(effect.state) if isinstance(effect, Invoke) else None
        if isinstance(effect, Invoke) and isinstance(task, Task):
            rt.log("given up", invocation=str(effect.name), state=effect.state, since_ms=gap.since_ms)
            # No attempt is stored. Overdue means that all retries had their time, so they count as used up.
            used_up = replace(effect, retries=tuple(each.max_attempts for each in task.retry))
            cause = f"no delivery of its event had an outcome for {give_up_ms // 1000} s"
            fail_invocation(rt, envelope(rt, used_up, {}), Failure(GIVEN_UP, cause))


def _without_code(rt: Runtime) -> Runtime:
    return replace(rt, hosts=frozenset(), call=_no_code)


def _no_code(call: Call, _value: Json) -> NoReturn:
    raise AssertionError(f"{call.invocation}: recovery runs no user code")
