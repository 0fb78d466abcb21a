"""Run a state: a Task runs user code; a Wait or a retried fan-out only continues.

The result is an outcome to commit, failures included; or the event of a retry or a poll; or nothing yet.
"""

import traceback
from collections.abc import Mapping
from functools import cached_property, partial
from itertools import dropwhile
from typing import TypeAlias

import unum_runtime
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory, StatesError
from unum_runtime.json_text import foreign_to_text, parse_json, to_ascii, to_text
from unum_runtime.model.checkpoint import DEFAULT_CONTINUATION, Continuation, Failure, Outcome, Phase, Success
from unum_runtime.model.delivery_record import FailedTry, with_try
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import Frame
from unum_runtime.model.states import SIGNAL, Form, Json, Pattern, State, Task, Wait
from unum_runtime.protocol.delivery.commit import limit_outcome
from unum_runtime.protocol.planning import dataset_variables
from unum_runtime.protocol.planning.advance import failure_of, pass_wait
from unum_runtime.protocol.planning.evaluation import EvaluationContext, deadline
from unum_runtime.protocol.planning.plan import Commit, Invoke, out_of_time
from unum_runtime.protocol.planning.retry import Retry, recover
from unum_runtime.protocol.planning.task_facts import task_facts
from unum_runtime.protocol.runtime import Call, CallbackPending, JobPending, Runtime
from unum_runtime.protocol.waiting import callback
from unum_runtime.protocol.waiting.callback import NO_LIMITS, Limits
from unum_runtime.protocol.waiting.service_job import next_poll, with_stored_job

# Time limits of a Task's try, across all its deliveries.


def user_code_limit_s(task: Task, limits: Limits) -> float | None:
    """Return user code's time limit in seconds; None without limit."""
    # Heartbeats are expected from the responder alone. User code in a Lambda function sends none, so for every other
    # pattern a heartbeat limit is a limit of the whole run.
    if task.pattern is Pattern.CALLBACK:
        return limits.timeout_s
    return min((limit for limit in limits if limit is not None), default=None)


def exceeded_limit(task: Task, limits: Limits, elapsed_ms: int) -> Failure | None:
    """Return States.Timeout or States.HeartbeatTimeout after an exceeded limit, else None."""
    for error, limit_s in zip(("States.Timeout", "States.HeartbeatTimeout"), limits, strict=True):
        if limit_s is not None and elapsed_ms > limit_s * 1000:
            return Failure(error, f"state {task.name!r}: took longer than {limit_s:g} s")
    return None


def check_before(deadline_ms: int, now_ms: int, found: JobPending | CallbackPending) -> JobPending | CallbackPending:
    """Return `found` with its next check no later than the execution's deadline."""
    left_ms = max(0, deadline_ms - now_ms)
    if isinstance(found, CallbackPending):
        return JobPending(None, left_ms)
    return replace(found, delay_ms=min(found.delay_ms, left_ms))


Result: TypeAlias = Success | Failure | JobPending | CallbackPending
_Found: TypeAlias = tuple[Success, Continuation] | Failure | JobPending | CallbackPending

Done: TypeAlias = Commit | Invoke | CallbackPending

_OWN_PACKAGES = unum_runtime.__path__[0].removesuffix("runtime")
"""Beginning of the folders of this project's packages, which are installed side by side."""


def run(rt: Runtime, envelope: Envelope, state: State, entered: Value) -> Done:
    """Run `state` with its input `entered`, before data flow.

    Raises:
        LeaseHeldError: another execution computes a shared result; wait for it.
        RefusedDelivery: the event can have no effect any more.
    """
    if isinstance(state, Task):
        if state.pattern is Pattern.SYNC and envelope.job is None:
            envelope = with_stored_job(rt, envelope)
        return _try_of(rt, envelope, state, entered).run()
    if isinstance(state, Wait):
        return _pass(envelope, state, entered.value, _evaluation(rt, envelope, entered))
    # A fan-out that is retried: its input is committed first, and the fan-out's size follows from the commit.
    continuation = Continuation(variables=entered.variables, retries=envelope.retries)
    return Commit(envelope.name, state.name, Phase.ENTERED, entered.given, continuation)


def recover_failure(rt: Runtime, envelope: Envelope, task: Task, entered: Value, failure: Failure) -> Done:
    """Recover from `failure`, reported by the platform for a try of `task` with input `entered`."""
    own = _take_slot(rt, envelope, task, entered) if (task.resource or "").startswith(SIGNAL) else envelope
    found = callback.store_failure(rt, own, failure) if task.gives_token else failure
    if isinstance(found, CallbackPending):
        return found
    return TaskTry(rt, envelope, task, entered).recover(found, rt.clock.now_ms())


def _try_of(rt: Runtime, envelope: Envelope, task: Task, entered: Value) -> "TaskTry":
    """Return the try of `task` that `envelope` begins or continues.

    Raises:
        InconsistentHistory: the event announces an answer, and the Task has no token.
    """
    if task_facts(rt.workflow)[task.name].gives_token:
        from unum_runtime.features.task_tokens.waiting_task import WaitingTry  # noqa: PLC0415 - few Tasks have tokens

        return WaitingTry(rt, envelope, task, entered)
    if is_over(envelope, task):
        raise InconsistentHistory(
            f"{envelope.name}: expected an event of a Task without a token, got one that announces an answer"
        )
    return TaskTry(rt, envelope, task, entered)


def _take_slot(rt: Runtime, envelope: Envelope, task: Task, entered: Value) -> Envelope:
    """Return `envelope`, of a try that waits for a signal, with the slot of the try, taken now if it has none."""
    from unum_runtime.features.signals.signal_wait import take_own_slot  # noqa: PLC0415 - few workflows wait for signals

    return take_own_slot(rt, envelope, task, entered)


def _in_slot(rt: Runtime, envelope: Envelope, task: Task, entered: Value) -> Envelope:
    """Return `envelope`, of a try that waits for a signal, with the slot that the try has taken, if any."""
    from unum_runtime.features.signals.signal_wait import in_own_slot  # noqa: PLC0415 - few workflows wait for signals

    return in_own_slot(rt, envelope, task, entered)


def is_over(envelope: Envelope, task: Task) -> bool:
    """Return True if user code of `task` has run for `envelope`, and only a responder's result is missing."""
    return envelope.job is not None and callback.is_response_left(envelope.job, task)


def _evaluation(rt: Runtime, envelope: Envelope, entered: Value) -> EvaluationContext:
    execution, seed = envelope.name.execution, str(envelope.name)
    return EvaluationContext(rt.workflow, execution, entered.entered_ms, seed, dict(entered.variables))


def _pass(envelope: Envelope, state: Wait, value: Json, evaluation: EvaluationContext) -> Commit:
    left = pass_wait(state, value, evaluation)
    if isinstance(left, Failure):
        return Commit(envelope.name, state.name, Phase.LEFT, left)
    return Commit(envelope.name, state.name, Phase.LEFT, Success(left.value), Continuation(variables=left.variables))


class TaskTry:
    """One try of a Task.

    Attributes:
        rt: the runtime.
        envelope: the event of the try.
        task: the Task.
        facts: facts about the Task that no event changes.
        entered: the Task's input, before data flow.
    """

    def __init__(self, rt: Runtime, envelope: Envelope, task: Task, entered: Value) -> None:
        self.rt, self.envelope, self.task, self.entered = rt, envelope, task, entered
        self.facts = task_facts(rt.workflow)[task.name]

    @cached_property
    def evaluation(self) -> EvaluationContext:
        """The evaluation context of entering the Task."""
        return _evaluation(self.rt, self.envelope, self.entered)

    def run(self) -> Done:
        """Run user code or poll its job; return an outcome, an event or nothing."""
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
            return self.recover(found, begun_ms)
        deadline_ms = deadline(self.rt.workflow, self.envelope.name.execution)
        if deadline_ms is not None:
            found = check_before(deadline_ms, self.rt.clock.now_ms(), found)
        if isinstance(found, CallbackPending):
            return found
        due_ms = self.rt.clock.now_ms() + found.delay_ms
        return self._poll_again(due_ms, {"since": self._since_ms(begun_ms), "handle": found.job})

    def _work(self, begun_ms: int) -> _Found:
        """Run user code with the data flow around it.

        Raises:
            StatesError: the data flow failed.
        """
        limits = self._limits(begun_ms) if self.facts.limits else NO_LIMITS
        if self.task.left_out is not None and _is_left_out(self.task.left_out, self.envelope.name.frames[-1]):
            result: Result = Success(None)
        else:
            result = self._result(begun_ms, limits)
        if not isinstance(result, Success):
            return result
        outcome, variables = result, self.entered.variables
        if not self.facts.gives_result:
            outcome, variables = self._leave(result)
        elif variables:
            variables = dataset_variables.without(variables)
        continuation = Continuation(variables=variables) if variables else DEFAULT_CONTINUATION
        found = limit_outcome(self.rt, outcome, continuation, limit=self.rt.workflow.payload_limit)
        return found if isinstance(found, Failure) else (found, continuation)

    def _result(self, begun_ms: int, limits: Limits) -> Result:
        """Return the result of user code."""
        return self._run_code(begun_ms, limits, "")

    def _run_code(self, begun_ms: int, limits: Limits, token: str) -> Result:
        """Return the result of user code, whose event may contain `token`."""
        event = self.entered.value if self.facts.takes_input else self._event(begun_ms, token)
        return self._call_user_code(event, limits, begun_ms, token)

    def _limits(self, begun_ms: int) -> Limits:
        number, context = self.facts.program.number, self._context_of(begun_ms)
        return Limits(
            **{limit: number(field, self.entered.value, context) for limit, field in self.facts.limits.items()}
        )

    def _event(self, begun_ms: int, token: str) -> Json:
        """Return the event of user code."""
        arguments = self.facts.program.arguments(self.entered.value, self._context_of(begun_ms, token))
        if self.rt.workflow.strict:
            from unum_runtime.protocol.planning.quotas import check_value  # noqa: PLC0415 - few workflows are strict

            check_value(self.rt.workflow, arguments, "input after the arguments")
        return event_of(self.task, dataset_variables.results_kept(self.task, arguments, self.evaluation))

    def _leave(self, result: Success) -> tuple[Success, Mapping[str, Json]]:
        """Return the state's output after `result`, and the variables."""
        raw, task = self.entered.value, self.task
        left = dataset_variables.keep_items(task, raw, result.value, self.evaluation) or self.facts.program.output(
            raw, shape_result(task, result.value), self._context_of(self.rt.clock.now_ms(), part=" result")
        )
        return result.changed_to(left.value), left.variables

    def _call_user_code(self, event: Json, limits: Limits, begun_ms: int, token: str) -> Result:
        """Return the result of user code within its time limit."""
        # User code may change its event, so it must not share the event with an input that is needed afterwards.
        is_shared = self.facts.needs_input_after or (self.facts.may_share_variables and self.entered.variables)
        own = parse_json(to_text(event)) if is_shared else event
        invocation = self._call(user_code_limit_s(self.task, limits) if self.facts.limits else None, token)
        if self.task.memoize:
            from unum_runtime.features.memo.memo import compute_once  # noqa: PLC0415 - few Tasks share results

            compute = partial(call_user_code, self.rt, invocation, own)
            result = compute_once(self.rt, self.envelope, self.task, own, compute)
        else:
            result = call_user_code(self.rt, invocation, own)
        if self.facts.limits and not isinstance(result, CallbackPending):
            elapsed_ms = self.rt.clock.now_ms() - self._since_ms(begun_ms)
            result = exceeded_limit(self.task, limits, elapsed_ms) or result
        return result

    def _since_ms(self, begun_ms: int) -> int:
        """Return the start of this try, perhaps in an earlier delivery, in milliseconds since 1970."""
        job = self.envelope.job
        return begun_ms if job is None else int(job.get("since", begun_ms))

    def recover(self, failure: Failure, begun_ms: int) -> Done:
        """Return a retry event for `failure`, or an outcome to commit; nothing if another event started the retry."""
        now_ms, retries = self.rt.clock.now_ms(), self.envelope.retries
        found = recover(self.task, failure, self.entered.value, self.evaluation, retries=retries, now_ms=now_ms)
        if isinstance(found, Retry):
            # Checks of a try may multiply, and each finds the same failure; one of them has started the next try.
            if is_over(self.envelope, self.task) and self._has_begun(found):
                return CallbackPending()
            name, state = str(self.envelope.name), self.task.name
            self.rt.log("retried", invocation=name, state=state, error=failure.error, cause=failure.cause)
            tries = with_try(self.envelope.tries, failure.error, self._since_ms(begun_ms), now_ms)
            return self._again(found.due_ms, found.retries, None, tries)
        return self._commit(found.outcome, found.continuation, begun_ms)

    def _has_begun(self, retry: Retry) -> bool:
        following = replace(self.envelope, retries=retry.retries, job=None)
        if self.facts.waits_for_signal:
            return _in_slot(self.rt, following, self.task, self.entered).job is not None
        return callback.has_begun(self.rt, following)

    def _poll_again(self, due_ms: int, found: dict[str, Json]) -> Invoke | CallbackPending:
        """Return a polling event for `found`, due at `due_ms`; nothing if another event polls it."""
        is_job = self.task.pattern is Pattern.SYNC
        job = next_poll(self.rt, self.envelope, found, due_ms) if is_job else found
        if job is None:
            return CallbackPending()
        return self._again(due_ms, self.envelope.retries, job, self.envelope.tries)

    def _again(self, due_ms: int, retries: tuple[int, ...], job: Json, tries: tuple[FailedTry, ...]) -> Invoke:
        return Invoke(self.envelope.name, self.task.name, self.envelope.input, due_ms, retries, job, tries=tries)

    def _commit(self, outcome: Outcome, continuation: Continuation, begun_ms: int) -> Commit:
        duration_ms = self.rt.clock.now_ms() - begun_ms
        attempt = sum(self.envelope.retries)
        return Commit(self.envelope.name, self.task.name, Phase.LEFT, outcome, continuation, duration_ms, attempt)

    def _context_of(self, now_ms: int, token: str = "", part: str = "") -> ExpressionContext:
        evaluation, visible = self.evaluation, dataset_variables.without(self.evaluation.variables)
        if visible is not evaluation.variables:
            evaluation = replace(evaluation, variables=visible)
        return evaluation.context_of(
            self.task.name, retries=self.envelope.retries, now_ms=now_ms, token=token, part=part
        )

    def _call(self, timeout_s: float | None, token: str) -> Call:
        invocation = str(self.envelope.name)
        # The Task that commits for this one has the same invocation name, and must get another idempotency key.
        if self.task.committed_by is not None:
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
            token=token if self.envelope.job is None else "",
            job=None if self.envelope.job is None else self.envelope.job["handle"],
            start_aliases=self.rt.start_aliases(self.envelope.routes) if self.task.resource else {},
            handler=self.task.handler,
        )


def _is_left_out(left_out: tuple[int, int], frame: Frame) -> bool:
    first, last = left_out
    return not first <= frame.index < frame.size - last


def event_of(task: Task, arguments: Json) -> Json:
    """Return the event of user code of `task`, given the state's effective input."""
    return arguments.get("Payload", {}) if task.form is Form.INVOKE else arguments


def call_user_code(rt: Runtime, invocation: Call, event: Json) -> Result:
    """Run user code and return its result; an exception is a failure as Lambda reports it."""
    try:
        returned = rt.call(invocation, event)
    except StatesError as failed:  # the runtime's own code for services names its failures itself
        return Failure(failed.error, failed.cause)
    except Exception as error:  # noqa: BLE001 - every exception of user code is its outcome
        return Failure(type(error).__name__, _cause(str(error), type(error).__name__, _user_frames(error)))
    if isinstance(returned, JobPending | CallbackPending):
        return returned
    try:
        return Success.from_text(foreign_to_text(returned))
    except (TypeError, ValueError):
        return _not_serializable(returned)


def _not_serializable(returned: object) -> Failure:
    """Return the failure for a result that is no JSON, with the place of the fault."""
    from unum_runtime.asl.serialize import NotSerializable, dumps  # noqa: PLC0415 - few results are no JSON

    try:
        dumps(returned)
    except NotSerializable as error:
        return Failure(error.error, _cause(error.cause, error.error, []))
    raise AssertionError("a result is JSON at its second look")


def shape_result(task: Task, result: Json) -> Json:
    """Return user code's result, wrapped as the Task's resource wraps it.

    Source: AWS Step Functions Developer Guide, "Invoke an AWS Lambda function with Step Functions".
    """
    if task.form is not Form.INVOKE or task.pattern is not Pattern.RESPONSE:
        return result
    return {"ExecutedVersion": "$LATEST", "Payload": result, "StatusCode": 200}


def _cause(message: str, error_type: str, stack: list[str]) -> str:
    """Return the cause in the format of a Lambda function error."""
    return to_ascii({"errorMessage": message, "errorType": error_type, "stackTrace": stack})


def _user_frames(error: Exception) -> list[str]:
    """Return user code's stack frames, without those of the packages that call it."""
    frames = dropwhile(
        lambda frame: frame.filename.startswith(_OWN_PACKAGES), traceback.extract_tb(error.__traceback__)
    )
    return traceback.format_list(frames)
