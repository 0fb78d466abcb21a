"""Responders in a simulation: they answer task tokens with results, failures and heartbeats, also twice or too late."""

from unum_runtime.errors import TaskTimedOut
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Item, Phase
from unum_runtime.model.naming import Key, answer_key, checkpoint_key
from unum_runtime.model.states import SIGNAL, Json, Pattern, Task
from unum_runtime.protocol.requests.respond import request
from unum_runtime.protocol.waiting.callback import DIGEST_LENGTH, By
from unum_simulator.invariants import STAMP, Broken, Invariant
from unum_simulator.world import Delivery, Event, Given, World

RESULT, FAILURE, HEARTBEAT = range(3)
"""Kinds of responses."""

ERROR = "Responder"


def response(world: World, token: str, kind: int) -> Event:
    """Return a responder's request, which it repeats under one name until it gets an answer."""
    name = f"answer {world.left.answers}"
    content: dict[str, Json] = {"output": to_text({STAMP: name})}
    if kind == FAILURE:
        content = {"error": ERROR, "cause": name}
    elif kind == HEARTBEAT:
        content = {"heartbeat": True}
    asked = request(token, request_id="" if kind == HEARTBEAT else name, **content)
    execution = world.tokens[token].name.execution.name
    return Event(to_text(asked).encode(), None, world.clock.ms, execution=execution, token=token)


def check_response(world: World, delivery: Delivery, answer: Json) -> None:
    """Raise Broken if a token is accepted twice, or an accepted answer is reported as too late."""
    token, payload = delivery.event.token, delivery.event.payload.decode()
    if "heartbeat" in payload:
        return
    refused, before = answer.get("error"), world.accepted.get(token)
    if refused is None and before not in (None, payload):
        raise Broken(Invariant.ONE_RESULT, f"{delivery} is accepted, but so was {before} for the same task token")
    if refused is None:
        world.accepted = world.accepted.plus(token, payload)
        return
    own = _stored(world, token)
    if refused == TaskTimedOut.__name__ and own is not None and _is_result_of(own, payload):
        raise Broken(Invariant.ONE_RESULT, f"{delivery} is told {answer}, but its answer is the Task's result")


def check_answered(world: World, key: Key, item: Item) -> None:
    """Raise Broken if a Task that waited for an answer commits another result than the stored one."""
    state = world.scenario.workflow.states.get(str(item.get("state")))
    if not isinstance(state, Task) or state.pattern is not Pattern.CALLBACK or "to" in item:
        return
    if (state.resource or "").startswith(SIGNAL):  # see `signal_senders`
        return
    if item["phase"] != Phase.LEFT:
        return
    found = [token for token, tried in world.tokens.items() if _is_of(world, tried, key, item)]
    answers = [_stored(world, token) for token in found]
    accepted = [answer for answer in answers if answer is not None and answer["by"] == By.RESPONDER]
    if "value" not in item:
        if any("value" in answer for answer in accepted):
            raise Broken(Invariant.CONSISTENT, f"{key}: commits {item['error']}, but the stored answers are {answers}")
    elif not any(answer.get("value") == item["value"] for answer in accepted) and not any(
        world.tokens[token].is_answered for token in found
    ):
        raise Broken(Invariant.CONSISTENT, f"{key}: commits {item['value']}, but the stored answers are {answers}")


def _is_of(world: World, answered: Given, key: Key, item: Item) -> bool:
    tried = (answered.state, answered.attempt) == (item["state"], item["attempt"])
    return tried and checkpoint_key(world.scenario.workflow.name, answered.name) == key


def _stored(world: World, token: str) -> Item | None:
    """Return the stored result of the try that gave out `token`."""
    record = world.records.get(answer_key(world.scenario.workflow.name, token[:DIGEST_LENGTH]))
    return None if record is None else record.item


def _is_result_of(stored: Item, payload: str) -> bool:
    text = stored.get("value") or stored.get("cause")
    return stored["by"] == By.RESPONDER and to_text(text)[1:-1] in payload
