"""Every function is killed again and again while executions run: the history has one cause and one end for everything.

`python -m tests.e2e.chaos` plays the same with a thousand executions.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.chaos import regions
from tests.e2e.chaos.judge import WORKFLOWS, Judgement, judge
from tests.e2e.chaos.play import Play
from tests.e2e.conftest import Deployment, until
from tests.history.check import Violation
from tests.history.record import read
from tests.patience import PATIENCE_S
from unum_runtime.errors import ExecutionDoesNotExist
from unum_runtime.model.checkpoint import Status

EXECUTIONS = 40
"""A thousand in `make simulate`."""

REGIONS = 10
"""Executions of a region with six Tasks and a wave with six more; `tests.e2e.chaos.regions` plays hundreds."""

OBJECTS = 9
"""Executions with their state in S3, with a Map of up to 8 items each."""

CALLS = 9
"""Executions that call a function of Node.js, with a Map of up to 8 items each."""

FOUND = {
    "second-outcome": "a second outcome",
    "foreign-name": "a foreign commit",
    "early-event": "an event is sent before its cause",
    "second-end": "a second outcome",
    "after-the-end": "more after the end",
    "run-again": "user code after the outcome",
    "other-input": "two inputs",
    "mixed": "a value of nobody",
    "silent": "an event ends in silence",
}
"""Rule that finds each variant of a broken runtime, by the name of its execution."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(2 * PATIENCE_S)]


@pytest.fixture(scope="module")
def play(deployment: Deployment) -> Play:
    """A chaos run whose executions have ended, or stand still."""
    notes = deployment.table("Chaos", "NotesTable")
    played = Play(deployment.client("Chaos"), deployment.session, notes, silent_s=12, sweep_every_s=10)
    played.run(EXECUTIONS, prefix="chaos", timeout_s=PATIENCE_S)
    return played


@pytest.fixture(scope="module")
def judged(deployment: Deployment, play: Play, history: Path) -> Judgement:
    return judge(history, deployment.outputs["Chaos"], play.results, *WORKFLOWS)


@pytest.fixture(scope="module")
def broken(deployment: Deployment, history: Path) -> Mapping[str, list[Violation]]:
    """Return the checker's findings about executions of broken runtimes, by execution."""
    client = deployment.client("Chaos", "Broken")
    for name in (*FOUND, "well"):
        client.start({"n": 1, "stamp": "none"}, name=name)
    until(lambda: is_over(history))
    found: dict[str, list[Violation]] = {name: [] for name in (*FOUND, "well")}
    for violation in judge(history, deployment.outputs["Chaos"], {}, "Broken").violations["Broken"]:
        assert violation.place is not None, violation
        found[violation.place.name].append(violation)
    return found


def is_over(history: Path) -> bool:
    """Return True if user code has run in every execution of a broken runtime, as often as it will."""
    lines = read(history)
    events = {line["delivery"]: json.dumps(line["event"]) for line in lines if line["what"] == "begun"}
    ended = [events[line["delivery"]] for line in lines if line["what"] == "ended"]
    most = {name: sum(f'"{name}"' in event for event in ended) for name in (*FOUND, "well")}
    return all(most[name] >= (3 if name in ("run-again", "other-input") else 2) for name in most)


def test_every_execution_ends_without_a_hand_and_with_the_right_result(play: Play) -> None:
    assert play.running == [], "these stand still"
    assert [*play.wrong()] == []
    assert Counter(seen.status for seen in play.ended.values())[Status.SUCCEEDED] > len(play.ended) * 0.7


def test_history_has_one_cause_for_each_outcome_and_one_end_per_execution(judged: Judgement) -> None:
    assert not any(judged.violations.values()), judged.story()
    assert judged.still == []


def test_enough_died_to_prove_anything(play: Play, judged: Judgement) -> None:
    assert judged.kills.total() >= EXECUTIONS // 3, judged.kills
    assert judged.kills["task"] > EXECUTIONS // 5
    for request in ("stop", "redrive", "fork", "sweep"):
        assert play.asked[request], f"nobody asked for a {request}"


def test_regions_and_waves_end_with_the_results_of_all_that_they_wait_for(
    deployment: Deployment, history: Path
) -> None:
    outputs = regions.play(deployment.client("Chaos", "Region"), REGIONS, PATIENCE_S)
    assert outputs == regions.expected(REGIONS)
    assert judge(history, deployment.outputs["Chaos"], {}, "Region").violations == {"Region": []}
    assert regions.ends(history)["killed"] >= REGIONS // 2


def test_executions_with_their_state_in_s3_end_with_the_right_results(deployment: Deployment, history: Path) -> None:
    client = deployment.client("Chaos", "Objects")
    outputs = regions.play(client, OBJECTS, PATIENCE_S)
    assert outputs == {f"region-{n}": sum(number * number for number in range(n)) for n in range(OBJECTS)}
    assert regions.ends(history, "Objects")["killed"] >= OBJECTS // 4
    judged = judge(history, deployment.outputs["Chaos"], {}, "Objects")
    assert judged.violations == {"Objects": []}, judged.story()
    commits = judged.found["Objects"].commits
    assert sum(bool(place.frames) for place in commits) >= sum(range(OBJECTS)), "the history has what S3 has"
    assert {each.name for each in client.list(limit=100).executions} == outputs.keys()
    regions.insist(client.delete_execution, "region-8")
    with pytest.raises(ExecutionDoesNotExist, match="was deleted"):
        regions.insist(client.describe, "region-8")


@pytest.mark.parametrize(("name", "rule"), FOUND.items())
def test_a_broken_runtime_is_found(broken: Mapping[str, list[Violation]], name: str, rule: str) -> None:
    assert rule in {violation.rule for violation in broken[name]}, broken[name]


def test_the_same_runtime_without_a_mistake_has_no_violation(broken: Mapping[str, list[Any]]) -> None:
    assert broken["well"] == []


def test_dying_functions_of_node_are_repeated_and_answers_count_once(deployment: Deployment, history: Path) -> None:
    outputs = regions.play(deployment.client("Chaos", "Called"), CALLS, PATIENCE_S)
    assert outputs == {f"region-{n}": sum(number * number for number in range(n)) for n in range(CALLS)}
    begun = (line for line in read(history) if line["what"] == "begun" and "Chaos-Called" in line["function"])
    assert sum('"tries"' in json.dumps(line["event"]) for line in begun) >= CALLS // 3, "a function of Node seldom died"
    judged = judge(history, deployment.outputs["Chaos"], {}, "Called")
    assert judged.violations == {"Called": []}, judged.story()
    assert judged.kills["service function"] > 0
