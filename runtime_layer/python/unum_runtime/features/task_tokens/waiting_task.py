"""Tries of Tasks that give out a token, or wait for a signal."""

from unum_runtime.cold_start.records import replace
from unum_runtime.features.task_tokens.given_tokens import (
    OF_POLLS,
    GivenToken,
    check_result,
    give_out_token,
    next_check,
    read_result,
)
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.run_task import Result, TaskTry, call_user_code, is_over
from unum_runtime.protocol.runtime import CallbackPending
from unum_runtime.protocol.waiting.callback import Limits, store_failure


class WaitingTry(TaskTry):
    """One try of a Task that gives out a token, or waits for a signal."""

    def _result(self, begun_ms: int, limits: Limits) -> Result:
        """Return the result that is there, or that of user code, whose event may contain a token."""
        if is_over(self.envelope, self.task):
            return check_result(self.rt, self.envelope, limits)
        if self.facts.waits_for_signal:
            return self._begin_wait(begun_ms, limits)
        given = self._token(begun_ms, limits)
        # An earlier delivery may have given out a token, and a responder may have answered already.
        found = read_result(self.rt, self.envelope, given)
        return self._run_code(begun_ms, limits, given.text) if found is None else found

    def _token(self, begun_ms: int, limits: Limits) -> GivenToken:
        """Return a token that counts, or for a poll one that only completes its arguments."""
        if self.envelope.job is not None:
            return OF_POLLS
        return give_out_token(self.rt, replace(self.envelope, begun_ms=begun_ms), limits.heartbeat_s)

    def _begin_wait(self, begun_ms: int, limits: Limits) -> Result:
        """Return the signal that the Task waits for if it is there, or the next check of its time."""
        from unum_runtime.features.signals.signal_wait import begin_wait, mailbox_of  # noqa: PLC0415 - few workflows

        mailbox = mailbox_of(self.rt, self.task, self.envelope.name, self.entered)
        found = begin_wait(self.rt, replace(self.envelope, begun_ms=begun_ms), mailbox, limits)
        if isinstance(found, Success | Failure):
            return found
        # Only stand-ins of tests answer: in a deployment there is no code behind a wait.
        stood_in = call_user_code(self.rt, self._call(None, ""), self._event(begun_ms, ""))
        return found if isinstance(stood_in, CallbackPending) else stood_in

    def _call_user_code(self, event: Json, limits: Limits, begun_ms: int, token: str) -> Result:
        """Return the result of user code within its time limit, or the next check of its time."""
        result = super()._call_user_code(event, limits, begun_ms, token)
        if isinstance(result, CallbackPending):
            return next_check(limits, self.rt.clock.now_ms() - begun_ms)
        # User code may have forwarded the token before it failed: the first stored result of the try counts.
        return store_failure(self.rt, self.envelope, result) if isinstance(result, Failure) else result
