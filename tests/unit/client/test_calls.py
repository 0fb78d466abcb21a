"""Calls of one Task: what programs see; searches of calls under faults are in the simulation."""

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from docs.snippets.functions import images, thumbnails
from tests.unit.client.called_tasks import SHARED, Again, World, new_world
from tests.unit.protocol.platform import Platform
from unum_client.async_client import AsyncClient
from unum_client.remembered_results import forget_results, list_results
from unum_client.task_calls import as_completed
from unum_runtime.errors import (
    CallFailed,
    ClientError,
    ExecutionDoesNotExist,
    InvalidExecutionInput,
    InvokeError,
    StartsPaused,
    StoreError,
)
from unum_runtime.features.memo import calling
from unum_runtime.features.memo.memo import result_key
from unum_runtime.model.checkpoint import start_record
from unum_runtime.model.envelope import MARK
from unum_runtime.model.ir import Variant
from unum_runtime.model.naming import Execution
from unum_runtime.model.variants import called, forced
from unum_runtime.protocol.control import pausing
from unum_runtime.protocol.control.deletions.delete import delete
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.history import start_records
from unum_runtime.protocol.planning.existing_start import DELETED
from unum_runtime.protocol.requests import run
from unum_runtime.protocol.requests.definition_records import write_definition
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects


@pytest.fixture
def world() -> World:
    return new_world()


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


def test_run_is_resent_after_a_minute_without_earlier_requests(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_run_that_has_ended_is_not_sent_again(world: World) -> None:
    def fail(_event: Any) -> Any:
        raise ValueError

    world.platform.functions["F"] = fail
    call = world.client().begin_call("Resize", 1)
    run, value = str(call._answer["Run"]), 1
    world.deliver_all()
    world.platform.clock.pass_seconds(61)
    rt = world.platform.runtime()
    calling._begin(replace(rt, workflow=called(rt.workflow, "Resize")), run, value)
    assert world.platform.sent == []


def test_run_that_was_redriven_runs(world: World) -> None:
    def fail(_event: Any) -> Any:
        raise ValueError

    world.platform.functions["F"] = fail
    call = world.client().begin_call("Resize", 1)
    run = str(call._answer["Run"])
    world.deliver_all()
    rt = world.platform.runtime()
    redrive(replace(rt, workflow=called(rt.workflow, "Resize")), run)
    assert calling.follow(rt, calling.parse(calling.question("Resize", run))) == {"Status": "RUNNING", "Run": run}


def test_call_whose_event_could_not_be_sent_is_sent_by_the_next(world: World) -> None:
    def refuse(_events: Any) -> None:
        raise InvokeError("throttled")

    for later_s in (0, 61):
        world.platform.clock.pass_seconds(later_s)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(world.platform, "invoke", refuse)
            with pytest.raises(InvokeError):
                world.client().begin_call("Resize", 1)
    world.client().begin_call("Resize", 1)
    assert len(world.platform.sent) == 1


def test_runs_have_consecutive_numbers_and_a_run_follows_each_failure(world: World) -> None:
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


class Refusing:
    """A store that refuses one operation on keys of partitions that begin alike."""

    def __init__(self, store: Any, operation: str, prefix: str) -> None:
        self._store, self._operation, self._prefix = store, operation, prefix

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)

        def call(keys: Any, *rest: Any, **named: Any) -> Any:
            partitions = [each.partition for each in (keys if name == "read" else [keys])]
            if name == self._operation and any(each.startswith(self._prefix) for each in partitions):
                raise StoreError(name)
            return found(keys, *rest, **named)

        return call if name == self._operation else found


def test_run_of_a_call_ends_only_after_its_result_is_remembered(world: World) -> None:
    """Otherwise the next call would begin another run and get another result."""
    results = iter((1, 2, 3))
    world.platform.functions["F"] = lambda _event: next(results)
    begun = world.client().begin_call("Resize", "image")
    (event,) = world.platform.sent
    world.platform.sent.clear()
    world.platform.store = Refusing(world.platform.memory, "create", "memo:")
    world.deliver(event)
    assert world.platform.sent == [event], "it failed, and is delivered again"
    assert not begun.is_done()
    world.platform.store = world.platform.memory
    assert begun.result() == world.client().call("Resize", "image") == 2


def test_run_of_a_call_computes_nothing_while_results_cannot_be_read(world: World) -> None:
    """Its first delivery may have remembered a result, and died before the commit."""
    begun = world.client().begin_call("Resize", "image")
    (event,) = world.platform.sent
    world.platform.sent.clear()
    for operation, prefix in (("create", "w/"), ("read", "memo:")):
        world.platform.store = Refusing(world.platform.memory, operation, prefix)
        world.deliver(event)
        assert world.platform.sent == [event], "it failed, and is delivered again"
        world.platform.sent.clear()
        assert world.platform.calls == {"Resize": 1}
    world.platform.store = world.platform.memory
    world.platform.sent.append(event)
    assert begun.result() == {"got": "image"}
    assert world.platform.calls == {"Resize": 1}


def test_a_deleted_run_is_told_as_such_and_the_next_call_has_its_result(world: World) -> None:
    one = world.client().begin_call("Resize", 1)
    run = one._answer["Run"]
    world.deliver_all()
    rt = world.platform.runtime()
    delete(replace(rt, workflow=called(rt.workflow, "Resize")), run)
    reply = calling.follow(rt, calling.parse(calling.question("Resize", run)))
    assert reply == {"Status": "ABORTED", "Error": DELETED, "Cause": None}
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


SECRET = "what a caller must not read"


def start_ordinary(world: World, name: str) -> None:
    world.platform.run(name, [{"n": SECRET, "s": 1}])


def start_forced(world: World, name: str) -> None:
    """Start an execution as the run alias does for a request with ``force``, and let it end."""
    ordinary = world.platform.workflow
    world.platform.workflow = forced(ordinary)
    lost: Any = SimpleNamespace(invoke=lambda _events: None)
    rt = replace(world.platform.runtime(), own_address="arn:aws:lambda:r:1:function:F:1", invoker=lost)
    asked = {MARK: 1, "start": name, "answer": True, "force": True, "input": [{"n": SECRET, "s": 1}]}
    answer: Any = run.answer(rt, asked)
    assert answer["Status"] == "RUNNING", answer
    resume(world.platform.runtime(), name)
    world.platform.deliver_all()
    world.platform.workflow = ordinary


def start_fork(world: World, name: str) -> None:
    """Fork a call of the Task, whose definition the fork keeps."""
    first = world.client().begin_call("Resize", SECRET)
    call = str(first._answer["Run"])
    first.result()
    rt = replace(world.platform.runtime(), workflow=called(world.platform.workflow, "Resize"))
    fork(rt, ForkRequest(execution=call, node="Resize", visit=1, name=name))
    world.platform.sent.clear()


def start_call_of_another_task(world: World, name: str) -> None:
    other = called(world.platform.workflow, "Plain")
    rt = replace(world.platform.runtime(), workflow=other)
    write_definition(rt)
    draft = start_record(Execution(name, rt.clock.now_ms()), SECRET).saying(digest=other.digest)
    start_records.create_start(rt.store, "w", draft, expires_at_s=rt.result_expires_at_s())


def start_on_a_lost_definition(world: World, name: str) -> None:
    rt = world.platform.runtime()
    draft = start_record(Execution(name, rt.clock.now_ms()), SECRET).saying(digest="0123456789ab")
    start_records.create_start(rt.store, "w", draft, expires_at_s=rt.result_expires_at_s())


NO_CALLS = [start_ordinary, start_forced, start_fork, start_call_of_another_task, start_on_a_lost_definition]


@pytest.mark.parametrize("begin", NO_CALLS)
def test_caller_reads_no_execution_that_has_the_name_of_a_run(begin: Any, world: World) -> None:
    name = f"{calling._run_prefix('Resize')}{'0' * 32}"
    begin(world, name)
    with pytest.raises(ExecutionDoesNotExist, match=f"run '{name}' does not exist; call 'Resize' again"):
        calling.follow(world.platform.runtime(), calling.parse(calling.question("Resize", name)))


@pytest.mark.parametrize("begin", NO_CALLS)
def test_call_begins_another_run_where_its_name_is_taken(begin: Any, world: World) -> None:
    name = f"{calling._run_prefix('Resize')}{'1' * 32}"
    begin(world, name)
    key, _ = result_key(world.platform.runtime(), world.platform.workflow.task("Resize"), 7)
    world.platform.memory.create(
        calling._place(world.platform.runtime(), key.sort, 1), {"run": name}, expires_at_s=2**40
    )
    assert world.client().call("Resize", 7) == {"got": 7}


def test_caller_reads_no_execution_that_only_begins_with_the_task() -> None:
    definition = {"StartAt": "Resize", "States": {"Resize": {"Type": "Task", "Resource": "F", "End": True}}}
    world = World(Platform.of(definition, {"F": SHARED}, F=lambda event: event))
    name, rt = f"{calling._run_prefix('Resize')}{'0' * 32}", world.platform.runtime()
    write_definition(replace(rt, workflow=forced(rt.workflow)))
    start_forced(world, name)
    with pytest.raises(ExecutionDoesNotExist):
        calling.follow(world.platform.runtime(), calling.parse(calling.question("Resize", name)))


def test_question_about_a_run_that_never_began_is_refused(world: World) -> None:
    name = f"{calling._run_prefix('Resize')}{'0' * 32}"
    with pytest.raises(ExecutionDoesNotExist, match=f"run '{name}' does not exist; call 'Resize' again"):
        calling.follow(world.platform.runtime(), calling.parse(calling.question("Resize", name)))


def test_request_of_another_wire_version_is_no_call() -> None:
    with pytest.raises(ClientError, match="wire version"):
        calling.parse({**calling.request("Resize", 1), MARK: 7})


def test_call_is_told_about_after_another_definition_is_deployed(world: World) -> None:
    call = world.client().begin_call("Resize", 1)
    world.deliver_all()
    task = replace(world.platform.workflow.task("Resize"), retry=())
    states = {**world.platform.workflow.states, "Resize": task}
    world.platform.workflow = replace(world.platform.workflow, states=states)
    assert call.result() == {"got": 1}


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
