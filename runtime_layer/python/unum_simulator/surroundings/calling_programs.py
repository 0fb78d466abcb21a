"""Programs that call a Task in a simulation: at the same time, with equal keys, after deaths, and after the end.

A program that calls again makes another call. What identifies a result is computed here once more, from the fields of
the Task, so a mistake in the protocol's names shows as runs that are not shared.
"""

from functools import reduce
from typing import NamedTuple

from unum_runtime.features.memo import calling, remembered
from unum_runtime.features.memo.memo_keys import memo_owner, memo_partition_prefix
from unum_runtime.json_text import parse_json, to_ascii, to_text
from unum_runtime.model.checkpoint import Status, Success
from unum_runtime.model.naming import Key, execution_partition, execution_partition_prefix, start_key
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.control.control_aliases import FORGET
from unum_runtime.protocol.runtime import Runtime
from unum_simulator.invariants import Broken, Invariant
from unum_simulator.recorded_calls import Answer, Primitive
from unum_simulator.world import Delivery, Event, Remembered, Results, World

LAST_IDS = 100
"""First number of the calls that a simulation makes at its end."""

MOST_CALLS = 12
"""Calls, a minute apart, after which a run counts as lost."""


class Caller(NamedTuple):
    """A program that calls.

    Attributes:
        world: its world.
        which: position of its arguments in the scenario.
    """

    world: World
    which: int

    def call(self, number: int) -> Event:
        """Return the call with `number` in its id."""
        asked = calling.request(_task(self.world).name, self._arguments)
        return self._event(f"call {self.which}.{number}", asked)

    def question(self, run: str, number: int) -> Event:
        """Return the question what became of `run`."""
        return self._event(f"question {self.which}.{number}", calling.question(_task(self.world).name, run))

    def forgetting(self) -> Event | None:
        """Return a request to forget the newest result of such calls; None without one."""
        own = identity(self.world, self._arguments)
        keys = [each.key for each in self.world.remembered.values() if each.of == own]
        if not keys:
            return None
        return self._event("forgetting", remembered.request(FORGET, state=_task(self.world).name, key=keys[-1].sort))

    def answer_to(self, event: Event) -> dict[str, Json]:
        """Return the answer to `event`."""
        found: dict[str, Json] = parse_json(self.world.answers[event.call])
        return found

    @property
    def _arguments(self) -> Json:
        return self.world.scenario.calls[self.which]

    def _event(self, name: str, asked: dict[str, Json]) -> Event:
        return Event(to_text(asked).encode(), None, self.world.clock.ms, call=name)


def identity(world: World, arguments: Json) -> str:
    """Return what makes calls with `arguments` equal."""
    key = [reduce(lambda value, name: value[name], place, arguments) for place in _task(world).memo_key]
    return to_ascii(key or arguments, is_sorted=True)


def results(world: World) -> Results:
    """Return which results a delivery that starts now finds remembered, and which are gone."""
    known = frozenset(text for text, each in world.remembered.items() if _is_stored(world, text, each.key))
    return Results(known, frozenset(world.remembered) - known)


def answer(rt: Runtime, asked: dict[str, Json]) -> Json:
    """Return the control function's answer to a request about a call."""
    if not calling.is_request(asked):
        return remembered.answer(rt, asked)
    parsed = calling.parse(asked)
    return calling.call(rt, parsed) if parsed.run is None else calling.follow(rt, parsed)


def run_of(world: World, key: Key) -> str:
    """Return the name of the run whose start record is at `key`.

    Raises:
        Broken: no run has it.
    """
    for run in world.called:
        if start_key(world.scenario.workflow.name, run) == key:
            return run
    raise Broken(Invariant.SHARED, f"a call begins {key.partition}, which is no run")


def note_write(world: World, delivery: Delivery, answer: Answer) -> bool:
    """Note a new run or a remembered result, which belong to no execution; return False for other operations.

    Raises:
        Broken: the run begins while another one for the same result is underway.
    """
    operation, workflow = delivery.pending, world.scenario.workflow
    if not world.scenario.calls or operation.primitive is not Primitive.CREATE:
        return False
    key, item = operation.positional
    if key.partition.startswith(f"{execution_partition_prefix(workflow.name)}calls~"):
        if answer.value is None:
            _note_run(world, delivery, str(item["run"]))
        return True
    if key.partition.startswith(memo_partition_prefix(memo_owner(workflow.name, _task(world)))):
        if answer.value is None:
            result = Remembered(identity(world, world.own.value), key)
            world.remembered = world.remembered.plus(str(item["value"]), result)
        return True
    return False


def check_user_code(world: World, delivery: Delivery) -> None:
    """Raise Broken if user code runs for a result that was remembered when the delivery began, and still is."""
    if not world.scenario.calls:
        return
    own = identity(world, world.own.value)
    for text in delivery.results.known:
        found = world.remembered[text]
        if found.of == own and _is_stored(world, text, found.key):
            raise Broken(Invariant.NO_RERUN, f"{delivery} runs user code, although {text} is remembered")


def check_answer(world: World, delivery: Delivery, reply: Json) -> None:
    """Note the answer to a request about a call; raise Broken if it is not true."""
    asked = parse_json(delivery.event.payload)
    if not calling.is_request(asked):
        return
    world.answers = world.answers.plus(delivery.event.call, to_text(reply))
    if "run" in asked:
        _check_followed(world, delivery, asked["run"], reply)
    elif reply["Status"] == Status.RUNNING:
        if world.called.get(reply["Run"]) != identity(world, asked["input"]):
            raise Broken(Invariant.SHARED, f"{delivery} is told {reply['Run']}, which is the run of another call")
        _check_not_ended(world, delivery, reply["Run"])
    else:
        _check_remembered(world, delivery, identity(world, asked["input"]), reply)


def check_repeated(world: World, reply: dict[str, Json], again: dict[str, Json]) -> None:
    """Raise Broken if a call after the end of a run, of which a caller was `reply`, gets another answer."""
    is_kept = not world.scenario.faults.forgets and _task(world).memo_lifetime_s is None
    if is_kept and reply["Status"] == Status.SUCCEEDED and again != reply:
        raise Broken(Invariant.ONE_RESULT, f"a caller was told {reply}, and the next one {again}")


def _check_followed(world: World, delivery: Delivery, run: str, reply: dict[str, Json]) -> None:
    if reply["Status"] == Status.RUNNING:
        _check_not_ended(world, delivery, run)
        return
    execution = world.latest(run)
    ending = execution and world.observed[execution].ending
    if ending is None:
        raise Broken(Invariant.ONE_RESULT, f"{delivery} is told {reply}, but the run goes on")
    outcome = ending.outcome
    shown = {"Output": outcome.text} if isinstance(outcome, Success) else {"Error": outcome.error}
    if {"Status": ending.status, **shown}.items() - reply.items():
        raise Broken(Invariant.ONE_RESULT, f"{delivery} is told {reply}, but the run ended with {ending}")


def _check_remembered(world: World, delivery: Delivery, own: str, reply: dict[str, Json]) -> None:
    text = str(reply.get("Output"))
    found = world.remembered.get(text)
    if reply["Status"] != Status.SUCCEEDED or found is None or found.of != own:
        raise Broken(Invariant.CONSISTENT, f"{delivery} is told {reply}, which no equal call has computed")
    if text in delivery.results.gone:
        raise Broken(Invariant.CONSISTENT, f"{delivery} is told {reply}, which was forgotten or had expired before")


def _check_not_ended(world: World, delivery: Delivery, run: str) -> None:
    """Raise Broken if `run` had ended before `delivery` of a request began."""
    if any(key in delivery.committed for key in _ends(world, run)):
        raise Broken(Invariant.NO_LOST_WORK, f"{delivery} is told to wait for {run}, which had ended before")


def _note_run(world: World, delivery: Delivery, run: str) -> None:
    own = identity(world, parse_json(delivery.event.payload)["input"])
    before = [each for each, of in world.called.items() if of == own]
    if before and not _ends(world, before[-1]):
        raise Broken(Invariant.SHARED, f"{delivery} begins another run, while {before[-1]} is underway")
    world.called = world.called.plus(run, own)


def _ends(world: World, run: str) -> list[Key]:
    """Return the keys of the steps that ended `run`."""
    execution = world.latest(run)
    own = execution and execution_partition(world.scenario.workflow.name, execution)
    return [key for key, record in world.records.items() if key.partition == own and "status" in record.item]


def _is_stored(world: World, text: str, key: Key) -> bool:
    return world.store.read([key]).get(key, {}).get("value") == text


def _task(world: World) -> Task:
    (task,) = world.scenario.workflow.tasks
    return task
