"""Joins of fan-outs with too few results: they fail loudly, and commit nothing."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.map_platform import Mortal, around, deliver_all, deployed, mapped
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_compiler import graph as g
from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition as Source
from unum_compiler.options import FunctionOptions
from unum_constructs import Definition
from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import TOMBSTONE, Status, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Scope, checkpoint_key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.delivery.join import join_results
from unum_runtime.protocol.planning.advance import exceeded
from unum_runtime.protocol.planning.evaluation import timestamp


def echo(event: Any) -> Any:
    return event


def fails(event: Any) -> Any:
    raise ValueError(event)


def completed(platform: Platform, value: Any) -> tuple[Platform, Scope, Envelope]:
    """Return the platform, the scope and the event of the join of an execution whose branches have ended."""
    platform.start("e", value)
    scope = Scope.around(platform.sent[0].name.execution, platform.sent[0].name.frames)
    while platform.sent[0].name.frames:
        platform.deliver(platform.sent.pop(0))
    return platform, scope, platform.sent[0]


def lose(platform: Platform, scope: Scope, index: int) -> None:
    name = replace(scope.join, frames=scope.branch(index), step=0)
    del platform.memory._items[checkpoint_key("w", name)]


@pytest.mark.parametrize("index", [0, 2])
def test_a_branch_without_a_result_is_named(index: int) -> None:
    plain = Platform.of(mapped("A", after="B"), A=lambda event: event, B=lambda event: event)
    platform, scope, event = completed(plain, [1, 2, 3])
    lose(platform, scope, index)
    said = f"{scope.join}: expected 3 results of 'M', but branch {index} has none"
    with pytest.raises(InconsistentHistory, match=exactly(said)):
        platform.deliver(event)
    assert platform.ending() is None


def quorum_of_two() -> tuple[Platform, Scope]:
    flow = g.map(g.task("half"), items=g.out).quorum(2)
    platform = Platform(Definition.from_graph(flow).compile("w", None), {"half": lambda n: n / 2})
    platform.start("e", [2, 4, 6])
    scope = Scope.around(platform.sent[0].name.execution, platform.sent[0].name.frames)
    return platform, scope


def test_a_quorum_without_enough_results_is_an_error() -> None:
    platform, scope = quorum_of_two()
    platform.deliver(platform.sent[2])
    said = f"{scope.join}: expected 2 results of {scope.state!r}, found 1"
    with pytest.raises(InconsistentHistory, match=exactly(said)):
        join_results(platform.runtime(), scope)


def test_a_quorum_joins_its_results_in_the_order_of_branches() -> None:
    platform, scope = quorum_of_two()
    for index in (2, 0):
        platform.deliver(platform.sent[index])
        platform.clock.pass_seconds(1)
    outcome = join_results(platform.runtime(), scope).outcome
    assert outcome.value == [1, 3]


@pytest.mark.parametrize(("ended", "joined"), [((2, 0, 1), [1, 3]), ((2, 1, 0), [2, 3]), ((1, 0, 2), [1, 2])])
def test_quorum_joins_its_earliest_results_alone(ended: tuple[int, ...], joined: list[int]) -> None:
    """Deliveries die before they join, until more branches than the quorum have ended; every join takes the same."""
    platform, scope = quorum_of_two()
    for index in ended:
        platform.store = Mortal(platform.memory, writes=2)
        with suppress(ConnectionError):
            platform.deliver(platform.sent[index])
        platform.clock.pass_seconds(1)
    platform.store = platform.memory
    outcome = join_results(platform.runtime(), scope).outcome
    assert outcome.value == joined


def test_a_branch_that_has_not_ended_is_named() -> None:
    plain = Platform.of(mapped("A", "D", after="B"), None, **dict.fromkeys("ABD", echo))
    platform, scope, event = completed(plain, [1, 2])
    del platform.memory._items[checkpoint_key("w", replace(scope.join, frames=scope.branch(1), step=1))]
    said = f"{scope.join}: expected 2 results of 'M', but branch 1 has none"
    with pytest.raises(InconsistentHistory, match=exactly(said)):
        platform.deliver(event)


def test_a_quorum_fails_when_too_many_branches_have_failed() -> None:
    flow = g.map(g.task("half"), items=g.out).quorum(2)
    platform = Platform(Definition.from_graph(flow).compile("w", None), {"half": fails})
    platform.start("e", [2, 4, 6])
    platform.deliver(platform.sent.pop(0))
    assert platform.ending() is None
    platform.deliver(platform.sent.pop(0))
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.FAILED


def test_branch_without_retrier_or_catcher_fails_its_fan_out_without_read() -> None:
    platform = Platform.of(mapped("A", "D"), {"D": FunctionOptions(guard=Guard.COMMIT)}, A=echo, D=fails)
    platform.start(value=[1])
    platform.deliver(platform.sent.pop())
    platform.store = store = CountingStore(platform.memory)
    platform.deliver(platform.sent.pop())
    assert store.calls == {"create": 2}


CATCH = [{"ErrorEquals": ["States.ALL"], "Next": "B", "ResultPath": "$.error"}]
RETRY = [{"ErrorEquals": ["ValueError"], "IntervalSeconds": 1, "MaxAttempts": 1}]


@pytest.mark.parametrize("fields", [{"Catch": CATCH}, {"Retry": RETRY}, {"Retry": RETRY, "Catch": CATCH}, {}])
def test_a_fan_out_that_failed_is_collected(fields: dict[str, Any]) -> None:
    platform = deployed(mapped("A", "D", after="B", ItemsPath="$.all", **fields), D=fails)
    platform.collection = Collection.EAGER
    platform.start("e", {"all": [1, 2]})
    deliver_all(platform)
    inside = {key: item for key, (item, _) in platform.memory._items.items() if "/M" in key.partition}
    assert inside
    assert [key for key, item in inside.items() if TOMBSTONE not in item] == []


def distributed(**fields: Any) -> dict[str, Any]:
    definition = mapped("A", after="B", ItemsPath="$.all", **fields)
    definition["States"]["M"]["ItemProcessor"]["ProcessorConfig"] = {
        "Mode": "DISTRIBUTED",
        "ExecutionType": "STANDARD",
    }
    return definition


def odd(event: Any) -> Any:
    return fails(event) if event % 2 else event


@pytest.mark.parametrize(("n", "outcome"), [(1, Success([2])), (0, exceeded())])
def test_a_tolerance_is_read_from_the_input_of_the_map(n: int, outcome: Any) -> None:
    platform = deployed(distributed(ToleratedFailureCountPath="$.n"), A=odd)
    ending = platform.run("e", {"all": [1, 2], "n": n})
    assert ending is not None
    assert ending.outcome == outcome


@pytest.mark.parametrize("after", ["B", None])
def test_result_whose_data_flow_fails_is_caught_with_the_maps_input(after: str | None) -> None:
    catch = {**CATCH[0], "Next": "H"}
    selector = {"x.$": "States.StringToJson('{')"}
    definition = mapped("A", after=after, ItemsPath="$.all", ResultSelector=selector, Catch=[catch])
    definition["States"]["H"] = {"Type": "Pass", "OutputPath": "$.all", "End": True}
    platform = deployed(definition)
    ending = platform.run("e", {"all": [1, 2]})
    assert ending is not None
    assert ending.outcome == Success([1, 2])


def test_the_time_of_the_last_result_counts_whenever_it_is_joined() -> None:
    definition = mapped("A", after="B")
    definition["States"]["B"]["Parameters"] = {"at.$": "$$.State.EnteredTime"}
    platform, _, event = completed(Platform.of(definition, A=echo, B=echo), [1, 2])
    joined_ms = platform.clock.ms
    platform.clock.pass_seconds(10)
    platform.deliver(event)
    ending = platform.ending()
    assert ending is not None
    assert ending.outcome == Success({"at": timestamp(joined_ms)})


def test_join_has_the_time_of_the_last_result_of_all_branches() -> None:
    """Every delivery that joins plans the same, whichever branch it ended itself."""
    platform = deployed(mapped("A"))
    platform.start("e", [1, 2, 3])
    scope = Scope.around(platform.sent[0].name.execution, platform.sent[0].name.frames)
    ended_ms = []
    for index in (1, 2, 0):
        platform.clock.pass_seconds(5)
        ended_ms.append(platform.clock.ms)
        platform.deliver(platform.sent[index])
    platform.clock.pass_seconds(5)
    assert join_results(platform.runtime(), scope).as_of_ms == ended_ms[-1]


def test_each_branch_and_each_join_draws_random_numbers_of_its_own() -> None:
    draws = {"Type": "Pass", "Parameters": {"id.$": "States.UUID()"}, "End": True}
    inner = chain("A")
    inner["States"]["A"] = {"Type": "Task", "Resource": "A", "Next": "P"}
    inner["States"]["P"] = draws
    within = around(inner, ResultSelector={"ids.$": "$[*].id", "own.$": "States.UUID()"})
    within["StartAt"], within["States"] = "N", {"N": within["States"]["M"]}
    platform = Platform.of(around(within), A=echo)
    ending = platform.run("e", [[1, 2], [3, 4]])
    assert ending is not None
    assert isinstance(ending.outcome, Success)
    drawn = [each for joined in ending.outcome.value for each in (*joined["ids"], joined["own"])]
    assert len({*drawn}) == len(drawn) == 6


def test_strict_map_wider_than_its_branches_at_once_starts_them_all() -> None:
    """Its own limit admits all of them; Step Functions runs fewer."""
    definition = replace(Source.from_asl(mapped("A", MaxConcurrency=100)), compatibility=Compatibility.STRICT)
    platform = Platform(definition.compile("w", None), {"A": echo})
    ending = platform.run(value=[*range(60)])
    assert ending is not None
    assert ending.outcome == Success([*range(60)])
