"""Redrive and fork of a wide Map, while the function that copies its results is killed again and again."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.chaos.judge import Judgement, judge, kind_of
from tests.e2e.conftest import Deployment
from tests.history.check import Findings
from tests.history.places import Place
from unum_client import Client
from unum_runtime.errors import InvokeError
from unum_runtime.model.checkpoint import Status

BRANCHES = int(os.environ.get("UNUM_BRANCHES", "300"))
"""In `make endurance` 2,000."""
BROKEN = (BRANCHES - 2, BRANCHES)
"""The last ones: branches that have not begun when one fails never run, and would not be copied."""
PATIENCE_S = 1200
TOTAL = sum(n**2 for n in range(1, BRANCHES + 1))

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(3 * PATIENCE_S)]


@dataclass(frozen=True)
class Recovery:
    """Recovered history, and the number of repeats of each request whose function died."""

    judged: Judgement
    repeats: dict[str, int]

    @property
    def found(self) -> Findings:
        return self.judged.found["Wide"]

    def copies(self, execution: str) -> list[Place]:
        return [place for place in self.found.copies if place.name == execution and place.frames]


@pytest.fixture(scope="module")
def recovery(deployment: Deployment, history: Path) -> Recovery:
    client = deployment.client("Chaos", "Wide")
    client.start({"items": [*range(1, BRANCHES + 1)], "broken": [*BROKEN], "kind": "wide"}, name="wide")
    assert client.wait("wide", timeout_s=PATIENCE_S).status is Status.FAILED
    outputs = deployment.outputs["Chaos"]
    wait_for_rest(history)
    deployment.table("Chaos", "NotesTable").put_item(Item={"key": "mended wide"})
    repeats = {"redrive": insist(lambda: client.redrive("wide"))}
    assert_right(client, "wide")
    repeats["fork"] = insist(lambda: client.fork("wide", from_node="Join", new_name="wide-fork"))
    assert_right(client, "wide-fork")
    results = {name: ("SUCCEEDED", client.describe(name).output) for name in ("wide", "wide-fork")}
    return Recovery(judge(history, outputs, results, "Wide"), repeats)


def wait_for_rest(history: Path) -> None:
    """Wait until branches that had begun before the failure have committed, too."""
    seen = -1
    while seen != (seen := history.stat().st_size):
        time.sleep(5)


def insist(request: Callable[[], object]) -> int:
    """Repeat a request until it is answered; return the number of times that its function died."""
    for repeats in range(BRANCHES):
        try:
            request()
        except InvokeError:
            continue
        return repeats
    raise AssertionError("never answered")


def assert_right(client: Client, name: str) -> None:
    ended = client.wait(name, timeout_s=PATIENCE_S)
    assert (ended.status, ended.output and ended.output["total"]) == (Status.SUCCEEDED, TOTAL)


def test_copies_are_made_once_whatever_dies(recovery: Recovery) -> None:
    copied = {name: recovery.copies(name) for name in ("wide", "wide-fork")}
    first = [
        place
        for place in recovery.found.commits
        if place.name == "wide" and place.frames[:1] and place.frames[0][1] == 2
    ]
    succeeded = [place for place in first if recovery.found.commits[place].is_success]
    assert len(copied["wide"]) == len(succeeded) > BRANCHES * 0.8
    assert len(copied["wide-fork"]) == len(first) + BRANCHES, "the failed Map and the redriven one"
    assert made_twice(recovery.found, [*copied["wide"], *copied["wide-fork"]]) == []


def made_twice(found: Findings, places: Sequence[Place]) -> list[Place]:
    return [place for place in places if found.attempts[place] > 1]


def test_nothing_else_runs_again(recovery: Recovery) -> None:
    lines = recovery.judged.lines
    runs = [str((line.get("after") or {}).get("ran", "")) for line in lines if line["what"] == "write"]
    again = [run for run in runs if run.startswith("wide:") and "/Each@4." in run]
    assert len({*again}) == BRANCHES - len(recovery.copies("wide")), "what has succeeded does not run again"


def test_the_history_has_no_violation(recovery: Recovery) -> None:
    assert recovery.judged.violations["Wide"] == [], recovery.judged.story()
    assert recovery.judged.still == []


def test_the_function_that_copies_died_often(recovery: Recovery) -> None:
    assert recovery.repeats["redrive"] + recovery.repeats["fork"] >= BRANCHES // 100
    functions = {line["delivery"]: line["function"] for line in recovery.judged.lines if line["what"] == "begun"}
    killed = [functions[line["delivery"]] for line in recovery.judged.lines if line.get("result") == "killed"]
    assert sum("Wide" in function and kind_of(function) != "task" for function in killed) >= BRANCHES // 100
