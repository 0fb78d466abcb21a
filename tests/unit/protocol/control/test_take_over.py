"""The intake continues executions whose functions may send nothing: they end as if nothing had been denied."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import ASK, PAYLOAD
from tests.unit.protocol.map_platform import around, deployed, mapped, result
from tests.unit.protocol.platform import Function, Platform, chain, exactly
from tests.unit.protocol.stranded_platform import Stranded
from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.definition import Definition as Source
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import NotOurEvent, RefusedDelivery, RouteGone
from unum_runtime.model.checkpoint import Ending, Failure, Status, Success
from unum_runtime.model.envelope import Envelope, Siblings, Value
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Execution, Name
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.protocol.control import take_over
from unum_runtime.protocol.requests import respond
from unum_runtime.protocol.runtime import CallbackPending

RETRY = {"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 2, "MaxAttempts": 2}]}
WAIT = {"Type": "Wait", "Seconds": 5, "Next": "B"}

Definition = dict[str, Any]


def with_wait() -> Definition:
    definition = chain("A", "B")
    definition["States"]["A"]["Next"] = "W"
    definition["States"]["W"] = WAIT
    return definition


def begins_with_wait() -> Definition:
    return {"StartAt": "W", "States": {"W": WAIT, "B": {"Type": "Task", "Resource": "B", "End": True}}}


def nested() -> Definition:
    return {
        "StartAt": "Outer",
        "States": {
            "Outer": {"Type": "Map", "ItemProcessor": mapped("A", "B", after="C"), "Next": "D"},
            "D": {"Type": "Task", "Resource": "D", "End": True},
        },
    }


def serial() -> Definition:
    return mapped("A", "B", after="C", MaxConcurrency=1)


def chosen() -> Definition:
    """Return a Map of which only other branches than those of 1 have a Task."""
    passes = {"Variable": "$", "NumericEquals": 1, "Next": "P"}
    which = {"Type": "Choice", "Choices": [passes], "Default": "A"}
    states = {"Which": which, "P": {"Type": "Pass", "End": True}, "A": {"Type": "Task", "Resource": "A", "End": True}}
    return around({"StartAt": "Which", "States": states}, after="C")


CASES: Mapping[str, tuple[Definition, Any]] = {
    "chain": (chain("A", "B", "C"), 1),
    "wait": (with_wait(), 1),
    "begins with a wait": (begins_with_wait(), 1),
    "map": (mapped("A", "B", after="C"), [1, 2, 3]),
    "map that ends": (mapped("A"), [1, 2, 3]),
    "one after another": (serial(), [1, 2, 3]),
    "nested": (nested(), [[1, 2], [3]]),
    "branches without a task": (chosen(), [1, 1, 1]),
}


def stranded(definition: Definition, **options: Any) -> Stranded:
    functions: dict[str, Function] = dict.fromkeys("ABCD", lambda event: event)
    compiled = compile_workflow(definition, name="w", functions=functions, **options.pop("compiled", {}))
    return Stranded(compiled, functions, **options)


def ended(platform: Stranded, value: Any) -> Any:
    platform.run("e", value)
    return result(platform)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_executions_end_in_place_of_functions_that_may_send_nothing(case: str, times: int) -> None:
    definition, value = CASES[case]
    platform = stranded(definition, times=times)
    assert ended(platform, value) == value
    handed = [fields for message, fields in platform.logged if message == "handed over"]
    assert handed[0]["invocation"] in ("e:1a3185c5000#0", "e:1a3185c5000#1")
    assert all(each["reason"] == "add" or each["reason"].endswith(": denied") for each in handed)


@pytest.mark.parametrize("case", CASES)
def test_small_results_too(case: str) -> None:
    definition, value = CASES[case]
    platform = stranded(definition)
    platform.workflow = replace(platform.workflow, small_results=True)
    assert ended(platform, value) == value


def test_a_retry_keeps_its_count_and_its_delay() -> None:
    platform = stranded(chain("A", "B", A=RETRY))
    tries: list[int] = []

    def fail(event: Any) -> Any:
        tries.append(platform.clock.ms)
        raise ValueError(event)

    platform.functions["A"] = fail
    ending = platform.run("e", 1)
    assert isinstance(ending, Ending)
    assert (ending.status, platform.calls["A"]) == (Status.FAILED, 3)
    assert [later - earlier for earlier, later in pairwise(tries)] == [2_000, 4_000]


def test_a_retry_in_a_branch_and_one_of_the_task_that_joins() -> None:
    definition = mapped("A", "B", after="C")
    for state in (*definition["States"]["M"]["ItemProcessor"]["States"].values(), definition["States"]["C"]):
        state.update(RETRY)
    platform = stranded(definition)
    failed: set[tuple[str, str]] = set()

    def once(state: str) -> Function:
        def run(event: Any) -> Any:
            if (state, str(event)) not in failed:
                failed.add((state, str(event)))
                raise ValueError(state)
            return event

        return run

    platform.functions |= {state: once(state) for state in "ABC"}
    assert ended(platform, [1, 2]) == [1, 2]
    assert len(failed) == 5


@pytest.mark.parametrize("times", [1, 2])
def test_nodes_of_a_region_are_taken_over(times: int) -> None:
    both = {"left": g.task("A").retry(), "right": g.task("B"), "both": g.task("C").retry().after("left", "right")}
    flow = Source.from_graph(g.dag({**both, "last": g.task("D").after("both")})).compile("w", None)
    functions: dict[str, Function] = {}
    for state in "ABCD":
        functions[state] = lambda event, state=state: [state, event]  # type: ignore[misc]
    platform = Stranded(flow, functions, times=times)
    failed: set[str] = set()

    def once(event: Any) -> Any:
        if str(event) not in failed:
            failed.add(str(event))
            raise ValueError(event)
        return ["C", event]

    platform.functions["C"] = once
    expected = {"last": ["D", {"both": ["C", {"left": ["A", 1], "right": ["B", 1]}]}]}
    assert ended(platform, 1) == expected
    assert len(failed) == 1


@pytest.mark.parametrize("times", [1, 2])
def test_tasks_that_wait_for_the_branch_before_are_taken_over(times: int) -> None:
    flow = g.map(g.task("A") >> g.task("B").retry().after_previous("B"), items=g.out)
    functions: dict[str, Function] = {"A": lambda n: n * 10}
    failed: set[str] = set()

    def once(both: Any) -> Any:
        if str(both) not in failed:
            failed.add(str(both))
            raise ValueError(both)
        return both["own"] + (both["previous"] or 0)

    platform = Stranded(Source.from_graph(flow).compile("w", None), {**functions, "B": once}, times=times)
    assert ended(platform, [1, 2, 3]) == [10, 30, 60]
    assert len(failed) == 3


def test_a_node_that_waits_for_results_is_not_taken_over() -> None:
    flow = g.dag({"left": g.task("A"), "right": g.task("B"), "both": g.task("C").after("left", "right")})
    compiled = Source.from_graph(flow).compile("w", None)
    platform = Stranded(compiled, dict.fromkeys("ABC", lambda event: event))
    platform.free = True
    platform.start("e", 1)
    left = platform.sent[0]
    platform.deliver(left)
    *_, frame = left.name.frames
    name = replace(left.name, frames=(replace(frame, index=2),))
    said = f"{name}: expected the results of all nodes that it waits for"
    with pytest.raises(NotOurEvent, match=exactly(said)):
        take_over.take_over(
            platform.intake(), TakeOver(workflow="w", digest=compiled.digest, name=name, state="C", address="F:1"), {}
        )


def test_answer_reaches_a_task_that_the_responder_may_not_invoke() -> None:
    tokens: list[str] = []
    definition = chain("A", "B", "C")
    definition["States"]["B"] |= {
        "Resource": ASK,
        "Parameters": {"FunctionName": "B", "Payload": PAYLOAD},
    }
    platform = stranded(definition)
    platform.functions["B"] = lambda event: tokens.append(event["token"]) or CallbackPending()
    platform.run("e", 1)
    assert platform.ending() is None
    respond.send_result(platform.runtime(), tokens[0], platform.steps()[0].outcome, "")  # type: ignore[arg-type]
    platform.deliver_all()
    assert result(platform) == 1
    reasons = {
        fields["invocation"]: fields["reason"] for message, fields in platform.logged if message == "handed over"
    }
    assert "e:1a3185c5000#2" in reasons
    assert "denied" in reasons["e:1a3185c5000#2"]


def planned(platform: Platform, event: Envelope, **routes: str) -> Envelope:
    return take_over.planned_event(platform.runtime(), event, routes)


def sent_to(state: str, definition: Definition, value: Any, **options: Any) -> tuple[Platform, Envelope]:
    """A platform, and the first event for a state that was not delivered."""
    platform = deployed(definition, **options)
    platform.start("e", value)
    while platform.sent[0].state != state:
        platform.deliver(platform.sent.pop(0))
    return platform, platform.sent[0]


@pytest.mark.parametrize("state", ["A", "B", "C"])
def test_an_event_gets_the_content_that_is_planned_for_it(state: str) -> None:
    definition = chain("A", "B") if state == "B" else mapped("A", "B", after="C")
    platform, event = sent_to(state, definition, [1, 2])
    forged = event.with_input(Value(Success("forged"), 5))
    forged = Envelope(**{**vars(forged), "sent_s": event.sent_s - 3, "routes": {"B": "forged"}})
    expected = Envelope(**{**vars(event), "sent_s": event.sent_s - 3, "routes": {"B": "own"}})
    assert planned(platform, forged, B="own") == expected


def test_committed_outcome_and_part_of_a_fan_out_need_no_content() -> None:
    platform, event = sent_to("B", chain("A", "B"), 1)
    platform.deliver(event)
    forged = event.with_input(Value(Success("forged"), 5))
    assert planned(platform, forged, B="own") == Envelope(**{**vars(forged), "routes": {"B": "own"}})
    platform, event = sent_to("A", mapped("A"), [1, 2])
    part = event.with_input(Siblings(1))
    assert planned(platform, part, B="own") == Envelope(**{**vars(part), "routes": {"B": "own"}})


def test_the_input_after_a_task_without_a_checkpoint_is_the_event_s_own() -> None:
    platform, event = sent_to("B", chain("A", "B"), 1, options={"A": FunctionOptions(checkpoint=False)})
    given = event.with_input(Value(Success("its own"), 5))
    assert planned(platform, given, B="own") == Envelope(**{**vars(given), "routes": {"B": "own"}})
    other = Envelope(**{**vars(given), "state": "A"})
    assert planned(platform, other).input != given.input


def test_an_event_for_what_nobody_sends_is_named() -> None:
    platform, event = sent_to("B", chain("A", "B"), 1)
    platform.clock.pass_seconds(30 * 24 * 3600)
    with pytest.raises(RefusedDelivery, match=f"^{event.name}: delivered "):
        planned(platform, event)
    platform, event = sent_to("A", mapped("A"), [1, 2])
    for branch in platform.sent:
        platform.deliver(branch)
    after = Envelope(**{**vars(event), "name": Name(event.name.execution, (), 1), "state": "M"})
    assert planned(platform, after) == after
    behind = after.name.following.following
    with pytest.raises(NotOurEvent, match=f"^{behind}: expected an outcome that leads to it, found one .* Finish"):
        planned(platform, Envelope(**{**vars(after), "name": behind}))


def test_an_event_that_is_not_due_has_not_failed() -> None:
    platform = deployed(with_wait())
    platform.start("e", 1)
    ((event, due_ms),) = platform.options["timer"].kept
    said = f"{event.name}: expected an event that is due, got one of state 'B'"
    platform.clock.ms = due_ms - 1
    with pytest.raises(NotOurEvent, match=exactly(said)):
        planned(platform, event)
    platform.clock.ms = due_ms
    assert planned(platform, event) == event


def test_a_retry_is_taken_over_up_to_the_last_second_of_its_execution() -> None:
    platform = stranded(chain("A", "B", "C"))
    platform.start("e", 1)
    (request,) = platform.requests
    intake = platform.intake()
    due_ms = intake.last_s(request.name.execution) * 1000 + 999
    late = replace(request, name=request.name.following, state="B", retries=(1,), due_ms=due_ms)
    take_over.take_over(intake, late, {})
    assert [(each.name, due) for due, each in platform.waiting] == [(late.name, due_ms)]
    with pytest.raises(NotOurEvent):
        take_over.take_over(intake, replace(late, due_ms=due_ms + 1), {})


def test_nothing_is_taken_over_after_the_deadline() -> None:
    platform = stranded(mapped("A", "B", after="C"))
    platform.start("e", [1, 2])
    (request,) = platform.requests
    platform.deliver_all()
    platform.clock.pass_seconds(30 * 24 * 3600)
    with pytest.raises(RefusedDelivery, match="deadline"):
        take_over.take_over(platform.intake(), request, {})


def forged(request: TakeOver) -> Mapping[str, TakeOver]:
    name = request.name
    other = Execution(name.execution.name, name.execution.started_ms + 1)
    return {
        "another time of the start": replace(request, name=replace(name, execution=other, step=0), state=""),
        "the step after it": replace(request, name=replace(name, execution=other, step=1)),
        "a step to come": replace(request, name=replace(name, step=name.step + 7)),
        "another state": replace(request, name=name.following, state="C"),
        "another execution": replace(request, name=replace(name, execution=Execution("x", 5))),
    }


FORGERIES = {
    "another time of the start": "e:1a3185c5001#0: expected a start at 1800000000000",
    "the step after it": "e:1a3185c5001#0: expected a start at 1800000000000",
    "a step to come": "e:1a3185c5000#8: expected an outcome before it, found none",
    "another state": "e:1a3185c5000#2: expected state 'B', got 'C'",
    "another execution": "x:5#1: delivered 1799398800 s after its deadline; its items may have expired",
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_request_changes_nothing(what: str) -> None:
    platform = stranded(chain("A", "B", "C"))
    platform.start("e", 1)
    (request,) = platform.requests
    before = (dict(platform.memory._items), [*platform.sent])
    with pytest.raises((NotOurEvent, RefusedDelivery), match=exactly(FORGERIES[what])):
        take_over.take_over(platform.intake(), forged(request)[what], {})
    assert (dict(platform.memory._items), platform.sent) == before


def test_a_forged_time_does_not_fail_an_invocation() -> None:
    platform = stranded(chain("A", "B", "C"))
    platform.start("e", 1)
    (request,) = platform.requests
    late = replace(request, name=request.name.following, state="B", retries=(1,), due_ms=10**15)
    late_retry = f"{late.name}: expected a retry before the deadline of the execution"
    with pytest.raises(NotOurEvent, match=exactly(late_retry)):
        take_over.take_over(platform.intake(), late, {})
    platform.deliver_all()
    assert result(platform) == 1


def test_a_task_without_a_checkpoint_is_not_taken_over() -> None:
    """Nothing says what it returned: its code would run again and again."""
    platform = stranded(chain("A", "B"), compiled={"options": {"A": FunctionOptions(checkpoint=False)}})
    with pytest.raises(RouteGone):
        platform.start("e", 1)


def test_without_an_intake_a_denial_is_an_error_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    monkeypatch.setattr(platform, "invoke", refuse)
    with pytest.raises(RouteGone):
        platform.start("e", 1)


def refuse(_events: Any) -> None:
    raise RouteGone("B", PermissionError("denied"), is_deleted=False)


GONE = Failure("Unum.FunctionGone", "B has left")


@pytest.mark.parametrize(("definition", "value"), [(chain("A", "B", "C"), 1), (mapped("A", "B", after="C"), [1, 2])])
def test_what_left_the_deployment_fails_the_execution_visibly(
    definition: Definition, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = stranded(definition)
    send = platform.invoke

    def invoke(events: Any) -> None:
        for address, payload in events:
            if address == "B":
                refuse(events)
            send([(address, payload)])

    monkeypatch.setattr(platform, "invoke", invoke)
    platform.options["gone"] = lambda denied: GONE if denied.place == "B" else None
    ending = platform.run("e", value)
    assert isinstance(ending, Ending)
    assert (ending.status, ending.outcome) == (Status.FAILED, GONE)


def test_a_denial_that_may_pass_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = stranded(chain("A", "B"), free=True)
    monkeypatch.setattr(platform, "invoke", refuse)
    platform.options["gone"] = lambda _: None
    with pytest.raises(RouteGone):
        platform.start("e", 1)


def forgets(_rt: Any, _request: Any, _routes: Any) -> None:
    """An intake that does nothing."""


def sends_anew(rt: Any, request: TakeOver, routes: Any) -> None:
    """An intake that sends the pending event without the count of retries."""
    original(rt, replace(request, retries=()), routes)


original = take_over.take_over


@pytest.mark.parametrize(("broken", "definition", "value"), [(forgets, *CASES["chain"]), (forgets, *CASES["map"])])
def test_an_intake_that_does_nothing_is_noticed(
    broken: Any, definition: Definition, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(take_over, "take_over", broken)
    with pytest.raises(AssertionError):
        ended(stranded(definition), value)


def test_an_intake_that_forgets_retries_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(take_over, "take_over", sends_anew)
    platform = stranded(chain("A", "B", A=RETRY))
    tries = iter(range(20))

    def fail(event: Any) -> Any:
        if next(tries, None) is None:
            raise SystemExit
        raise ValueError(event)

    platform.functions["A"] = fail
    with pytest.raises(SystemExit):
        platform.run("e", 1)


@pytest.mark.parametrize("case", CASES)
def test_eager_collection_too(case: str) -> None:
    definition, value = CASES[case]
    platform = stranded(definition, times=2)
    platform.collection = Collection.EAGER
    assert ended(platform, value) == value


def test_only_the_neighbour_join_that_was_asked_for_is_sent() -> None:
    flow = g.map(g.task("A") >> g.task("B").meets_previous(), items=g.out)
    platform = Stranded(Source.from_graph(flow).compile("w", None), {"A": lambda n: n, "B": lambda both: both})
    platform.free = True
    platform.start("e", [1, 2, 3])
    branches, platform.sent = platform.sent, []
    for event in branches:
        platform.deliver(event)
    second = next(event for event in platform.sent if event.state == "B" and event.name.frames[-1].index == 1)
    platform.memory._sets.clear()  # as if nobody had arrived
    platform.sent.clear()
    take_over.take_over(platform.intake(), TakeOver.of(second, "F:1"), {})
    assert [(event.name, event.state) for event in platform.sent] == [(second.name, "B")]


def test_an_opened_fan_out_leads_to_no_event_after_it() -> None:
    platform, event = sent_to("A", mapped("A"), [1, 2])
    after = replace(event, name=Name(event.name.execution, (), 2), state="M")
    with pytest.raises(NotOurEvent, match=f"^{after.name}: expected an outcome that leads to it, found .* OpenScope"):
        planned(platform, after)


@pytest.mark.parametrize("times", [1, 2])
def test_a_retry_of_a_neighbour_join_gets_both_inputs_again(times: int) -> None:
    flow = g.map(g.task("A") >> g.task("B").retry().meets_previous(), items=g.out)
    failed: set[str] = set()

    def once(both: Any) -> Any:
        if str(both) not in failed:
            failed.add(str(both))
            raise ValueError(both)
        return both

    functions: dict[str, Function] = {"A": lambda n: n * 10, "B": once}
    platform = Stranded(Source.from_graph(flow).compile("w", None), functions, times=times)
    assert ended(platform, [1, 2, 3]) == [[None, 10], [10, 20], [20, 30]]
    assert len(failed) == 3


def test_the_planned_event_of_a_neighbour_join_has_both_inputs() -> None:
    flow = g.map(g.task("A") >> g.task("B").meets_previous(), items=g.out)
    platform = Stranded(Source.from_graph(flow).compile("w", None), {"A": lambda n: n, "B": lambda both: both})
    platform.free = True
    platform.start("e", [1, 2])
    first, second = platform.sent[:2]
    platform.deliver(first)
    platform.deliver(second)
    for event in (each for each in platform.sent if each.state == "B"):
        assert take_over.planned_event(platform.runtime(), event, event.routes).input == event.input
