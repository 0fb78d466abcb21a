"""History of a region: its nodes in the order of their causes, and pending ones."""

import pytest

from tests.unit.protocol.platform import Platform
from unum_client.events.history_events import events
from unum_client.reading import stored_steps
from unum_client.reading.progress import Reach, progress
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.control.nudge import missing

FLOW = g.task("start") >> g.dag(
    {
        "a": g.task("a"),
        "b": g.task("b").after("a"),
        "c": g.task("c").after("a"),
        "d": g.task("d").after("b", "c"),
        "e": g.task("e").after("c"),
    }
)


def begun(*states: str, collection: Collection = Collection.TTL) -> Platform:
    """Return a platform on which the Tasks `states` have ended, one second after the other."""
    functions = {state: lambda event, state=state: [state, event] for state in ("start", *"abcde")}
    platform = Platform(Definition.from_graph(FLOW).compile("w", None), functions, collection=collection)  # type: ignore[arg-type]
    platform.start("e", 1)
    for state in states:
        platform.clock.pass_seconds(1)
        platform.deliver(next(event for event in platform.sent if event.state == state))
    return platform


def committed(platform: Platform) -> list[Checkpoint]:
    return [stored_steps.start_record(platform.memory, "w", "e"), *platform.steps()]


def reaches(platform: Platform) -> dict[str, Reach]:
    return {name: each.reach for name, each in progress(platform.workflow, committed(platform)).items()}


def test_a_node_that_waits_for_a_result_is_not_reached() -> None:
    assert {name for name, reach in reaches(begun("a", "c")).items() if reach is Reach.RUNNING} == {"b", "dag", "e"}
    assert reaches(begun("a", "c"))["d"] is Reach.NOT_REACHED
    assert {*reaches(begun(*"acbed")).values()} == {Reach.SUCCEEDED}


def test_what_is_missing_are_the_nodes_whose_sources_have_ended() -> None:
    def waited(*states: str) -> list[str]:
        platform = begun(*states)
        return [each.state for each in missing(platform.runtime(), "e")]

    assert waited() == ["a"]
    assert waited("a", "c") == ["b", "e"]
    assert waited("a", "c", "b") == ["d", "e"]


def test_the_last_source_is_the_cause_of_a_node() -> None:
    platform = begun(*"acbed")
    reply = events(platform.workflow, committed(platform), now_ms=platform.clock.ms)
    entered = {each["stateEnteredEventDetails"]["name"]: each for each in reply if "stateEnteredEventDetails" in each}
    exits = {each["id"]: each["stateExitedEventDetails"]["name"] for each in reply if "stateExitedEventDetails" in each}
    causes = {name: exits.get(each["previousEventId"]) for name, each in entered.items()}
    assert {name: causes[name] for name in "bcde"} == {"b": "a", "c": "a", "d": "b", "e": "c"}
    assert entered["d"]["stateEnteredEventDetails"]["input"].startswith('{"b":["b",')


@pytest.mark.parametrize("states", ["acbed", "ab"])
def test_a_region_under_eager_collection_is_told_as_far_as_it_is_known(states: str) -> None:
    platform = begun(*states, collection=Collection.EAGER)
    reply = events(platform.workflow, committed(platform), now_ms=platform.clock.ms)
    entered = [each["stateEnteredEventDetails"]["name"] for each in reply if "stateEnteredEventDetails" in each]
    assert {*entered} == {"start", "dag", *("abcde" if len(states) == 5 else "abc")}
