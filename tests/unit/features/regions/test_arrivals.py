"""Nodes of a region begin with the results of their sources: what each costs, reads, and refuses."""

import pytest

from tests.unit.protocol.platform import Function, Platform, exactly
from unum_compiler import graph as g
from unum_constructs import Definition
from unum_runtime.errors import InconsistentHistory, StoreError
from unum_runtime.features.regions.arrivals import end_node, end_nodes_again, set_keys
from unum_runtime.model.checkpoint import Ending, Status, Success
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import Name, Scope, checkpoint_key, completion_key
from unum_runtime.protocol.delivery.ingress import read_committed
from unum_runtime.protocol.planning.plan import CompleteBranch, plan

FLOW = g.dag(
    {
        "a": g.task("a"),
        "b": g.task("b"),
        "ab": g.task("ab").after("a", "b"),
        "next": g.task("next").after("a"),
    }
)
A, B, AB, NEXT = range(4)


def ended(*states: str) -> Platform:
    """Return a platform on which the nodes `states` have ended, in this order."""
    functions: dict[str, Function] = {}
    for state in ("a", "b", "ab", "next"):
        functions[state] = lambda event, state=state: f"{state} of {event}"  # type: ignore[misc]
    platform = Platform(Definition.from_graph(FLOW).compile("w", None), functions)
    platform.start("e", "x")
    for state in states:
        platform.deliver(event_of(platform, state))
    return platform


def test_a_region_is_complete_whichever_end_is_added_last_again() -> None:
    platform = ended("a", "b", "ab", "next")
    ends = [end_of(platform, node) for node in (AB, NEXT, B, A)]
    assert end_nodes_again(platform.runtime(), scope_of(platform), ends)
    assert not end_nodes_again(ended("a", "b", "ab").runtime(), scope_of(platform), ends[2:])


def event_of(platform: Platform, state: str) -> Envelope:
    return next(event for event in platform.sent if event.state == state)


def scope_of(platform: Platform) -> Scope:
    event = platform.sent[0]
    return Scope.around(event.name.execution, event.name.frames)


def end_of(platform: Platform, node: int) -> CompleteBranch:
    scope = scope_of(platform)
    name = Name(scope.execution, scope.branch(node), 0)
    checkpoint = read_committed(platform.runtime(), name, ("a", "b", "ab", "next")[node])
    assert checkpoint is not None
    end = plan(platform.workflow, checkpoint)
    assert isinstance(end, CompleteBranch)
    return end


def states_of(platform: Platform) -> list[str]:
    return [event.state for event in platform.sent]


def test_nodes_without_sources_begin_and_others_after_their_sources() -> None:
    assert states_of(ended()) == ["a", "b"]
    assert states_of(ended("a")) == ["a", "b", "next"]
    assert states_of(ended("a", "b")) == ["a", "b", "next", "ab"]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_node_gets_the_results_of_its_sources_by_name(order: str) -> None:
    entered = event_of(ended(*order), "ab").input
    assert isinstance(entered, Value)
    assert entered.value == {"a": "a of x", "b": "b of x"}


def test_a_second_delivery_of_the_last_source_begins_the_node_again() -> None:
    platform = ended("b", "a")
    platform.deliver(event_of(platform, "a"))
    first, again = [event for event in platform.sent if event.state == "ab"]
    assert first == again


def test_a_node_with_one_source_costs_no_write() -> None:
    platform = ended("a")
    assert set_keys(platform.runtime(), scope_of(platform), [NEXT, A]) == [
        *platform.memory._sets,
        completion_key("w", scope_of(platform), 0),
    ]
    assert not set_keys(platform.runtime(), scope_of(platform), [])


def test_the_results_of_both_sinks_are_the_output() -> None:
    platform = ended("a", "b", "next", "ab")
    both = {"ab": "ab of {'a': 'a of x', 'b': 'b of x'}", "next": "next of {'a': 'a of x'}"}
    assert platform.ending() == Ending(Status.SUCCEEDED, Success(both))


def test_a_result_that_is_gone_is_named() -> None:
    platform = ended("a")
    scope = scope_of(platform)
    name = Name(scope.execution, scope.branch(A), 0)
    b = ended("a", "b")
    end = end_of(b, B)
    del platform.memory._items[checkpoint_key("w", name)]
    said = f"{name}: the checkpoint of a node that has ended is missing; has it expired?"
    with pytest.raises(StoreError, match=exactly(said)):
        end_node(platform.runtime(), scope, end)


def test_sets_are_filled_again_without_an_event() -> None:
    platform = ended("a", "b", "next", "ab")
    sets, sent = dict(platform.memory._sets), len(platform.sent)
    platform.memory._sets.clear()
    ends = [end_of(platform, node) for node in (A, B, AB, NEXT)]
    assert not end_nodes_again(platform.runtime(), scope_of(platform), ends[:3])
    assert end_nodes_again(platform.runtime(), scope_of(platform), ends[3:])
    assert platform.memory._sets.keys() == sets.keys()
    assert len(platform.sent) == sent


def test_what_is_no_end_is_an_error() -> None:
    platform = ended("a", "b")
    scope, end = scope_of(platform), end_of(platform, B)
    name = Name(scope.execution, scope.branch(A), 0)
    key = checkpoint_key("w", name)
    item, expires_at_s = platform.memory._items[key]
    platform.memory._items[key] = ({**item, "phase": "entered"}, expires_at_s)
    with pytest.raises(InconsistentHistory, match="expected the end of a node of 'dag'"):
        end_node(platform.runtime(), scope, end)
