"""Lambda's queue of asynchronous events.

"Lambda places the event in a queue and returns a success response", retries function errors twice, returns throttled
events to the queue "for up to 6 hours" without counting them as attempts, and sends unprocessed events to the
on-failure destination of the invoked version or alias.
https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html With a reserved concurrency of 0,
events go there without an attempt. https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
ministack starts a thread per event, counts a throttle as a failed attempt, and reads only the configuration of the
unpublished function. The delays here are 1 s and 2 s instead of 1 and 2 minutes.
"""

import heapq
import itertools
import logging
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ministack.services import lambda_svc

from unum_emulator import patching
from unum_emulator.aws_lambda import invocation
from unum_emulator.aws_lambda.destinations import AsyncEvent, Condition, Destinations, OnEnd, Policy
from unum_emulator.aws_lambda.executor import unlimited_wait
from unum_emulator.aws_lambda.injected_faults import FaultInjector
from unum_emulator.aws_lambda.recursion import loop_error
from unum_emulator.history import History, sender

logger = logging.getLogger(__name__)

RETRY_DELAYS_S = (1.0, 2.0)
_THROTTLE_DELAY_S = 0.2


class AsyncEvents:
    """Queues of due and delayed events, with the threads that deliver them."""

    def __init__(self, dispatchers: int, destinations: Destinations, history: History, faults: FaultInjector) -> None:
        self._dispatchers = dispatchers
        self._destinations = destinations
        self._history = history
        self._faults = faults
        self._due: queue.SimpleQueue[AsyncEvent] = queue.SimpleQueue()
        self._delayed: list[tuple[float, int, AsyncEvent]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()

    def install(self) -> None:
        """Replace ministack's threads, and start the dispatchers."""
        patching.replace(lambda_svc, "invoke_async_with_retry", self.accept)
        threading.Thread(target=self._release_delayed, daemon=True, name="async-later").start()
        for number in range(self._dispatchers):
            threading.Thread(target=self._dispatch, daemon=True, name=f"async-{number}").start()

    def accept(self, func: Mapping[str, Any], event: Any, on_end: OnEnd | None = None) -> None:
        """Queue an event, with the identity that the Invoke API gave it."""
        accepted = AsyncEvent(func, event, invocation.current_invocation(), on_end=on_end)
        function, request_id = str(accepted.function), accepted.identity.request_id
        self._history.add("sent", by=sender(), request=request_id, function=function, event=event)
        self._due.put(accepted)
        if self._faults.is_twice(accepted.function):
            self._history.add("fault", delivery=request_id, fault="is delivered twice")
            self._due.put(accepted)

    def _delay(self, event: AsyncEvent, delay_s: float) -> None:
        with self._changed:
            # The running number decides between equal times, because events have no order.
            heapq.heappush(self._delayed, (time.monotonic() + delay_s, next(self._order), event))
            self._changed.notify()

    def _release_delayed(self) -> None:
        with self._changed:
            while True:
                wait_s = self._delayed[0][0] - time.monotonic() if self._delayed else None
                if wait_s is None or wait_s > 0:
                    self._changed.wait(wait_s)
                else:
                    self._due.put(heapq.heappop(self._delayed)[2])

    def _dispatch(self) -> None:
        while True:
            event = self._due.get()
            try:
                lambda_svc._run_with_function_config_scope(event.func, self._deliver, event)
            except Exception:  # an error with one event must not end the thread for all later events
                logger.exception("%s: event %s is lost", event.function, event.identity.request_id)

    def _deliver(self, event: AsyncEvent) -> None:
        policy = Policy.of(event)
        if event.function.base_record().get("concurrency") == 0:
            self._give_up(event, policy, Condition.ZERO_RESERVED_CONCURRENCY, None)
        # Lambda accepts the event of a loop and stops it here, without an attempt.
        elif event.identity.lineage.exceeds(event.function):
            result = {"body": loop_error(event.function), "error": True}
            self._give_up(event, policy, Condition.RETRIES_EXHAUSTED, result)
        elif time.monotonic() - event.accepted_s > policy.age_s:
            self._give_up(event, policy, Condition.EVENT_AGE_EXCEEDED, None)
        else:
            self._attempt(event, policy)

    def _attempt(self, event: AsyncEvent, policy: Policy) -> None:
        with unlimited_wait(), invocation.as_current(event.identity):
            result = lambda_svc._execute_function(event.func, event.payload)
        # A throttle is no attempt: AWS keeps the event in the queue until its maximum age.
        if result.get("throttle"):
            self._delay(event, _THROTTLE_DELAY_S)
            return
        event = replace(event, attempts=event.attempts + 1)
        if not result.get("error"):
            self._destinations.send_success(event, policy, result)
            _end(event, Condition.SUCCESS, result)
        elif event.attempts <= policy.retries:
            self._delay(event, RETRY_DELAYS_S[event.attempts - 1])
        else:
            self._give_up(event, policy, Condition.RETRIES_EXHAUSTED, result)

    def _give_up(
        self, event: AsyncEvent, policy: Policy, condition: Condition, result: Mapping[str, Any] | None
    ) -> None:
        place, request_id = str(event.function), event.identity.request_id
        self._history.add("given up", request=request_id, function=place, condition=condition, attempts=event.attempts)
        self._destinations.send_failure(event, policy, condition, result)
        _end(event, condition, result)


def _end(event: AsyncEvent, condition: Condition, result: Mapping[str, Any] | None) -> None:
    if event.on_end:
        event.on_end(condition, result)
