"""Jobs whose arguments name the task token: the job's end or a response ends the Task, whichever comes first.

Source: LocalStack's recording of AWS, ``test_sync_with_task_token``, 2024-07-12.
"""

from contextlib import suppress
from typing import Any

import pytest

from tests.unit.protocol.job_platform import JOB, LOOK_S, Watching, watching
from tests.unit.protocol.map_platform import deliver, result
from unum_runtime.errors import RefusedDelivery, TaskTimedOut
from unum_runtime.model.checkpoint import TOMBSTONE, Failure, Success
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.control.platform_failure import fail_invocation
from unum_runtime.protocol.requests.respond import send_result
from unum_runtime.protocol.runtime import Call

NAMES_TOKEN = {"Parameters": {"TaskDefinition.$": "$$.Task.Token"}}
RETRY: dict[str, Any] = {"Retry": [{"ErrorEquals": ["Rejected"], "IntervalSeconds": 30, "MaxAttempts": 1}]}


def started(collection: Collection = Collection.TTL, **fields: Any) -> Watching:
    """Return a platform whose job has been started and is not polled yet."""
    platform = watching(task={**NAMES_TOKEN, **fields}, collection=collection)
    platform.begun()
    return platform


def respond(platform: Watching, outcome: Success | Failure, *, start: int = 0) -> None:
    """Respond with the token of the start with number `start`, and deliver what follows at once."""
    starts = [event["TaskDefinition"] for event in platform.events if set(event["TaskDefinition"]) != {"0"}]
    send_result(platform.runtime(), starts[start], outcome, "")
    platform.deliver_all()


def test_polls_evaluate_arguments_with_a_token() -> None:
    platform = started()
    platform.pass_time(600)
    assert (result(platform), len(platform.started), platform.looks) == ("job 1", 1, 3)


def test_polls_store_no_token() -> None:
    platform = started()
    writes = len(platform.memory._items)
    platform.pass_time(2 * LOOK_S)
    assert (platform.looks, len(platform.memory._items)) == (2, writes)


def test_service_gets_the_token_with_the_start_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    own, tokens = Watching._call, list[str]()

    def call(platform: Watching, asked: Call, event: Any) -> Any:
        if asked.resource is not None:
            tokens.append(asked.token)
        return own(platform, asked, event)

    monkeypatch.setattr(Watching, "_call", call)
    platform = started()
    platform.pass_time(2 * LOOK_S)
    assert [bool(token) for token in tokens] == [True, False, False]


@pytest.mark.parametrize("polls", [0, 1])
def test_response_ends_a_task_whose_job_runs(polls: int) -> None:
    platform = started()
    platform.pass_time(polls * LOOK_S)
    respond(platform, Success("response"))
    platform.pass_time(600)
    assert (result(platform), len(platform.started), platform.looks) == ("response", 1, polls)
    assert (platform.sent, platform.later) == ([], [])
    with pytest.raises(TaskTimedOut):
        respond(platform, Success("second"))


def test_response_after_the_end_of_a_job_is_refused() -> None:
    platform = started()
    platform.pass_time(600)
    with pytest.raises(TaskTimedOut):
        respond(platform, Success("late"))
    assert (result(platform), platform.sent, platform.later) == ("job 1", [], [])


def test_next_poll_continues_from_a_response_whose_event_was_lost() -> None:
    platform = started()
    token = platform.events[0]["TaskDefinition"]
    send_result(platform.runtime(), token, Success("response"), "")
    platform.sent.clear()
    platform.pass_time(600)
    assert (result(platform), len(platform.started), platform.looks) == ("response", 1, 0)


def test_failure_that_is_sent_is_retried_with_a_job_of_its_own() -> None:
    platform = started(**RETRY)
    respond(platform, Failure("Rejected", "no"))
    platform.pass_time(LOOK_S)
    assert len(platform.started) == 2
    with pytest.raises(TaskTimedOut):
        respond(platform, Success("late"))
    respond(platform, Success("second"), start=1)
    platform.pass_time(600)
    assert (result(platform), len(platform.started), platform.later) == ("second", 2, [])


def test_failed_job_refuses_later_responses() -> None:
    platform = watching(task={**NAMES_TOKEN, "Retry": [{"ErrorEquals": ["States.ALL"]}]}, fails=1)
    platform.begun()
    platform.pass_time(3 * LOOK_S)
    with pytest.raises(TaskTimedOut):
        respond(platform, Success("late"))
    platform.pass_time(600)
    assert (result(platform), len(platform.started)) == ("job 2", 2)


def test_response_counts_although_the_platform_reports_a_failed_poll() -> None:
    platform = started()
    poll = platform.later[0][1]
    send_result(platform.runtime(), platform.events[0]["TaskDefinition"], Success("response"), "")
    fail_invocation(platform.runtime(), poll, Failure("Lambda.Unknown", None))
    platform.pass_time(600)
    assert result(platform) == "response"


@pytest.mark.parametrize("collection", Collection)
def test_event_of_a_response_that_comes_again_has_no_effect(collection: Collection) -> None:
    platform = started(collection)
    send_result(platform.runtime(), platform.events[0]["TaskDefinition"], Success("response"), "")
    (event,) = platform.sent
    platform.pass_time(600)
    with suppress(RefusedDelivery):
        deliver(platform, event)
    platform.pass_time(600)
    assert (result(platform), len(platform.started), platform.later) == ("response", 1, [])


def test_branches_of_a_map_take_responses_of_their_own() -> None:
    job = {**JOB, **NAMES_TOKEN, "End": True}
    body = {"StartAt": "Job", "States": {"Job": job}}
    each = {"Type": "Map", "ItemProcessor": body, "End": True}
    platform = watching({"StartAt": "Each", "States": {"Each": each}})
    platform.start("e", [1, 2, 3])
    platform.deliver_all()
    respond(platform, Success("response"), start=1)
    platform.pass_time(600)
    assert sorted(result(platform)) == ["job 1", "job 3", "response"]


def test_eager_collection_takes_tokens_and_responses() -> None:
    platform = started(Collection.EAGER)
    respond(platform, Success("response"))
    platform.pass_time(600)
    kept = [key for key, (item, _) in platform.memory._items.items() if TOMBSTONE not in item]
    assert [key for key in kept if key.partition.startswith("token:")] == []
