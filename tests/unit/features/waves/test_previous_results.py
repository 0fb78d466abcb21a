"""Tasks that wait for a result of the branch before: what begins them, what they get, and what is missing."""

import pytest

from tests.unit.protocol.platform import Function, Platform, exactly
from unum_client.events.history_events import events
from unum_client.reading import stored_steps
from unum_client.reading.progress import Reach, progress
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_runtime.errors import InconsistentHistory, NotOurEvent, StoreError
from unum_runtime.features.waves.previous_results import arrival_key, arrive, feed
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import Execution, Name, Scope, checkpoint_key, meeting_key
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.protocol.control.nudge import missing
from unum_runtime.protocol.control.take_over import take_over
from unum_runtime.protocol.delivery.commit import parse_committed
from unum_runtime.protocol.delivery.ingress import read_committed
from unum_runtime.protocol.planning.plan import FeedNext, JoinNeighbour, plan

FLOW = g.map(g.task("a") >> g.task("b").after_previous("b") >> g.task("c"), items=g.out)


def ended(*steps: str, flow: g.Piece = FLOW, value: object = (1, 2, 3)) -> Platform:
    """Return a platform on which the Tasks `steps`, each with the index of its branch, have ended in this order."""
    functions: dict[str, Function] = {
        "a": lambda n: n * 10,
        "b": lambda both: both["own"] + (both["previous"] or 0),
        "c": lambda n: n,
    }
    platform = Platform(Definition.from_graph(flow).compile("w", None), functions)
    platform.start("e", [*value] if isinstance(value, tuple) else value)
    for step in steps:
        platform.clock.pass_seconds(1)
        platform.deliver(event_of(platform, step))
    return platform


def test_the_set_of_a_task_is_numbered_among_those_of_its_own_scope() -> None:
    """Deliveries of two deployments share the key."""
    platform = ended()
    name = platform.sent[0].name
    scope = Scope.around(name.execution, name.frames)
    assert arrival_key(platform.workflow, scope, 1, "b") == meeting_key("w", scope, 1, 0)


def event_of(platform: Platform, step: str) -> Envelope:
    return next(event for event in platform.sent if place(event) == step)


def place(event: Envelope) -> str:
    return f"{event.state}{event.name.frames[-1].index}"


def sent(platform: Platform) -> list[str]:
    return [place(event) for event in platform.sent if event.state == "b"]


def before(event: Envelope) -> Name:
    return Name(event.name.execution, event.name.frames, event.name.step - 1)


def test_first_branch_waits_for_none_and_others_for_own_step_and_result() -> None:
    assert sent(ended("a0")) == ["b0"]
    assert sent(ended("a1", "a2")) == []
    assert sent(ended("a0", "b0")) == ["b0"]
    assert sent(ended("a0", "b0", "a1")) == ["b0", "b1"]
    assert sent(ended("a1", "a0", "b0")) == ["b0", "b1"]


@pytest.mark.parametrize("order", [("a0", "b0", "a1"), ("a1", "a0", "b0")])
def test_task_gets_both_by_name_and_is_entered_at_the_later_time(order: tuple[str, ...]) -> None:
    platform = ended(*order)
    entered = event_of(platform, "b1").input
    assert isinstance(entered, Value)
    assert (entered.value, entered.entered_ms) == ({"own": 20, "previous": 10}, platform.clock.ms)


def test_a_second_delivery_of_either_side_begins_the_task_again() -> None:
    platform = ended("a1", "a0", "b0")
    for side in ("b0", "a1"):
        platform.deliver(event_of(platform, side))
    first, *again = (event for event in platform.sent if place(event) == "b1")
    assert again == [first, first]


@pytest.mark.parametrize("at_once", [1, 2])
def test_no_width_below_the_number_of_branches_blocks_a_wave(at_once: int) -> None:
    flow = g.map(g.task("a") >> g.task("b").after_previous("c") >> g.task("c"), items=g.out, at_once=at_once)
    functions: dict[str, Function] = {"a": lambda n: n, "b": lambda both: both, "c": lambda both: both["own"]}
    platform = Platform(Definition.from_graph(flow).compile("w", None), functions)
    ending = platform.run("e", [*range(7)])
    assert ending is not None
    assert str(ending.outcome).count("Success")


def test_a_commit_that_is_gone_is_named() -> None:
    platform = ended("a1", "a0", "b0")
    own, result = before(event_of(platform, "b1")), event_of(platform, "b0").name
    found = read_committed(platform.runtime(), result, "b")
    assert found is not None
    items = platform.memory._items
    kept = items.pop(checkpoint_key("w", own))
    said = f"{own}: the checkpoint of a branch that has arrived is missing; has it expired?"
    with pytest.raises(StoreError, match=exactly(said)):
        feed(platform.runtime(), FeedNext(found, "b"))
    items[checkpoint_key("w", own)] = kept
    del items[checkpoint_key("w", result)]
    joining = plan(
        platform.workflow,
        parse_committed(
            platform.runtime(), own, "a", platform.memory.read([checkpoint_key("w", own)])[checkpoint_key("w", own)]
        ),
    )
    assert isinstance(joining, JoinNeighbour)
    with pytest.raises(StoreError, match="is missing; has it expired"):
        arrive(platform.runtime(), joining)


def test_a_commit_that_leads_elsewhere_is_named() -> None:
    platform = ended("a1", "a0", "b0")
    result = read_committed(platform.runtime(), event_of(platform, "b0").name, "b")
    own = before(event_of(platform, "b1"))
    key = checkpoint_key("w", own)
    item = dict(platform.memory.read([key])[key])
    assert result is not None
    platform.memory._items.pop(key)
    platform.memory.create(key, {**item, "state": "b"}, expires_at_s=2_000_000_000)
    with pytest.raises(InconsistentHistory, match="expected that 'b' follows, found Invoke"):
        feed(platform.runtime(), FeedNext(result, "b"))


def test_a_task_that_waits_is_neither_pending_nor_running_nor_entered() -> None:
    def reply(*steps: str) -> tuple[list[str], Reach, list[str]]:
        platform = ended(*steps, value=(1, 2))
        commits = [stored_steps.start_record(platform.memory, "w", "e"), *platform.steps()]
        history = events(platform.workflow, commits, now_ms=platform.clock.ms)
        entered = [each["stateEnteredEventDetails"] for each in history if "stateEnteredEventDetails" in each]
        inputs = [each["input"] for each in entered if each["name"] == "b"]
        waits = [f"{each.state}{each.name.frames[-1].index}" for each in missing(platform.runtime(), "e")]
        return waits, progress(platform.workflow, commits)["b"].reach, inputs

    assert reply("a1") == (["a0"], Reach.NOT_REACHED, [])
    assert reply("a1", "a0") == (["b0"], Reach.RUNNING, ['{"own":10,"previous":null}'])
    both = ['{"own":10,"previous":null}', '{"own":20,"previous":10}']
    waits, _, inputs = reply("a1", "a0", "b0")
    assert (sorted(waits), inputs) == (["b1", "c0"], both)


def test_a_task_that_waits_is_not_taken_over() -> None:
    platform = ended("a1", "a0")
    own = event_of(platform, "a1").name
    request = TakeOver(
        workflow="w",
        digest=platform.workflow.digest,
        name=own.following,
        state="b",
        address="",
        retries=(),
        due_ms=None,
    )
    said = f"{own.following}: expected the result of 'b' in the branch before"
    with pytest.raises(NotOurEvent, match=exactly(said)):
        take_over(platform.runtime(), request, {})


def test_sets_of_a_second_fan_out_are_numbered_from_zero() -> None:
    first = g.map(g.task("a") >> g.task("b").after_previous("b"), items=g.out)
    second = g.map(g.task("c") >> g.task("d").after_previous("d"), items=g.out)
    workflow = Definition.from_graph(first >> second).compile("w", None)
    for waiting in ("b", "d"):
        scope = Scope(Execution("e", 0), (), str(workflow.task(waiting).scope), 1, 0, 2)
        assert arrival_key(workflow, scope, 1, waiting) == meeting_key("w", scope, 1, 0)


def test_a_commit_that_leads_to_another_wait_is_named() -> None:
    flow = g.map(g.task("a") >> g.task("b").after_previous("b") >> g.task("c").after_previous("c"), items=g.out)
    platform = ended("a1", flow=flow)
    own = event_of(platform, "a1").name
    platform.deliver(event_of(platform, "a0"))
    platform.deliver(event_of(platform, "b0"))
    result = read_committed(platform.runtime(), event_of(platform, "b0").name, "b")
    assert result is not None
    scope = Scope.around(own.execution, own.frames)
    key = arrival_key(platform.workflow, scope, 1, "c")
    platform.memory.add(key, own.step * 2, expires_at_s=2_000_000_000)
    with pytest.raises(InconsistentHistory, match="expected that 'c' follows, found JoinNeighbour"):
        feed(platform.runtime(), FeedNext(result, "c"))
