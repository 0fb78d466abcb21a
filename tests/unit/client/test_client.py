"""The client against a memory store and a workflow that runs in this process."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.client.run_alias import RUN, Answering
from unum_client import Description, StepStatus
from unum_client.past_reader import NoTable
from unum_client.starting import Starts
from unum_runtime.errors import (
    ClientError,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    InvalidExecutionInput,
    InvalidName,
    InvokeError,
    WaitTimedOut,
)
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import start_key
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.start import resume
from unum_simulator.local import Queue

Deploy = Callable[..., Any]

DOUBLE = {"StartAt": "Double", "States": {"Double": {"Type": "Task", "Resource": "double", "End": True}}}
SPREAD = {
    "StartAt": "Spread",
    "States": {
        "Spread": {
            "Type": "Map",
            "ItemProcessor": {"StartAt": "Double", "States": DOUBLE["States"]},
            "Next": "Sum",
        },
        "Sum": {"Type": "Task", "Resource": "total", "End": True},
    },
}

CHAIN = {
    "StartAt": "First",
    "States": {
        "First": {"Type": "Task", "Resource": "double", "Next": "Second"},
        "Second": {"Type": "Task", "Resource": "double", "End": True},
    },
}


def double(event: Any, _context: Any) -> Any:
    return event * 2


def total(event: Any, _context: Any) -> Any:
    return sum(event)


def crash(_event: Any, _context: Any) -> Any:
    raise ValueError("no such thing")


@pytest.fixture
def doubling(deploy: Deploy) -> Any:
    return deploy(DOUBLE, double=double)


def test_an_execution_is_started_and_described(doubling: Any) -> None:
    before = datetime.now(UTC)
    started = doubling.client.start(21, name="n")
    described = doubling.client.describe("n")
    assert (started.name, started.is_new) == ("n", True)
    assert (described.name, described.status, described.input, described.output) == ("n", Status.SUCCEEDED, 21, 42)
    assert (described.error, described.cause) == (None, None)
    assert before.timestamp() - 1 < described.started_at.timestamp() <= described.stopped_at.timestamp()
    assert described.started_at == started.started_at


def test_a_name_is_made_up_where_none_is_given(doubling: Any) -> None:
    names = {doubling.client.start(value).name for value in (1, 1, 2)}
    assert len(names) == 3
    assert sorted(doubling.client.describe(name).output for name in names) == [2, 2, 4]


def test_the_same_name_and_input_is_one_execution(doubling: Any) -> None:
    first = doubling.client.start(4, name="n")
    again = doubling.client.start(4, name="n")
    assert (again.name, again.started_at, again.is_new) == ("n", first.started_at, False)
    assert doubling.alias.started == ["n"]


def test_an_execution_that_has_not_ended_is_invoked_again(doubling: Any) -> None:
    doubling.alias.is_open = False
    doubling.client.start(4, name="n")
    assert doubling.client.describe("n").status is Status.RUNNING
    doubling.alias.is_open = True
    assert not doubling.client.start(4, name="n").is_new
    assert doubling.client.describe("n").output == 8


def test_next_start_begins_the_execution_of_a_failed_invocation(doubling: Any) -> None:
    class Down:
        def invoke(self, _events: Any) -> None:
            raise InvokeError("throttled")

    caller = Answering(doubling.local.workflow, doubling.local.store, Down())
    starts = Starts(caller=caller, invoker=Down(), run_alias=RUN)
    with pytest.raises(InvokeError, match="throttled"):
        replace(doubling.client, starts=starts).start(4, name="n")
    assert doubling.client.describe("n").status is Status.RUNNING
    doubling.client.start(4, name="n")
    assert doubling.client.describe("n").output == 8


@pytest.mark.parametrize(
    ("first", "other"),
    [(1, 2), (1, True), (0, False), (1, 1.0), ({"a": 1}, {"a": "1"}), ([1, 2], [2, 1]), (None, {}), ("1", 1)],
)
def test_another_input_under_the_same_name_is_refused(deploy: Deploy, first: Any, other: Any) -> None:
    deployment = deploy(DOUBLE, double=lambda event, _: event)
    deployment.client.start(first, name="n")
    with pytest.raises(ExecutionAlreadyExists, match=r"execution 'n' of workflow 'w' .* another input") as refused:
        deployment.client.start(other, name="n")
    assert "use another name, or the same input" in str(refused.value)
    assert deployment.alias.started == ["n"]
    assert deployment.client.describe("n").input == first


@pytest.mark.parametrize("same", [{"a": [1, {"b": None}], "c": "é"}, {"c": "é", "a": (1, {"b": None})}])
def test_equal_inputs_may_be_written_differently(deploy: Deploy, same: Any) -> None:
    deployment = deploy(DOUBLE, double=lambda event, _: event)
    deployment.client.start({"a": [1, {"b": None}], "c": "é"}, name="n")
    assert not deployment.client.start(same, name="n").is_new


def test_sixteen_threads_that_start_one_name_share_one_execution(deploy: Deploy) -> None:
    ran = []
    deployment = deploy(DOUBLE, double=lambda event, _: ran.append(event) or 2 * event)
    deployment.alias.is_open = False  # until all have written: the local workflow takes one start after the other
    with ThreadPoolExecutor(16) as pool:
        started = list(pool.map(lambda _: deployment.client.start(3, name="n"), range(16)))
    assert sum(one.is_new for one in started) == 1
    assert len({one.started_at for one in started}) == 1
    deployment.alias.is_open = True
    for _ in range(16):
        deployment.client.start(3, name="n")
    assert ran == [3]
    assert deployment.client.describe("n").output == 6
    assert len(list(deployment.client.steps("n"))) == 1


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ä", "x" * 81, "a\n", "a.b"])
def test_a_name_that_is_none_is_refused(doubling: Any, name: str) -> None:
    with pytest.raises(InvalidName, match="expected 1 to 80 characters from A-Z a-z 0-9 - _, got"):
        doubling.client.start(1, name=name)
    assert doubling.alias.started == []


@pytest.mark.parametrize("name", ["a", "x" * 80, "A-z_0"])
def test_a_name_may_be(doubling: Any, name: str) -> None:
    assert doubling.client.start(1, name=name).name == name


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": [1, {"b": {1, 2}}]}, r"input: \$\.a\[1\]\.b: set is not JSON"),
        ([datetime.now(UTC)], r"input: \$\[0\]: datetime\.datetime is not JSON"),
        (float("nan"), r"input: \$: nan is not JSON"),
        (
            "x" * 400_000,
            (
                r"^input: 400002 bytes of JSON, but at most 380000 are stored; put large data into S3 and pass where "
                r'it is, or give the workflow a bucket for larger ones, payload="s3"$'
            ),
        ),
    ],
)
def test_an_input_that_cannot_be_stored_is_refused_and_nothing_is_stored(doubling: Any, value: Any, said: str) -> None:
    with pytest.raises(InvalidExecutionInput, match=said):
        doubling.client.start(value, name="n")
    assert doubling.local.store.read([start_key("w", "n")]) == {}
    assert doubling.alias.started == []


def test_an_unknown_execution_is_named(doubling: Any) -> None:
    for ask in (doubling.client.describe, doubling.client.wait, doubling.client.steps):
        with pytest.raises(ExecutionDoesNotExist, match="workflow 'w' has no execution 'nobody': it never started, or"):
            ask("nobody")
    with pytest.raises(ExecutionDoesNotExist):
        next(doubling.client.watch("nobody"))


@pytest.mark.parametrize("name", ["ä" * 600, "x" * 81, "", None, 5, b"x"])
def test_of_what_no_execution_can_be_called_the_store_is_not_asked(doubling: Any, name: Any) -> None:
    client = replace(doubling.client, store=None)
    for ask in (client.describe, client.wait, client.steps):
        with pytest.raises(ExecutionDoesNotExist, match="has no execution"):
            ask(name)


@pytest.mark.parametrize("timeout_s", [float("nan"), "5"])
def test_a_wait_of_no_time_is_refused(doubling: Any, timeout_s: Any) -> None:
    doubling.alias.is_open = False
    doubling.client.start(5, name="n")
    with pytest.raises(ClientError, match="timeout_s: expected a number of seconds, or None, got"):
        doubling.client.wait("n", timeout_s=timeout_s)


def test_a_client_without_alias_looks_only(doubling: Any) -> None:
    doubling.client.start(1, name="n")
    looking = replace(doubling.client, starts=None)
    assert looking.describe("n").output == 2
    with pytest.raises(ClientError, match="start_alias: expected the ARN of the start alias"):
        looking.start(1, name="m")


def test_a_failed_execution_has_error_and_cause(deploy: Deploy) -> None:
    client = deploy(DOUBLE, double=crash).client
    client.start(1, name="n")
    described = client.describe("n")
    assert (described.status, described.output, described.error) == (Status.FAILED, None, "ValueError")
    assert "no such thing" in described.cause
    assert described.stopped_at is not None
    (step,) = client.steps("n")
    assert (step.status, step.error, step.bytes) == (StepStatus.FAILED, "ValueError", 0)


def test_steps_have_their_place_in_the_fan_outs_around_them(deploy: Deploy) -> None:
    client = deploy(SPREAD, double=double, total=total).client
    client.start([1, 20, 300], name="n")
    steps = list(client.steps("n"))
    assert [(step.state, step.index, step.status) for step in steps] == [
        ("Spread", (), StepStatus.ENTERED),
        ("Double", (0,), StepStatus.SUCCEEDED),
        ("Double", (1,), StepStatus.SUCCEEDED),
        ("Double", (2,), StepStatus.SUCCEEDED),
        ("Sum", (), StepStatus.SUCCEEDED),
    ]
    assert [step.bytes for step in steps] == [len("[1,20,300]"), 1, 2, 3, 3]
    assert all(step.attempt == 0 and step.error is None and step.duration_ms >= 0 for step in steps)
    assert all(step.committed_at.tzinfo is UTC for step in steps)


def test_waiting_ends_with_the_execution(doubling: Any) -> None:
    doubling.alias.is_open = False
    doubling.client.start(5, name="n")

    def end_after_three_pauses() -> None:
        if len(doubling.time.pauses) == 3:
            doubling.local.run("n", 5)

    doubling.time.then = end_after_three_pauses
    description: Description = doubling.client.wait("n", timeout_s=60)
    assert description.output == 10
    first, second, third = doubling.time.pauses
    assert 0 < first < second < third


def test_waiting_ends_at_its_deadline(doubling: Any) -> None:
    doubling.alias.is_open = False
    doubling.client.start(5, name="n")
    with pytest.raises(WaitTimedOut, match="'n' was still running after 30 s"):
        doubling.client.wait("n", timeout_s=30)
    assert doubling.time.now_s == pytest.approx(30)
    assert max(doubling.time.pauses) <= 5
    with pytest.raises(WaitTimedOut):
        list(doubling.client.watch("n", timeout_s=0))


def test_an_ended_execution_is_not_waited_for(doubling: Any) -> None:
    doubling.client.start(5, name="n")
    assert doubling.client.wait("n", timeout_s=0).output == 10
    assert doubling.time.pauses == []


def test_each_step_is_told_once_in_the_order_of_commits(deploy: Deploy) -> None:
    deployment = deploy(SPREAD, double=double, total=total)
    deployment.alias.is_open = False
    deployment.client.start([1, 2], name="n")
    deployment.time.then = lambda: deployment.local.run("n", [1, 2]) and None
    reply: list[Any] = []
    description = deployment.client.wait("n", timeout_s=60, on_step=reply.append)
    assert description.output == 6
    assert sorted(step.state for step in reply) == ["Double", "Double", "Spread", "Sum"]
    assert [step.committed_at for step in reply] == sorted(step.committed_at for step in reply)


def test_progress_is_told_whenever_it_has_changed(deploy: Deploy) -> None:
    deployment = deploy(SPREAD, double=double, total=total)
    deployment.alias.is_open = False
    deployment.client.start([1, 2], name="n")

    def end_after_three_pauses() -> None:
        if len(deployment.time.pauses) == 3:
            deployment.local.run("n", [1, 2])

    deployment.time.then = end_after_three_pauses
    workflow = deployment.local.workflow
    before, after = deployment.client.watch_progress("n", workflow, timeout_s=60)
    assert (before["Double"].succeeded, before["Sum"].succeeded, before["Sum"].over) == (0, 0, False)
    assert (after["Double"].succeeded, after["Sum"].succeeded, after["Sum"].over) == (2, 1, True)
    assert len(list(deployment.client.watch_progress("n", workflow, timeout_s=0))) == 1
    deployment.alias.is_open = False
    deployment.client.start([3], name="late")
    with pytest.raises(WaitTimedOut):
        list(deployment.client.watch_progress("late", workflow, timeout_s=1))


def test_a_client_without_the_table_starts_and_says_what_it_lacks(doubling: Any) -> None:
    starting = replace(doubling.client, store=NoTable())
    assert starting.start(1, name="n").is_new
    assert not starting.start(1, name="n").is_new
    assert starting.submit(2, name="m") == "m"
    assert doubling.client.describe("n").output == 2
    assert doubling.client.describe("m").output == 4
    for read in (starting.describe, starting.steps, starting.definition):
        with pytest.raises(ClientError, match="table: expected the workflow's table, got None"):
            read("n")


def test_a_start_without_an_answer_changes_nothing_of_an_earlier_one(doubling: Any) -> None:
    doubling.client.start(1, name="n")
    assert doubling.client.submit(1, name="n") == "n"
    with pytest.raises(ExecutionAlreadyExists):  # to the function: Lambda tells a client nothing of it
        doubling.client.submit(5, name="n")
    assert (doubling.client.describe("n").input, doubling.client.describe("n").output) == (1, 2)


@pytest.mark.parametrize("call", ["start", "submit"])
def test_nothing_is_sent_of_what_cannot_be_started(doubling: Any, call: str) -> None:
    with pytest.raises(InvalidName):
        getattr(doubling.client, call)(1, name="a b")
    with pytest.raises(InvalidExecutionInput):
        getattr(doubling.client, call)(float("nan"))
    assert doubling.alias.started == []


def test_a_client_tells_the_progress_in_each_state(deploy: Deploy) -> None:
    deployment = deploy(SPREAD, double=double, total=total)
    deployment.client.start([1, 2], name="n")
    found = deployment.client.progress("n", deployment.local.workflow)
    assert {name: state.succeeded for name, state in found.items()} == {"Spread": 1, "Double": 2, "Sum": 1}


def test_pauses_are_short_again_after_a_step(deploy: Deploy) -> None:
    """The second Task commits only after the first one's step was told."""
    deployment = deploy(CHAIN, double=double)
    deployment.alias.is_open = False
    deployment.client.start(1, name="n")
    queue = Queue(deployment.local.clock)
    runtime = deployment.local._runtime(queue)

    def deliver_now_and_then() -> None:
        match len(deployment.time.pauses):
            case 4:
                resume(runtime, "n")
            case 8:
                step(runtime, Envelope.from_json(json.loads(queue.take())))

    deployment.time.then = deliver_now_and_then
    assert [reply.state for reply in deployment.client.watch("n", timeout_s=60)] == ["First", "Second"]
    pauses = deployment.time.pauses
    assert pauses[:4] == pauses[4:]
    assert pauses[3] > pauses[4]
