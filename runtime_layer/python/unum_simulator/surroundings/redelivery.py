"""Lambda's treatment of failed deliveries: further attempts, failure records, and the dead-letter queue; with checks.

Source: AWS Lambda Developer Guide, "How Lambda handles errors and retries with asynchronous invocation" and "Capturing
records of Lambda asynchronous invocations".
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from unum_client.deliveries import parse
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.delivery_record import MOST_TRIES
from unum_runtime.model.envelope import Envelope, is_answered, named_start
from unum_runtime.model.naming import Key, checkpoint_key, run_alias, scopes_around, start_alias
from unum_runtime.model.states import Json, Pattern, Task
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S
from unum_simulator.faults import EVENT_AGE_S, REDELIVERIES_S
from unum_simulator.invariants import Broken, Invariant
from unum_simulator.world import Delivery, Event, World

KILLED = "Runtime.ExitError"
TIMED_OUT = "Sandbox.Timedout"
BROKEN_CODE = "Runtime.ImportModuleError"
"""Error of every attempt if user code cannot be loaded: the runtime never runs."""

ATTEMPTS = 1 + len(REDELIVERIES_S)
"""Deliveries of an event before Lambda gives it up."""

QUEUE_S = 14 * 24 * 3600
"""Longest time that the dead-letter queue keeps a message. Source: Amazon SQS Developer Guide, "Message quotas"."""


def finish(world: World, delivery: Delivery) -> None:
    """Note that a delivery succeeded; only duplicates of its event may follow."""
    if not delivery.is_copy:
        world.done.append(delivery.event)


def redeliver(world: World, delivery: Delivery, error: str = KILLED) -> None:
    """Let the platform deliver the event of a failed delivery again, or give it up after its last attempt."""
    # A duplicate's failure changes nothing: the event's own delivery decides on redelivery.
    if delivery.is_copy:
        return
    event = delivery.event
    if not _is_handled(world, event):
        world.waiting.append(event)
    elif event.returned + 1 == ATTEMPTS:
        give_up(world, event, error)
    else:
        world.waiting.append(replace(event, error=_error(event, error), returned=event.returned + 1))


def send_back(world: World, delivery: Delivery, error: str) -> None:
    """Let the platform deliver an event later that a function rejected."""
    event = delivery.event
    if delivery.is_copy:
        return
    if event.returned + 1 == ATTEMPTS:
        give_up(world, event, error)
        return
    ready_ms = world.clock.ms + REDELIVERIES_S[event.returned] * 1000
    error = _error(event, error) if _is_handled(world, event) else ""
    world.waiting.append(replace(event, ready_ms=ready_ms, returned=event.returned + 1, error=error))


def give_up(world: World, event: Event, error: str) -> None:
    """Send the record of a given up event to the failure handler, or a given up record to the dead-letter queue."""
    if not _is_handled(world, event) or event.is_record:
        world.say(event, lambda: "was rejected too often; the platform drops it into the dead-letter queue")
        world.dead.append(event)
        return
    world.say(event, lambda: f"is given up: {error or 'throttled'}; the failure handler gets a record")
    record = to_text(_record(world.scenario.workflow.name, event, error)).encode()
    world.waiting.append(
        replace(event, payload=record, sent_ms=world.clock.ms, ready_ms=0, returned=0, is_record=True, error=error)
    )


def give_up_old(world: World) -> None:
    """Give up all events that are older than Lambda keeps them; delete messages that the queue keeps no longer."""
    now_ms = world.clock.ms
    if not world.scenario.faults.give_ups:
        return
    for event in [event for event in world.waiting if now_ms > _since_ms(event) + EVENT_AGE_S * 1000]:
        world.waiting.remove(event)
        give_up(world, event, event.error)
    world.dead = [event for event in world.dead if now_ms <= event.sent_ms + QUEUE_S * 1000]


def errors(event: Event) -> Iterator[str]:
    """Yield possible errors with which Lambda gives up `event` before its last attempt; empty for a throttle."""
    yield event.error
    if not event.error and not event.is_record:
        yield BROKEN_CODE


def _error(event: Event, error: str) -> str:
    """Return the error of `event` after an attempt failed with `error`; a record keeps the one that it is about."""
    # The checks of what a failure handler does depend on that error, however often the handler itself dies.
    return event.error if event.is_record else error


def _is_handled(world: World, event: Event) -> bool:
    """Return True if a failure handler receives what becomes of `event`."""
    return bool(world.scenario.faults.give_ups) and not event.is_request


def _since_ms(event: Event) -> int:
    return max(event.sent_ms, event.ready_ms)


def _record(workflow: str, event: Event, error: str) -> dict[str, Json]:
    """Return Lambda's record; without an error, no attempt was made."""
    qualifier = "1" if event.envelope is not None else _alias(workflow, parse_json(event.payload))
    context = {
        "requestId": event.execution,
        "functionArn": f"arn:aws:lambda:eu-west-1:123456789012:function:f:{qualifier}",
        "condition": "RetriesExhausted" if error else "EventAgeExceeded",
        "approximateInvokeCount": ATTEMPTS if error else 0,
    }
    record = {"version": "1.0", "requestContext": context, "requestPayload": parse_json(event.payload)}
    if not error:
        return record
    response = {"statusCode": 200, "executedVersion": "1", "functionError": "Unhandled"}
    return record | {"responseContext": response, "responsePayload": {"errorType": error, "errorMessage": error}}


def _alias(workflow: str, event: Json) -> str:
    """Return the name of the alias at which a start arrives."""
    by_name = is_answered(event) or named_start(event) is not None
    return run_alias(workflow) if by_name else start_alias(workflow)


def check_record(world: World, delivery: Delivery, key: Key, item: Item) -> None:
    """Raise Broken unless the outcome of the delivered Task says which attempt it was, and how earlier ones failed."""
    envelope = delivery.hop.event.envelope
    if not _is_tried(envelope, world) or key != checkpoint_key(world.scenario.workflow.name, envelope.name):
        return
    record = parse(str(item.get("dlv", "")), int(item["at"]))
    found = None if record is None else [each.error for each in record.tries]
    errors = [each.error for each in envelope.tries]
    # The failure of a state without a checkpoint is committed in place of the Task that commits for it, which may not
    # have run: a Map that is one step too many for the budget.
    is_its_own = item["state"] == envelope.state
    # A pack's entry leaves its record out if the result takes the place; it keeps the number.
    is_told = found == errors or (record is None and ("packed" in item or not (is_its_own or errors)))
    is_numbered = not is_its_own or item["attempt"] == sum(envelope.retries)
    if not is_told or not is_numbered:
        raise Broken(
            Invariant.CONSISTENT, f"{delivery} commits attempt {item['attempt']} after {found}, expected {errors}"
        )


def check_tries(world: World, delivery: Delivery, event: Event) -> None:
    """Raise Broken unless the sent `event` names each further failed attempt, after those that the delivered one names.

    After a nudge, an event of a job has the number of earlier attempts, from the job's record, and not their errors.
    """
    sent, before = event.envelope, delivery.hop.event.envelope
    # An operator's request knows committed outcomes alone, which say nothing of attempts that were repeated.
    if delivery.event.is_request or not _is_tried(sent, world):
        return
    is_same = before is not None and (before.name, before.state) == (sent.name, sent.state)
    earlier, attempts = (before.tries, sum(before.retries)) if before and is_same else ((), 0)
    is_kept = sent.tries[: len(earlier)] == earlier or len(earlier) == MOST_TRIES
    if len(sent.tries) != min(len(earlier) + sum(sent.retries) - attempts, MOST_TRIES) or not is_kept:
        raise Broken(Invariant.CONSISTENT, f"{delivery} sends {event} with the earlier attempts {sent.tries}")


def _is_tried(envelope: Envelope | None, world: World) -> TypeGuard[Envelope]:
    return envelope is not None and isinstance(world.scenario.workflow.states[envelope.state], Task)


def check_sent_again(world: World, delivery: Delivery, sent: Event) -> None:
    """Raise Broken unless `sent` repeats a throttled event within execution time."""
    given_up, again = delivery.event.envelope, sent.envelope
    if not delivery.event.is_record or delivery.event.error or given_up is None or again is None:
        return
    if (given_up.name, given_up.state) != (again.name, again.state):
        return
    # An earlier delivery of the event may have given out a token, whose answer ends the try. A check of the time of a
    # try may end it here.
    attempt = (given_up.name, given_up.state, sum(given_up.retries))
    has_begun = any((each.name, each.state, each.attempt) == attempt for each in world.tokens.values())
    if not (has_begun or _is_check(world, given_up)) and (given_up.retries, given_up.tries) != (
        again.retries,
        again.tries,
    ):
        raise Broken(Invariant.CONSISTENT, f"{delivery} counts an attempt of {sent}, which has not begun")
    execution = again.name.execution
    last_ms = (execution.started_ms // 1000 + world.scenario.retention_s - DEADLINE_MARGIN_S + 1) * 1000
    if sent.ready_ms > last_ms:
        raise Broken(Invariant.NO_LOST_WORK, f"{delivery} sends {sent} after the last moment of its execution")
    joins = (
        checkpoint_key(world.scenario.workflow.name, each.join) for each in scopes_around(execution, again.name.frames)
    )
    if not delivery.committed.isdisjoint(joins):
        raise Broken(Invariant.NO_RERUN, f"{delivery} sends {sent}, although a fan-out around it has an outcome")


def _is_check(world: World, event: Envelope) -> bool:
    """Return True if `event` checks the time of a try that waits for a responder or a signal."""
    state = world.scenario.workflow.states[event.state]
    return event.job is not None and isinstance(state, Task) and state.pattern is Pattern.CALLBACK
