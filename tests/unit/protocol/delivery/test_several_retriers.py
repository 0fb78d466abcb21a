"""A state that two of its retriers try again: each try has a number, a job and a token of its own."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import asking
from tests.unit.protocol.job_platform import watching
from tests.unit.protocol.map_platform import deliver_all, deployed, mapped, result
from tests.unit.protocol.platform import chain
from unum_runtime.model.checkpoint import TOMBSTONE, Failure
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.runtime import Call

RETRY = [{"ErrorEquals": [error], "IntervalSeconds": 1, "MaxAttempts": 1} for error in ("One", "Two")]


class One(Exception):
    """Makes the first retrier try again."""


class Two(Exception):
    """Makes the second retrier try again."""


def flaky() -> Callable[[Any], Any]:
    """Return a function that fails with both errors before it succeeds."""
    outcomes = iter((One(), Two(), "done"))

    def run(_event: Any) -> Any:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return run


def test_task_counts_its_tries_over_both_retriers() -> None:
    count = {"Arguments": "{% $states.context.State.RetryCount %}", "QueryLanguage": "JSONata"}
    platform, run, events = deployed(chain("A", A={"Retry": RETRY, **count})), flaky(), []
    attempts: list[int] = []
    call = platform._call

    def reply(asked: Call, event: Any) -> Any:
        attempts.append(asked.attempt)
        events.append(event)
        return call(asked, event)

    vars(platform)["_call"] = reply
    platform.functions["A"] = run
    platform.start("e")
    deliver_all(platform)
    assert (result(platform), attempts, events) == ("done", [0, 1, 2], [0, 1, 2])
    assert platform.steps()[-1].attempt == 2


@pytest.mark.parametrize("collection", Collection)
def test_each_try_has_a_job_of_its_own(collection: Collection) -> None:
    platform = watching(task={"Retry": RETRY}, collection=collection)
    call = platform._call

    def fails_twice(asked: Call, event: Any) -> Any:
        found = call(asked, event)
        if found in ("job 1", "job 2"):
            raise (One if found == "job 1" else Two)
        return found

    vars(platform)["_call"] = fails_twice
    platform.start("e")
    platform.pass_time(1000)
    assert (result(platform), len(platform.started)) == ("job 3", 3)
    assert platform.stored() == [] or collection is Collection.TTL


@pytest.mark.parametrize("collection", Collection)
def test_each_try_has_a_token_of_its_own(collection: Collection) -> None:
    asked = asking(Retry=RETRY)
    asked.platform.collection = collection
    asked.begun()
    for error in ("One", "Two"):
        asked.answered(asked.tokens[-1], Failure(error, None))
        asked.pass_time(5)
    assert len(asked.tokens) == len(set(asked.tokens)) == 3
    asked.answered(asked.tokens[-1], "yes")
    assert result(asked.platform) == "yes"
    stored = [item for key, (item, _) in asked.platform.memory._items.items() if key.partition.startswith("token:")]
    left = [item for item in stored if TOMBSTONE not in item]
    assert len(stored) == 6
    assert left == ([] if collection is Collection.EAGER else stored)


@pytest.mark.parametrize("collection", Collection)
def test_each_try_of_a_map_has_branches_of_its_own(collection: Collection) -> None:
    platform = deployed(mapped("A", after="B", Retry=RETRY), A=flaky())
    platform.collection = collection
    platform.start("e", [1])
    deliver_all(platform)
    assert result(platform) == ["done"]
    assert platform.calls == {"A": 3, "B": 1}
