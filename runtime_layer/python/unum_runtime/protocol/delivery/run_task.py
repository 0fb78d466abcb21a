"""What a state does that an event is for: a Task runs user code, others only go on.

What it comes to is an outcome to commit, whatever failed; or the event of another try; or nothing yet.
"""

import json
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TypeAlias

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import DEFAULT_CONTINUATION, Continuation, Failure, Outcome, Phase, Success, to_text
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Json, Pattern, State, Task, Wait
from unum_runtime.protocol.delivery.commit import bounded
from unum_runtime.protocol.delivery.memo import shared
from unum_runtime.protocol.delivery.user_code import call, event_of, shaped
from unum_runtime.protocol.planning import dataset_variables
from unum_runtime.protocol.planning.advance import failure_of, pass_wait
from unum_runtime.protocol.planning.evaluation import EvaluationContext, deadline
from unum_runtime.protocol.planning.plan import Commit, Invoke, out_of_time
from unum_runtime.protocol.planning.retry import Retry, recover
from unum_runtime.protocol.planning.task_facts import node
from unum_runtime.protocol.runtime import Call, CallbackPending, JobPending, Runtime
from unum_runtime.protocol.waiting.callback import Limits, fail, has_begun, known, look, next_look, token
from unum_runtime.protocol.waiting.service_job import next_look as next_look_at_job
from unum_runtime.protocol.waiting.service_job import resumed

_Limits: TypeAlias = Mapping[str, float | None]
_Result: TypeAlias = Success | Failure | JobPending | CallbackPending
_Found: TypeAlias = tuple[Success, Continuation] | Failure | JobPending | CallbackPending

Done: TypeAlias = Commit | Invoke | CallbackPending


def run(rt: Runtime, envelope: Envelope, state: State, entered: Value) -> Done:
    """Do what `state` does with its input `entered`, before data flow.

    Raises:
        LeaseHeldError: another execution computes a result that both can use; the event must be delivered again.
        RefusedDelivery: nothing can come of it.
    """
    if isinstance(state, Task):
        return _Try(rt, resumed(rt, envelope, state), state, entered).done()
    if isinstance(state, Wait):
        return _pass(envelope, state, entered.value, _moment(rt, envelope, entered))
    # A fan-out that begins anew: what it is entered with is committed, and its size follows from that.
    continuation = Continuation(variables=entered.variables, retries=envelope.retries)
    return Commit(envelope.name, state.name, Phase.ENTERED, entered.given, continuation)


def recovered(rt: Runtime, envelope: Envelope, task: Task, entered: Value, failure: Failure) -> Done:
    """What comes of a try of `task`, entered with `entered`, of which the platform says that it came to `failure`."""
    found = fail(rt, envelope, failure) if task.pattern is Pattern.CALLBACK else failure
    if isinstance(found, CallbackPending):
        return found
    return _Try(rt, envelope, task, entered).recovered(found, rt.clock.now_ms())


def is_over(envelope: Envelope, task: Task) -> bool:
    """Whether user code of `task` has run for `envelope`, and what is missing is what somebody hands in."""
    job = envelope.job
    return job is not None and (task.pattern is Pattern.CALLBACK or "is_over" in job)


def _moment(rt: Runtime, envelope: Envelope, entered: Value) -> EvaluationContext:
    execution, seed = envelope.name.execution, str(envelope.name)
    return EvaluationContext(rt.workflow, execution, entered.entered_ms, seed, dict(entered.variables))


def _pass(envelope: Envelope, state: Wait, value: Json, evaluation: EvaluationContext) -> Commit:
    left = pass_wait(state, value, evaluation)
    if isinstance(left, Failure):
        return Commit(envelope.name, state.name, Phase.LEFT, left)
    return Commit(envelope.name, state.name, Phase.LEFT, Success(left.value), Continuation(variables=left.variables))


class _Try:
    """One try of a Task.

    Attributes:
        rt: the runtime.
        envelope: its event.
        task: the Task.
        node: what is known of it.
        entered: its input, before data flow.
    """

    def __init__(self, rt: Runtime, envelope: Envelope, task: Task, entered: Value) -> None:
        self.rt, self.envelope, self.task, self.entered = rt, envelope, task, entered
        self.node = node(rt.workflow, task)

    @cached_property
    def evaluation(self) -> EvaluationContext:
        """When it was entered."""
        return _moment(self.rt, self.envelope, self.entered)

    def done(self) -> Done:
        """What comes of it."""
        begun_ms = self.rt.clock.now_ms()
        if self.rt.workflow.timeout_s is not None and self.evaluation.is_late_at(begun_ms):
            return self._commit(out_of_time(self.rt.workflow), DEFAULT_CONTINUATION, begun_ms)
        try:
            found = self._work(begun_ms)
        except StatesError as failed:
            found = failure_of(self.task, failed)
        if isinstance(found, tuple):
            return self._commit(*found, begun_ms)
        if isinstance(found, Failure):
            return self.recovered(found, begun_ms)
        found = self._within_execution(found)
        if isinstance(found, CallbackPending):
            return found
        due_ms = self.rt.clock.now_ms() + found.delay_ms
        return self._look_again(due_ms, {"since": self._since_ms(begun_ms), "handle": found.job})

    def _within_execution(self, found: JobPending | CallbackPending) -> JobPending | CallbackPending:
        """`found`; or when to look again, because the execution must have ended by then."""
        deadline_ms = deadline(self.rt.workflow, self.envelope.name.execution)
        if deadline_ms is None:
            return found
        left_ms = max(0, deadline_ms - self.rt.clock.now_ms())
        return (
            JobPending(None, left_ms)
            if isinstance(found, CallbackPending)
            else replace(found, delay_ms=min(found.delay_ms, left_ms))
        )

    def _work(self, begun_ms: int) -> _Found:
        """User code, with the data flow around it.

        Raises:
            StatesError: the data flow failed.
        """
        limits, given = self._limits(begun_ms) if self.node.limits else {}, ""
        result: _Result | None = None
        if is_over(self.envelope, self.task):
            result = look(self.rt, self.envelope, _for_holders(limits))
        elif self.node.gives_token and self.envelope.job is None:
            given = token(self.rt, self.envelope, limits.get("States.HeartbeatTimeout"))
            result = known(self.rt, self.envelope, given)
        if result is None:
            event = self.entered.value if self.node.takes_input else self._event(begun_ms, given)
            result = self._result(event, limits, begun_ms, given)
        if not isinstance(result, Success):
            return result
        if self.node.gives_result:
            outcome, variables = result, dataset_variables.without(self.entered.variables)
        else:
            outcome, variables = self._left(result, given)
        continuation = Continuation(variables=variables) if variables else DEFAULT_CONTINUATION
        found = bounded(self.rt, outcome, continuation, limit=self.rt.workflow.payload_limit)
        return found if isinstance(found, Failure) else (found, continuation)

    def _limits(self, begun_ms: int) -> _Limits:
        """How long it may take, in seconds, by what it comes to then."""
        context = self._context_of(begun_ms)
        return {
            error: self.node.program.number(field, self.entered.value, context)
            for error, field in self.node.limits.items()
        }

    def _event(self, begun_ms: int, given: str) -> Json:
        """What user code gets."""
        arguments = self.node.program.arguments(self.entered.value, self._context_of(begun_ms, given=given))
        return event_of(self.task, dataset_variables.results_kept(self.task, arguments, self.evaluation))

    def _left(self, result: Success, given: str) -> tuple[Success, Mapping[str, Json]]:
        """What the state is left with after `result`, and the variables."""
        raw, task = self.entered.value, self.task
        left = dataset_variables.keep_items(task, raw, result.value, self.evaluation) or self.node.program.output(
            raw, shaped(task, result.value), self._context_of(self.rt.clock.now_ms(), given=given, part=" result")
        )
        return result.changed_to(left.value), left.variables

    def _result(self, event: Json, limits: _Limits, begun_ms: int, given: str) -> _Result:
        """What user code comes to, within the time that it may take."""
        # User code may change its event, and so must not share it with the input that is needed afterwards.
        is_shared = self.node.needs_input_after or (self.node.may_share_variables and self.entered.variables)
        own = json.loads(to_text(event)) if is_shared else event
        invocation = self._call(self._timeout_s(limits) if limits else None, given)
        if self.task.memoize:
            result = shared(self.rt, self.envelope, self.task, own, partial(call, self.rt, invocation, own))
        else:
            result = call(self.rt, invocation, own)
        if isinstance(result, CallbackPending):
            return next_look(_for_holders(limits), self.rt.clock.now_ms() - begun_ms)
        if limits:
            result = self._too_late(limits, self._since_ms(begun_ms)) or result
        return fail(self.rt, self.envelope, result) if given and isinstance(result, Failure) else result

    def _timeout_s(self, limits: _Limits) -> float | None:
        """How long user code may take; who waits for a holder expects heartbeats of that alone."""
        if self.task.pattern is Pattern.CALLBACK:
            return limits.get("States.Timeout")
        return min((limit for limit in limits.values() if limit is not None), default=None)

    def _too_late(self, limits: _Limits, since_ms: int) -> Failure | None:
        now_ms = self.rt.clock.now_ms()
        for error, limit_s in limits.items():
            if limit_s is not None and now_ms - since_ms > limit_s * 1000:
                return Failure(error, f"state {self.task.name!r}: took longer than {limit_s:g} s")
        return None

    def _since_ms(self, begun_ms: int) -> int:
        """When this try began, be it in an earlier delivery; in milliseconds since 1970."""
        job = self.envelope.job
        return begun_ms if job is None else int(job.get("since", begun_ms))

    def recovered(self, failure: Failure, begun_ms: int) -> Done:
        """What `failure` leads to: the event of another try, if that has not begun, or an outcome."""
        now_ms, retries = self.rt.clock.now_ms(), self.envelope.retries
        found = recover(self.task, failure, self.entered.value, self.evaluation, retries=retries, now_ms=now_ms)
        if isinstance(found, Retry):
            if is_over(self.envelope, self.task) and has_begun(self.rt, replace(self.envelope, retries=found.retries)):
                return CallbackPending()
            name, state = str(self.envelope.name), self.task.name
            self.rt.log("retried", invocation=name, state=state, error=failure.error, cause=failure.cause)
            return self._again(found.due_ms, found.retries, None)
        return self._commit(found.outcome, found.continuation, begun_ms)

    def _look_again(self, due_ms: int, found: dict[str, Json]) -> Invoke | CallbackPending:
        """The event that looks at `due_ms` what has become of what was `found`, if another is not to do that."""
        is_job = self.task.pattern is Pattern.SYNC
        job = next_look_at_job(self.rt, self.envelope, found, due_ms) if is_job else found
        return CallbackPending() if job is None else self._again(due_ms, self.envelope.retries, job)

    def _again(self, due_ms: int, retries: tuple[int, ...], job: Json) -> Invoke:
        return Invoke(self.envelope.name, self.task.name, self.envelope.input, due_ms, retries, job)

    def _commit(self, outcome: Outcome, continuation: Continuation, begun_ms: int) -> Commit:
        duration_ms = self.rt.clock.now_ms() - begun_ms
        attempt = sum(self.envelope.retries)
        return Commit(self.envelope.name, self.task.name, Phase.LEFT, outcome, continuation, duration_ms, attempt)

    def _context_of(self, now_ms: int, given: str = "", part: str = "") -> ExpressionContext:
        evaluation, visible = self.evaluation, dataset_variables.without(self.evaluation.variables)
        if visible is not evaluation.variables:
            evaluation = replace(evaluation, variables=visible)
        return evaluation.context_of(
            self.task.name, retries=self.envelope.retries, now_ms=now_ms, token=given, part=part
        )

    def _call(self, timeout_s: float | None, given: str) -> Call:
        invocation = str(self.envelope.name)
        if self.task.committed_by is not None:  # the name is also that of the Task which commits for this one
            invocation += f" {self.task.name}"
        return Call(
            execution=self.envelope.name.execution.name,
            invocation=invocation,
            state=self.task.name,
            function=self.task.function,
            idempotency_key=f"{self.envelope.workflow}/{invocation}",
            resource=self.task.resource,
            pattern=self.task.pattern,
            attempt=sum(self.envelope.retries),
            timeout_s=timeout_s,
            token=given,
            job=None if self.envelope.job is None else self.envelope.job["handle"],
            start_aliases=self.rt.start_aliases(self.envelope.routes) if self.task.resource else {},
        )


def _for_holders(limits: _Limits) -> Limits:
    return Limits(limits.get("States.Timeout"), limits.get("States.HeartbeatTimeout"))
