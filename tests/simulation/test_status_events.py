"""Each change of an execution's status has one event, whoever dies between the commit and the bus."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.control_scenarios import FAILING
from tests.simulation.definitions import Graph
from tests.simulation.scenarios import scenario
from tests.simulation.test_task_tokens import GRAPHS as WAITING
from unum_runtime.features.status_events import announcements, status_events
from unum_runtime.features.status_events.status_events import Redriven, StatusEvents
from unum_runtime.protocol.control import stop
from unum_runtime.protocol.delivery import commit, ingress
from unum_runtime.protocol.planning.plan import Finish, effects_after
from unum_simulator import Faults, Invariant, Scenario, Violation, explore, search
from unum_simulator.surroundings import told_statuses as surroundings

CRASH = Faults(crashes=1, duplicates=0)
DUPLICATE = Faults(crashes=0, duplicates=1)
REFUSED = Faults(crashes=0, duplicates=0, throttles=1)
STOP_AND_CRASH = Faults(crashes=1, duplicates=0, stops=1)
LOST = Faults(crashes=0, duplicates=0, vanishes=1)
REDRIVE = Faults(crashes=1, duplicates=0, redrives=1)
REDRIVE_AND_REFUSE = Faults(crashes=0, duplicates=1, redrives=1, throttles=2)
HARSH = Faults(crashes=2, duplicates=1, throttles=2, losses=1, stops=1, concurrency=3)


def announced(graph: str, faults: Faults, **fields: Any) -> Scenario:
    if graph in WAITING:
        return of(WAITING[graph], faults)
    return scenario(graph, faults=faults, announces=True, **fields)


def of(graph: Graph, faults: Faults) -> Scenario:
    return Scenario(
        workflow=graph.workflow(), functions=graph.functions, input=graph.input, faults=faults, announces=True
    )


@pytest.mark.parametrize("faults", [CRASH, DUPLICATE, REFUSED, STOP_AND_CRASH, LOST])
@pytest.mark.parametrize("graph", ["chain", "diamond"])
def test_every_change_has_one_event_whatever_dies_where(graph: str, faults: Faults) -> None:
    assert explore(announced(graph, faults), max_states=2_000).states


@pytest.mark.parametrize("faults", [CRASH, LOST])
def test_starts_by_name_have_one_event(faults: Faults) -> None:
    assert explore(announced("chain", faults, by_client=True), max_states=2_000).states


def test_a_stop_that_dies_has_one_event_though_nothing_else_arrives() -> None:
    assert search(announced("for ever", STOP_AND_CRASH), range(200)).ends == 200


@pytest.mark.parametrize("graph", ["chain", "retry of a map", "limited map"])
def test_by_chance(graph: str) -> None:
    assert search(announced(graph, HARSH, tick_ms=1), range(15)).ends == 15


@pytest.mark.parametrize("graph", sorted(FAILING)[:2])
def test_redrives_are_told_of(graph: str) -> None:
    assert search(of(FAILING[graph], REDRIVE), range(15)).ends == 15


def before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """The end is put on the bus before it is committed; another end may win."""
    committing = commit._write

    def write(rt: Any, checkpoint: Any, following: Any, delivery: Any) -> Any:
        if checkpoint.ending is not None:
            rt.statuses.ended(rt, following, delivery.routes)
        return committing(rt, checkpoint, following, delivery)

    patch.setattr(commit, "_write", write)


def dies_in_between(patch: pytest.MonkeyPatch) -> None:
    """A delivery that finds the end committed puts no event: the one that committed it may have died before."""
    patch.setattr(ingress, "effects_after", lambda flow, known: _without_end(effects_after(flow, known)))


def _without_end(effects: list[Any]) -> list[Any]:
    return [effect for effect in effects if not isinstance(effect, Finish)]


def forgets_refusals(patch: pytest.MonkeyPatch) -> None:
    """An event that the bus refuses leaves no note."""
    patch.setattr(status_events, "_leave_note", lambda *_: None)


def stops_without_a_note(patch: pytest.MonkeyPatch) -> None:
    """A stop that dies after its commit leaves nothing that the sweep could find."""
    patch.setattr(surroundings, "statuses", lambda _, ports: StatusEvents(put=lambda entry, _: ports.announce(entry)))


def stops_say_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stop, "create", _without_statuses(stop.create))
    patch.setattr(StatusEvents, "before", lambda *_: None)
    patch.setattr(StatusEvents, "ended", _unless_stopped(StatusEvents.ended))


def _without_statuses(making: Callable[..., Any]) -> Callable[..., Any]:
    return lambda rt, record: making(replace(rt, statuses=None), record)


def _unless_stopped(reply: Callable[..., Any]) -> Callable[..., Any]:
    return lambda own, rt, end, routes: None if end.ending.status == "ABORTED" else reply(own, rt, end, routes)


def another_id_each_time(patch: pytest.MonkeyPatch) -> None:
    """The id depends on the delivery, so consumers cannot tell a repetition."""
    given = status_events.entry_of
    made = status_events.event_id
    deliveries: list[str] = [""]

    def entry_of(rt: Any, change: Any, record: Any) -> Any:
        deliveries[0] = rt.delivery
        return given(rt, change, record)

    patch.setattr(status_events, "entry_of", entry_of)
    patch.setattr(status_events, "event_id", lambda arn, change: made(f"{arn}{deliveries[0]}", change))


def nudges_say_nothing(patch: pytest.MonkeyPatch) -> None:
    """A start whose first event is lost goes on by a nudge, and nobody hears of it."""
    patch.setattr(announcements, "change_before", lambda _: None)


MISTAKES = {
    "before the commit": (before_the_commit, "chain", STOP_AND_CRASH, {}),
    "dies in between": (dies_in_between, "chain", CRASH, {}),
    "forgets refusals": (forgets_refusals, "chain", REFUSED, {}),
    "stops without a note": (stops_without_a_note, "for ever", STOP_AND_CRASH, {}),
    "stops say nothing": (stops_say_nothing, "chain", STOP_AND_CRASH, {}),
    "another id each time": (another_id_each_time, "chain", CRASH, {}),
    "nudges say nothing": (nudges_say_nothing, "chain", LOST, {"by_client": True}),
}


def forgets_redrives(patch: pytest.MonkeyPatch) -> None:
    """No event after a redrive tells of it, so its end looks like one of an execution that was never redriven."""
    patch.setattr(Redriven, "to_routes", lambda _: {})


def tells_of_later_redrives(patch: pytest.MonkeyPatch) -> None:
    """The sweep counts the redrives after an end as well."""
    counted = announcements.redrives_before
    patch.setattr(announcements, "redrives_before", lambda rt, execution, _: counted(rt, execution, 10**6))


REDRIVES = {
    "forgets redrives": (forgets_redrives, REDRIVE),
    "tells of later redrives": (tells_of_later_redrives, REDRIVE_AND_REFUSE),
}


@pytest.mark.parametrize("name", REDRIVES)
def test_a_mistake_about_redrives_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake, faults = REDRIVES[name]
    graph = min(FAILING)
    assert search(of(FAILING[graph], faults), range(200)).ends == 200
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        search(of(FAILING[graph], faults), range(200))
    assert found.value.invariant is Invariant.ANNOUNCED


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake, graph, faults, fields = MISTAKES[name]
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        search(announced(graph, faults, **fields), range(600))
    assert found.value.invariant is Invariant.ANNOUNCED
