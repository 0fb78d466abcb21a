"""Calls of one Task: what programs see; searches of calls under faults are in the simulation."""

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from docs.snippets.functions import images, thumbnails
from tests.unit.protocol.platform import Platform
from unum_compiler.options import FunctionOptions
from unum_runtime.client.async_client import AsyncClient
from unum_runtime.client.client import Client
from unum_runtime.client.control import Control
from unum_runtime.client.polling import Waiter
from unum_runtime.client.remembered_results import forget_results, list_results
from unum_runtime.client.task_calls import as_completed
from unum_runtime.errors import CallFailed, ClientError, InvalidExecutionInput, StartsPaused, StoreError, UnumError
from unum_runtime.model.ir import Variant
from unum_runtime.model.variants import called, forced, why_not_called
from unum_runtime.protocol.control import pausing
from unum_runtime.protocol.control.delete import delete
from unum_runtime.protocol.control.sharing import calling, remembered
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.history.start_records import DELETED
from unum_runtime.protocol.requests.answers import refusal
from unum_runtime.store.large_items import LargeItems
from unum_runtime.store.memory import MemoryObjects

RETRY = [{"ErrorEquals": ["Again"], "MaxAttempts": 2, "IntervalSeconds": 1}]
TASK: dict[str, Any] = {"Type": "Task", "Resource": "F", "Parameters": {"n.$": "$.n"}, "ResultPath": "$.out"}
DEFINITION: dict[str, Any] = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "StartAt": "Resize",
                "States": {"Resize": {**TASK, "TimeoutSeconds": 9, "Retry": RETRY, "End": True}},
            },
            "Next": "Plain",
        },
        "Plain": {
            "Type": "Task",
            "Resource": "G",
            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}],
            "Next": "Late",
        },
        "Late": {"Type": "Task", "Resource": "F", "TimeoutSecondsPath": "$.s", "Next": "Caught"},
        "Caught": {"Type": "Task", "Resource": "H", "End": True},
    },
}
SHARED = FunctionOptions(memoize=True)


class Again(Exception):
    """What the Task retries."""


@dataclass
class World:
    """A platform, and a control function in the place of AWS."""

    platform: Platform
    requests: int = 0

    def call(self, _address: str, payload: bytes) -> Any:
        """Answer as the control function does."""
        self.requests += 1
        event = json.loads(payload)
        try:
            rt = self.platform.runtime()
            if not calling.is_request(event):
                return (pausing if pausing.is_request(event) else remembered).answer(rt, event)
            asked = calling.parse(event)
            if asked.run is not None:
                return calling.told(rt, asked)
            refused = why_not_called(rt.workflow, asked.state)
            if refused is not None:
                return refusal("ValidationException", refused)
            own = called(rt.workflow, asked.state)
            return calling.call(replace(rt, workflow=own, hosts=frozenset()), asked)
        except ClientError as error:
            return refusal(type(error).__name__, str(error))

    def client(self) -> Client:
        control = Control(caller=self, control_alias="arn:aws:lambda:r:1:function:control", workflow="w")
        wait = Waiter(now_s=lambda: self.platform.clock.ms / 1000, sleep=self.let_go_on)
        return Client(store=self.platform.memory, workflow="w", control=control, waiter=wait)

    def let_go_on(self, seconds: float) -> None:
        """Let time pass, and deliver what is due."""
        self.platform.clock.pass_seconds(seconds)
        due = [each for each in self.platform.waiting if each[0] <= self.platform.clock.ms]
        self.platform.waiting = [each for each in self.platform.waiting if each not in due]
        self.platform.sent += [event for _, event in due]
        self.deliver_all()

    def deliver_all(self) -> None:
        while self.platform.sent:
            self.deliver(self.platform.sent.pop(0))

    def deliver(self, event: Any) -> None:
        """Deliver `event` on the definition that it names, as often as it fails."""
        rt = self.platform.runtime()
        if event.digest != rt.workflow.digest:
            rt = replace(rt, workflow=called(rt.workflow, event.state))
        try:
            step(rt, event)
        except UnumError:
            self.platform.sent.append(event)


@pytest.fixture
def world() -> World:
    functions = {"F": lambda event: {"got": event}, "G": lambda event: event, "H": lambda event: event}
    return World(Platform.of(DEFINITION, {"F": SHARED}, **functions))


def test_the_programs_of_the_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """See docs/howto/calls.md."""
    world.platform.functions["F"] = lambda event: images.resize(event, None)
    monkeypatch.setattr(f"{thumbnails.__name__}.Client.connect", lambda **_address: world.client())
    client, names = thumbnails.connect("arn:aws:lambda:r:1:function:control"), ["a.jpg", "b.jpg", "a.jpg"]
    found = {"a.jpg": "100/a.jpg", "b.jpg": "100/b.jpg"}
    assert thumbnails.thumbnail(client, "a.jpg") == "100/a.jpg"
    assert thumbnails.thumbnails(client, names) == found
    assert asyncio.run(thumbnails.thumbnails_in_a_loop(client, names)) == found
    assert world.platform.calls == {"Resize": 2}


def test_a_task_inside_a_map_is_called_without_its_data_flow(world: World) -> None:
    assert world.client().call("Resize", {"n": 1, "more": 2}) == {"got": {"n": 1, "more": 2}}
    assert world.platform.calls == {"Resize": 1}


def test_equal_calls_share_a_run_and_later_ones_its_result(world: World) -> None:
    one, two = (world.client().begin_call("Resize", arguments) for arguments in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    assert (one.is_done(), two.is_done(), len(world.platform.sent)) == (False, False, 1)
    assert one.result() == two.result() == {"got": {"a": 1, "b": 2}}
    sent = world.requests
    assert world.client().call("Resize", {"a": 1, "b": 2}) == {"got": {"a": 1, "b": 2}}
    assert (world.requests - sent, world.platform.calls) == (1, {"Resize": 1}), "a remembered result is one request"
    assert world.client().call("Resize", {"a": 2}) == {"got": {"a": 2}}


def test_calls_and_executions_share_results(world: World) -> None:
    world.platform.run("e", [{"n": 5, "s": 1}])
    assert world.client().call("Resize", {"n": 5}) == {"got": {"n": 5}}
    assert world.platform.calls["Resize"] == 1
    world.client().call("Resize", {"n": 6})
    world.platform.run("f", [{"n": 6, "s": 1}])
    assert world.platform.calls["Resize"] == 2


def test_a_failure_is_told_to_those_who_wait_and_not_remembered(world: World) -> None:
    def fail(_event: Any) -> Any:
        raise ValueError("no image")

    world.platform.functions["F"] = fail
    calls = [world.client().begin_call("Resize", 1) for _ in range(2)]
    for each in calls:
        with pytest.raises(CallFailed, match=r"call of 'Resize': FAILED: ValueError: .*no image") as failed:
            each.result()
        assert failed.value.error == "ValueError"
    assert world.platform.calls["Resize"] == 1
    world.platform.functions["F"] = lambda event: event
    assert world.client().call("Resize", 1) == 1
    assert world.platform.calls["Resize"] == 2


def test_retriers_hold_and_catchers_do_not(world: World) -> None:
    def stumble(event: Any) -> Any:
        if world.platform.calls.total() < 3:
            raise Again
        return event

    world.platform.functions["F"] = stumble
    assert world.client().call("Resize", 1) == 1
    assert world.platform.calls == {"Resize": 3}


def test_a_program_that_died_before_the_event_was_sent_calls_again(world: World) -> None:
    world.client().begin_call("Resize", 1)
    world.platform.sent.clear()
    again = world.client().begin_call("Resize", 1)
    assert (world.platform.sent, again.is_done()) == ([], False)
    world.platform.clock.pass_seconds(61)
    assert world.client().call("Resize", 1) == {"got": 1}
    assert again.result() == {"got": 1}
    assert world.platform.calls == {"Resize": 1}


def test_callers_who_find_a_run_without_an_event_send_one_together(world: World) -> None:
    world.client().begin_call("Resize", 1)
    world.platform.sent.clear()
    world.platform.clock.pass_seconds(61)
    for _ in range(3):
        world.client().begin_call("Resize", 1)
    assert len(world.platform.sent) == 1


def test_a_run_is_sent_again_after_a_minute_and_no_request_asks_for_its_lease_before(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire, asked = world.platform.memory.acquire, []

    def note(key: Any, owner: str, *, expires_at_ms: int) -> str:
        asked.append(key)
        return acquire(key, owner, expires_at_ms=expires_at_ms)

    monkeypatch.setattr(world.platform.memory, "acquire", note)
    world.client().begin_call("Resize", 1)
    world.platform.sent.clear()
    world.platform.clock.pass_seconds(59)
    world.client().begin_call("Resize", 1)
    assert (len(asked), world.platform.sent) == (1, [])
    world.platform.clock.pass_seconds(1)
    world.client().begin_call("Resize", 1)
    assert (len(asked), len(world.platform.sent)) == (2, 1)


def test_a_run_of_another_definition_is_not_sent_on_this_one(world: World) -> None:
    world.client().begin_call("Resize", 1)
    world.platform.sent.clear()
    world.platform.clock.pass_seconds(61)
    task = replace(world.platform.workflow.task("Resize"), retry=())
    states = {**world.platform.workflow.states, "Resize": task}
    world.platform.workflow = replace(world.platform.workflow, states=states)
    world.client().begin_call("Resize", 1)
    assert world.platform.sent == []


def test_runs_have_consecutive_numbers_and_each_failure_is_followed_by_another_run(world: World) -> None:
    def fail(_event: Any) -> Any:
        raise ValueError

    world.platform.functions["F"] = fail
    for number in range(1, 5):
        with pytest.raises(CallFailed):
            world.client().call("Resize", 1)
        assert world.platform.calls["Resize"] == number
    places = [key.sort for key in world.platform.memory._items if "/calls~" in key.partition]
    assert sorted(places) == [f"{number:09d}" for number in range(1, 5)]


def test_callers_that_take_the_same_number_share_the_run_of_the_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest, second = calling._newest, []

    def late(*given: Any) -> Any:
        found = newest(*given)
        monkeypatch.undo()
        second.append(world.client().begin_call("Resize", 1))
        return found

    monkeypatch.setattr(calling, "_newest", late)
    first = world.client().begin_call("Resize", 1)
    assert first._answer == second[0]._answer
    assert first.result() == second[0].result() == {"got": 1}
    assert world.platform.calls == {"Resize": 1}


def test_a_failed_lease_of_a_run_is_logged_and_its_event_sent(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: Any, **_named: Any) -> str:
        raise StoreError("down")

    monkeypatch.setattr(world.platform.memory, "acquire", fail)
    world.client().begin_call("Resize", 1)
    assert (world.platform.messages(), len(world.platform.sent)) == (["lease failed"], 1)


def test_a_result_that_exceeds_an_answer_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "MAX_BYTES", 9)
    assert world.client().call("Resize", 1) == {"got": 1}
    with pytest.raises(ClientError, match=r"^the result exceeds an answer of 9 bytes; return a reference to it$"):
        world.client().call("Resize", 10)


def test_large_arguments_need_a_bucket(world: World) -> None:
    arguments = {"n": "x" * 500_000}
    with pytest.raises(InvalidExecutionInput):
        world.client().call("Resize", arguments)
    world.platform.functions["F"] = lambda event: len(event["n"])
    world.platform.store = LargeItems(world.platform.memory, MemoryObjects(), "w")
    assert world.client().call("Resize", arguments) == 500_000


def test_a_deleted_run_is_told_as_such_and_the_next_call_has_its_result(world: World) -> None:
    one = world.client().begin_call("Resize", 1)
    run = one._answer["Run"]
    world.deliver_all()
    rt = world.platform.runtime()
    delete(replace(rt, workflow=called(rt.workflow, "Resize")), run)
    told = calling.told(rt, calling.parse(calling.question("Resize", run)))
    assert told == {"Status": "ABORTED", "Error": DELETED, "Cause": None}
    with pytest.raises(CallFailed) as failed:
        one.result()
    assert failed.value.error == DELETED
    assert world.client().call("Resize", 1) == {"got": 1}
    assert world.platform.calls == {"Resize": 1}


def test_forgotten_results_are_computed_by_another_run(world: World) -> None:
    client = world.client()
    client.call("Resize", 1)
    assert forget_results(client.control.send, "Resize") == 1
    client.call("Resize", 1)
    assert world.platform.calls["Resize"] == 2
    (found,) = list_results(client.control.send, "Resize").results
    assert found.by.startswith("w/call-")


def test_a_paused_workflow_runs_no_call_and_answers_what_it_remembers(world: World) -> None:
    client = world.client()
    client.call("Resize", 1)
    pausing.answer(world.platform.runtime(), pausing.request("pause", reason="why not"))
    assert client.call("Resize", 1) == {"got": 1}
    with pytest.raises(StartsPaused):
        client.call("Resize", 2)
    assert world.platform.sent == []


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("Plain", "expected a Task with memoize"),
        ("Late", "expected a time limit in seconds or none"),
        ("Each", "expected a Task, one of"),
        ("Nowhere", "expected a Task, one of"),
    ],
)
def test_what_cannot_be_called(world: World, state: str, says: str) -> None:
    with pytest.raises(ClientError, match=says):
        world.client().call(state, 1)
    assert world.platform.sent == []


@pytest.fixture
def keyed(world: World) -> World:
    return with_key(world)


def with_key(world: World) -> World:
    """Let the member `n` of the arguments identify the result of the Task, for an hour."""
    task = replace(world.platform.workflow.task("Resize"), memo_key=(("n",),), memo_lifetime_s=3_600)
    states = {**world.platform.workflow.states, "Resize": task}
    world.platform.workflow = replace(world.platform.workflow, states=states)
    return world


def runs(world: World) -> int:
    return sum("/calls~" in key.partition for key in world.platform.memory._items)


def test_calls_with_the_same_key_share_a_run_that_has_the_arguments_of_the_first(keyed: World) -> None:
    one, two = (keyed.client().begin_call("Resize", {"n": 1, "x": x}) for x in (1, 2))
    assert (one._answer, len(keyed.platform.sent)) == (two._answer, 1)
    assert one.result() == two.result() == {"got": {"n": 1, "x": 1}}
    assert keyed.client().call("Resize", {"n": 1, "x": 3}) == {"got": {"n": 1, "x": 1}}
    assert (keyed.platform.calls, runs(keyed)) == ({"Resize": 1}, 1)


def test_callers_that_begin_a_run_at_the_same_time_share_it_by_its_key(
    keyed: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second caller passes between the run's number and its start record, so its arguments are the run's."""
    create, second = calling.start_records.create_start, []

    def late(*arguments: Any, **options: Any) -> Any:
        monkeypatch.undo()
        second.append(keyed.client().begin_call("Resize", {"n": 1, "x": 2}))
        return create(*arguments, **options)

    monkeypatch.setattr(calling.start_records, "create_start", late)
    first = keyed.client().begin_call("Resize", {"n": 1, "x": 1})
    assert first.result() == second[0].result() == {"got": {"n": 1, "x": 2}}
    assert (keyed.platform.calls, runs(keyed)) == ({"Resize": 1}, 1)


def test_a_caller_sends_the_first_arguments_again_in_place_of_one_with_the_same_key_that_died(keyed: World) -> None:
    keyed.client().begin_call("Resize", {"n": 1, "x": 1})
    keyed.platform.sent.clear()
    keyed.platform.clock.pass_seconds(61)
    assert keyed.client().call("Resize", {"n": 1, "x": 2}) == {"got": {"n": 1, "x": 1}}
    assert (keyed.platform.calls, runs(keyed)) == ({"Resize": 1}, 1)


def test_after_a_failure_the_next_call_with_the_same_key_runs_with_its_own_arguments(keyed: World) -> None:
    def fail_once(event: Any) -> Any:
        if event["x"] == 1:
            raise ValueError(event)
        return event

    keyed.platform.functions["F"] = fail_once
    one, two = (keyed.client().begin_call("Resize", {"n": 1, "x": x}) for x in (1, 2))
    for each in (one, two):
        with pytest.raises(CallFailed, match="'x': 1"):
            each.result()
    assert keyed.client().call("Resize", {"n": 1, "x": 3}) == {"n": 1, "x": 3}
    assert runs(keyed) == 2


def test_after_a_result_has_expired_the_next_call_with_the_same_key_runs_with_its_own_arguments(keyed: World) -> None:
    assert keyed.client().call("Resize", {"n": 1, "x": 1}) == {"got": {"n": 1, "x": 1}}
    keyed.platform.clock.pass_seconds(3_601)
    one, two = (keyed.client().begin_call("Resize", {"n": 1, "x": x}) for x in (2, 3))
    assert one.result() == two.result() == {"got": {"n": 1, "x": 2}}
    assert (keyed.platform.calls, runs(keyed)) == ({"Resize": 2}, 2)


def test_a_forced_execution_replaces_what_calls_with_the_same_key_get(keyed: World) -> None:
    keyed.client().call("Resize", {"n": 1, "x": 1})
    underway = keyed.client().begin_call("Resize", {"n": 2, "x": 1})
    first, plain = keyed.platform.sent.pop(), keyed.platform.workflow
    keyed.platform.workflow = forced(plain)
    keyed.platform.run("f", [{"n": 1, "s": 1}, {"n": 2, "s": 1}])
    keyed.platform.sent, keyed.platform.workflow = [first], plain
    assert keyed.client().call("Resize", {"n": 1, "x": 2}) == {"got": {"n": 1}}
    assert keyed.client().call("Resize", {"n": 2, "x": 2}) == underway.result() == {"got": {"n": 2}}


def test_arguments_without_the_key_of_the_result_are_refused(keyed: World) -> None:
    world = keyed
    with pytest.raises(InvalidExecutionInput, match=r"arguments: the event has no value at \$\['n'\]"):
        world.client().call("Resize", {"m": 1})
    assert world.client().call("Resize", {"n": 1, "x": 1}) == world.client().call("Resize", {"n": 1, "x": 2})


@pytest.mark.parametrize(
    "event",
    [
        {"state": "Resize"},
        {"state": 5, "input": 1},
        {"state": "Resize", "input": 1, "run": "x"},
        {"state": "Resize", "run": "e"},
        {"state": "Resize", "run": None},
        {"state": "Resize", "input": 1, "variant": "forced"},
    ],
)
def test_what_is_no_call(event: Any) -> None:
    whole = {"$unum": 1, "control": "call", **event}
    one_of = f'call: expected "state" and one of "input" and "run", got {sorted(whole)}'
    no_run = f"run: expected the run of a call of 'Resize', got {event.get('run')!r}"
    with pytest.raises(ClientError) as refused:
        calling.parse(whole)
    assert str(refused.value) == (no_run if event.keys() == {"state", "run"} else one_of)


def test_nobody_reads_another_execution_through_a_call(world: World) -> None:
    """An ordinary execution may even have the name of a run."""
    name = f"{calling._run_prefix('Resize')}{'0' * 32}"
    world.platform.run(name, [{"n": 1, "s": 1}])
    with pytest.raises(ClientError, match="does not exist"):
        calling.told(world.platform.runtime(), calling.parse(calling.question("Resize", name)))


def test_a_called_task_has_a_definition_of_its_own(world: World) -> None:
    own = called(world.platform.workflow, "Resize")
    (task,) = own.tasks
    assert (own.variant, own.start_at, task.scope, task.next, task.data) == (
        Variant.CALL,
        "Resize",
        None,
        None,
        {"TimeoutSeconds": 9},
    )
    assert task.retry == world.platform.workflow.task("Resize").retry
    assert called(world.platform.workflow, "Each").states == {}


def test_many_calls_are_yielded_as_they_end(world: World) -> None:
    client = world.client()
    client.call("Resize", 2)
    calls = [client.begin_call("Resize", number) for number in range(4)]
    found = [each.arguments for each in as_completed(calls, timeout_s=60)]
    assert (found[0], sorted(found)) == (2, [0, 1, 2, 3])
    assert [*as_completed([])] == []


def test_an_event_loop_waits_for_many_calls(world: World) -> None:
    async def program() -> list[Any]:
        async with AsyncClient(world.client(), at_once=2) as client:
            first = await client.call("Resize", 7)
            calls = [await client.begin_call("Resize", number) for number in range(3)]
            found = [await client.result(each) async for each in client.as_completed(calls)]
            with pytest.raises(ClientError):
                await client.call("Plain", 1)
            with pytest.raises(AttributeError, match="no method"):
                client.workflow  # noqa: B018
            return [first, *sorted(found, key=str)]

    assert asyncio.run(program()) == [{"got": number} for number in (7, 0, 1, 2)]


def test_a_cancelled_wait_stops_no_run(world: World) -> None:
    async def program() -> None:
        async with AsyncClient(world.client()) as client:
            call = await client.begin_call("Resize", 1)
            task = asyncio.ensure_future(client.result(call))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(program())
    world.let_go_on(10)
    assert world.client().call("Resize", 1) == {"got": 1}
    assert world.platform.calls == {"Resize": 1}


def test_arguments_of_any_size_are_taken_where_there_is_a_bucket(world: World) -> None:
    large = {"n": "x" * 400_000}
    refused = world.call("", json.dumps(calling.request("Resize", large)).encode())
    assert "at most 380000 are stored" in refused["message"]
    world.platform.store = LargeItems(world.platform.memory, MemoryObjects(), "w")
    assert world.call("", json.dumps(calling.request("Resize", large)).encode())["Status"] == "RUNNING"
