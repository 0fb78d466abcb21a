"""Attempts that events and commits tell of: each failed one, in order, with its error."""

from typing import TypeGuard

from unum_client.reading.parsed_records import parse
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.delivery_record import MOST_TRIES
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key, checkpoint_key
from unum_runtime.model.states import Task
from unum_simulator.invariants import Broken, Invariant
from unum_simulator.world import Delivery, Event, World


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
    """Raise Broken unless the sent `event` names each failed attempt, those that the delivered event names first."""
    sent, before = event.envelope, delivery.hop.event.envelope
    # An operator's request knows committed outcomes alone, which say nothing of attempts that were repeated.
    if delivery.event.is_request or not _is_tried(sent, world):
        return
    earlier = before.tries if before and (before.name, before.state) == (sent.name, sent.state) else ()
    is_kept = sent.tries[: len(earlier)] == earlier or len(earlier) == MOST_TRIES
    if len(sent.tries) != min(sum(sent.retries), MOST_TRIES) or not is_kept:
        raise Broken(Invariant.CONSISTENT, f"{delivery} sends {event} with the earlier attempts {sent.tries}")


def _is_tried(envelope: Envelope | None, world: World) -> TypeGuard[Envelope]:
    return envelope is not None and isinstance(world.scenario.workflow.states[envelope.state], Task)
