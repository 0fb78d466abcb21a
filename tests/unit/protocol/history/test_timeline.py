"""Timeline of an execution's commits: versions, neighbours, and causes of redrives."""

from typing import Any

import pytest

from tests.unit.client.test_region_history import begun as of_region
from tests.unit.protocol.control.test_definition_match import choosing, failed, on_new
from tests.unit.protocol.map_platform import mapped
from tests.unit.protocol.platform import Platform, chain
from unum_client.reading.stored_steps import start_record
from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Phase, Success
from unum_runtime.model.naming import Frame, Name
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.timeline import Timeline, entered_state, following, is_success
from unum_runtime.protocol.planning.plan import Invoke, JoinNeighbour, OpenScope


def passed(event: Any) -> Any:
    return event


def ended(*states: str) -> tuple[Platform, list[Checkpoint]]:
    """Return a platform on which a chain has ended, and its commits."""
    platform = Platform.of(chain(*states), None, **dict.fromkeys(states, passed))
    platform.run("e", 1)
    return platform, [start_record(platform.memory, "w", "e"), *platform.steps()]


def test_a_start_has_the_version_of_the_first_step() -> None:
    platform, commits = ended("A", "B")
    later = compile_workflow(chain("A", "C"), name="w", functions=["A", "C"])
    timeline = Timeline(later, commits, [platform.workflow])
    assert [timeline.version_of(each) for each in commits] == [platform.workflow] * 3
    assert Timeline(later, commits[:1]).version_of(commits[0]) is later


def test_commits_are_sorted_by_step_in_whatever_order_they_are_read() -> None:
    platform, commits = ended("A", "B")
    timeline = Timeline(platform.workflow, reversed(commits))
    assert [*timeline.top_level] == commits
    assert [timeline.after(each.name) for each in commits] == [*commits[1:], None]
    assert timeline.last(()) == commits[-1]


def test_the_latest_time_is_that_of_the_last_commit() -> None:
    platform, commits = ended("A", "B")
    later = replace(commits[-1], committed_ms=commits[0].committed_ms + 5)
    assert Timeline(platform.workflow, [*commits[:-1], later]).latest_ms == commits[0].committed_ms + 5


def test_a_commit_is_followed_by_the_next_of_its_branch_alone() -> None:
    platform, commits = ended("A", "B")
    timeline = Timeline(platform.workflow, commits)
    assert [timeline.after(each.name) for each in commits] == [*commits[1:], None]
    assert timeline.after(Name(commits[0].name.execution, (Frame("M", 1, 0, 0, 1),), 1)) is None


@pytest.mark.parametrize(
    ("phase", "outcome", "is_proof"),
    [
        (Phase.LEFT, Success(1), True),
        (Phase.LEFT, Collected(None), True),
        (Phase.LEFT, Failure("E", None), False),
        (Phase.LEFT, Collected(Failure("E", None)), False),
        (Phase.ENTERED, Success(1), True),
        (Phase.ENTERED, Collected(None), False),
    ],
)
def test_a_commit_proves_the_success_of_its_state(phase: Phase, outcome: Any, *, is_proof: bool) -> None:
    _, commits = ended("A")
    assert is_success(replace(commits[1], phase=phase, outcome=outcome)) is is_proof


def test_a_redrive_of_a_stopped_execution_enters_its_state_at_once() -> None:
    platform = Platform.of(chain("A", "B"), A=passed, B=passed)
    platform.start("e", 1)
    stop(platform.runtime(), platform.steps()[0].name.execution, Failure("Stopped", None))
    platform.sent.clear()
    redrive(platform.runtime(), "e")
    commits = [start_record(platform.memory, "w", "e"), *platform.steps()]
    assert [each.is_stop for each in commits] == [False, False, True, False]
    assert Timeline(platform.workflow, commits).way_to(commits[-1]) is None


def test_redrive_that_mends_a_failure_of_a_state_follows_the_failed_step() -> None:
    old = failed(choosing(limit=9), 5)
    new = on_new(old, choosing(limit=3))
    commits = [start_record(new.memory, "w", "e"), *new.steps()]
    redriven = next(each for each in commits if each.digest == new.workflow.digest)
    led = Timeline(new.workflow, commits, [old.workflow]).way_to(redriven)
    assert led is not None
    assert entered_state(led.effect) == redriven.state


def test_a_redrive_that_mends_the_first_state_comes_from_the_start() -> None:
    old = failed(mapped("A", ItemsPath="$.items"), {"list": [1]})
    new = on_new(old, mapped("A", ItemsPath="$.list"))
    commits = [start_record(new.memory, "w", "e"), *new.steps()]
    redriven = next(each for each in commits if each.digest == new.workflow.digest)
    led = Timeline(new.workflow, commits, [old.workflow]).way_to(redriven)
    assert led is not None
    assert led.effect.name == Name(commits[0].name.execution, (), 1)


def test_a_redrive_on_the_failed_version_enters_the_state_at_once() -> None:
    platform, (start, first, last) = ended("A", "B")
    newer = compile_workflow(chain("A", "B", "C"), name="w", functions=["A", "B", "C"])
    own = replace(last, digest=newer.digest)  # of a fork: the step before it is a copy
    again = replace(own, name=replace(last.name, step=3), phase=Phase.ENTERED, outcome=Success(1), ending=None)
    assert Timeline(newer, [start, first, own, again], [platform.workflow]).way_to(again) is None


def test_a_collected_step_leads_nowhere() -> None:
    platform, commits = ended("A", "B")
    newer = compile_workflow(chain("A", "B", "C"), name="w", functions=["A", "B", "C"])
    kept = [replace(each, outcome=Collected(None)) for each in commits]
    name = replace(commits[-1].name, step=3)
    entered = replace(commits[-1], name=name, state="C", phase=Phase.ENTERED, digest=newer.digest, ending=None)
    assert Timeline(newer, [*kept, entered], [platform.workflow]).way_to(entered) is None


def test_a_node_without_the_results_that_it_needs_has_no_begin() -> None:
    platform = of_region("a")
    commits = [start_record(platform.memory, "w", "e"), *platform.steps()]
    timeline = Timeline(platform.workflow, commits)
    opened = following(platform.workflow, timeline.top_level[1]).effect
    assert isinstance(opened, OpenScope)
    begins = [timeline.branch_begin(opened, node) for node in range(5)]
    assert [each is not None for each in begins] == [True, True, True, False, False]


def test_an_arrival_that_waits_for_no_result_stays_what_it_is() -> None:
    flow = g.map(g.task("A") >> g.task("B").meets_previous(), items=g.out)
    platform = Platform(Definition.from_graph(flow).compile("w", None), {"A": passed, "B": passed})
    platform.start("e", [1, 2])
    platform.deliver(platform.sent.pop())
    timeline = Timeline(platform.workflow, [start_record(platform.memory, "w", "e"), *platform.steps()])
    (branch,) = (each for each in platform.steps() if each.name.frames)
    effect = following(platform.workflow, branch).effect
    assert isinstance(effect, JoinNeighbour)
    assert timeline.joined(effect) is effect


def test_a_wave_inside_of_a_branch_joins_results_of_that_branch() -> None:
    wave = g.map(g.task("A") >> g.task("B").after_previous("A"), items=g.out, name="wave")
    flow = g.map(wave, items=g.out)
    functions = {"A": passed, "B": lambda both: [both["previous"], both["own"]]}
    platform = Platform(Definition.from_graph(flow).compile("w", None), functions)
    platform.start("e", [[1, 2], [3, 4]])
    platform.deliver_all()
    timeline = Timeline(platform.workflow, [start_record(platform.memory, "w", "e"), *platform.steps()])
    (arrived,) = (
        each for each in platform.steps() if each.state == "A" and [f.index for f in each.name.frames] == [1, 1]
    )
    begins = timeline.joined(following(platform.workflow, arrived).effect)
    assert isinstance(begins, Invoke)
    assert begins.input.own().value == {"own": 4, "previous": 3}
    assert timeline.joined(begins) is begins
