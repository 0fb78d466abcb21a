"""Parts that a workflow keeps for executions of earlier definitions."""

from typing import Any

import pytest

from tests.synth.deployment import Deployment, function
from tests.synth.machines import chain
from unum_constructs import ConstructError, Keep, Upgrades
from unum_constructs.cdk.storage import ACTIONS


@pytest.fixture(scope="module")
def kept() -> Deployment:
    deployment = Deployment.new()
    keep = Keep(functions={"Old": function(deployment.stack, "Old")}, activities=["Review"], schedules=True)
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, upgrades=Upgrades(keep=keep))
    return deployment


def test_a_kept_function_serves_the_workflow_and_invokes_no_other(kept: Deployment) -> None:
    service = kept.services("Old")["Flow"]
    assert (service["hosts"], service.get("routes", {})) == (["Old"], {})
    invoked = [arns for actions, arns in kept.statements("Flow/Permissions/Old") if "lambda:InvokeFunction" in actions]
    handler, own = kept.logical_id("Flow/OnFailure/Handler"), kept.logical_id("Old")
    assert sorted(arn for arns in invoked for arn in arns) == sorted([f"{handler}.Arn:*", f"{own}.Arn:*"])


def test_it_may_do_in_the_store_what_any_task_may(kept: Deployment) -> None:
    expected = {action for actions in ACTIONS.values() for action in actions}
    assert expected <= {action for actions, _ in kept.statements("Flow/Permissions/Old") for action in actions}


def test_it_may_wait_and_come_back_to_itself(kept: Deployment) -> None:
    assert "timer" in kept.services("Old")["Flow"]
    assert kept.properties("Old")["RecursiveLoop"] == "Allow"


def test_queue_schedules_and_activity_stay(kept: Deployment) -> None:
    assert kept.resource("Flow/Timer/Queue")
    assert kept.resource("Flow/Timer/Schedules/Group")
    assert kept.resource("Flow/Activities/Review")
    assert "Review" in kept.services("Flow/Services")["Flow"]["activities"]


def test_the_failure_handler_and_the_forwarder_may_invoke_it(kept: Deployment) -> None:
    for path in ("Flow/OnFailure/Permissions", "Flow/Timer/Permissions"):
        resources = [arn for _, arns in kept.statements(path) for arn in arns]
        assert f"{kept.logical_id('Old')}.Arn:*" in resources


@pytest.mark.parametrize(
    ("keep", "reason"),
    [
        (
            {"functions": "A"},
            "upgrades.keep.functions['A']: expected a function without a Task, got one of `functions`",
        ),
        ({"activities": "Review"}, "upgrades.keep.activities: expected a list of names"),
        ({"activities": ["a b"]}, "upgrades.keep.activities: expected a list of names"),
        ({"timer": "yes"}, "upgrades.keep.timer: expected a bool, got 'yes'"),
    ],
)
def test_what_cannot_be_kept(keep: dict[str, Any], reason: str) -> None:
    deployment = Deployment.new()
    used = function(deployment.stack, "A")
    given = {**keep, "functions": {"A": used}} if "functions" in keep else keep
    with pytest.raises(ConstructError) as caught:
        deployment.flow(chain("A"), {"A": used}, upgrades=Upgrades(keep=Keep(**given)))
    assert str(caught.value).startswith(f"Stack/Flow: {reason}")


def test_a_function_without_a_task_that_is_not_kept_is_refused() -> None:
    deployment = Deployment.new()
    functions = {key: function(deployment.stack, key) for key in ("A", "B")}
    with pytest.raises(ConstructError, match="keep"):
        deployment.flow(chain("A"), functions)
