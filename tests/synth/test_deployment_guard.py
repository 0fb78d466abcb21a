"""Deployment guard: CloudFormation's questions, their times, and stacks without a guard."""

from typing import Any

import pytest
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2

from tests.synth.deployment import Deployment, as_list, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import chain, machine, task
from unum_constructs import ConstructError, OnRemoved, OwnFunctions, Store, Upgrades

GUARD = "Custom::UnumDeploymentGuard"
WAITING = machine(
    A=task("A", "W"),
    W={"Type": "Wait", "SecondsPath": "$.s", "Next": "B"},
    B=task("arn:aws:states:::activity:Review", "C"),
    C=task("C"),
)


def guarded(definition: Any = None, *keys: str, **options: Any) -> Deployment:
    return Deployment.of(definition or chain("A"), *(keys or ("A",)), **options)


def guard_of(deployment: Deployment) -> dict[str, Any] | None:
    found = [each for each in deployment.template["Resources"].values() if each["Type"] == GUARD]
    return found[0] if found else None


@pytest.fixture(scope="module")
def small() -> Deployment:
    return guarded()


def test_it_costs_one_resource(small: Deployment) -> None:
    without = guarded(upgrades=Upgrades(on_removed=OnRemoved.FAIL_EXECUTIONS)).template["Resources"]
    resources = small.template["Resources"]
    added = [resources[name]["Type"] for name in resources.keys() - without.keys()]
    assert added == [GUARD]


def test_its_properties_are_the_parts_that_executions_depend_on() -> None:
    deployment = guarded(WAITING, "A", "C")
    guard = guard_of(deployment)
    assert guard is not None
    parts = {name: flat(place) for name, place in guard["Properties"]["Parts"].items()}
    assert parts == {
        "activity Review": deployment.logical_id("Flow/Activities/Review"),
        "function $services": f"{deployment.logical_id('Flow/Services')}.Arn",
        "function A": f"{deployment.logical_id('A')}.Arn",
        "function C": f"{deployment.logical_id('C')}.Arn",
        "schedules": deployment.logical_id("Flow/Timer/Schedules/Group"),
        "timer": deployment.logical_id("Flow/Timer/Queue"),
    }


def test_a_function_of_several_keys_is_one_part() -> None:
    deployment = Deployment.new()
    both = function(deployment.stack, "Both")
    deployment.flow(chain("A", "B"), {"A": both, "B": both})
    guard = guard_of(deployment)
    assert guard is not None
    assert [*guard["Properties"]["Parts"]] == ["function A"]


def test_other_code_of_the_same_functions_is_no_reason_to_ask(small: Deployment) -> None:
    other = Deployment.new()
    other.flow(chain("A"), {"A": function(other.stack, "A", memory_size=512)})
    assert guard_of(other) == guard_of(small)


def test_keys_are_no_intrinsic_functions() -> None:
    guard = guard_of(guarded(chain("Ref"), "Ref"))
    assert guard is not None
    assert "function Ref" in guard["Properties"]["Parts"]


def test_cloudformation_asks_the_unpublished_control_function_for_a_time(small: Deployment) -> None:
    guard = guard_of(small)
    assert guard is not None
    control = small.logical_id("Flow/ControlFunction/Function")
    assert guard["Properties"]["ServiceToken"] == {"Fn::GetAtt": [control, "Arn"]}
    assert guard["Properties"]["ServiceTimeout"] == "900"


def test_it_precedes_permissions_of_intake_and_control_and_the_start_alias(small: Deployment) -> None:
    resources = small.template["Resources"]
    (guard,) = [name for name, each in resources.items() if each["Type"] == GUARD]
    permissions = small.logical_id("Flow/OnFailure/Permissions")
    assert guard in as_list(resources[permissions]["DependsOn"])
    assert guard in as_list(small.resource("Flow/ControlFunction/Permissions")["DependsOn"])
    assert permissions in as_list(small.resource("Flow/Start")["DependsOn"])
    assert "DependsOn" not in resources[guard]


def test_control_function_may_read_its_stacks_status_and_list_executions(small: Deployment) -> None:
    status = (["cloudformation:DescribeStacks"], ["AWS::StackId"])
    for deployment in (small, guarded(sweep=None)):
        statements = deployment.statements("Flow/ControlFunction/Permissions")
        assert statements.count(status) == 1
        listing = [arn for actions, (arn, *_) in statements if actions == ["dynamodb:Query"]]
        assert listing == [f"{deployment.logical_id('Flow/Table')}.Arn/index/executions"]


def test_linters_have_nothing_to_say(small: Deployment) -> None:
    assert complaints(small.template) == []


def _unlisted(_: Deployment) -> dict[str, Any]:
    return {"store": Store.dynamodb(list_executions=False), "sweep": None}


def _imported(deployment: Deployment) -> dict[str, Any]:
    return {"store": Store.dynamodb(table=dynamodb.Table.from_table_name(deployment.stack, "Table", "executions"))}


def _in_vpc(deployment: Deployment) -> dict[str, Any]:
    return {"own_functions": OwnFunctions(vpc=ec2.Vpc(deployment.stack, "Vpc"))}


@pytest.mark.parametrize("options", [_unlisted, _imported, _in_vpc])
def test_where_it_may_not_work_there_is_none_and_synth_says_so(options: Any) -> None:
    deployment = Deployment.new()
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, **options(deployment))
    assert guard_of(deployment) is None
    (reply,) = [each for each in deployment._messages("aws:cdk:info") if "NoGuard" in each.text]
    assert 'on_removed="refuse"' in reply.text


@pytest.mark.parametrize("options", [_imported, _in_vpc])
def test_there_it_can_be_asked_for(options: Any) -> None:
    deployment = Deployment.new()
    functions = {"A": function(deployment.stack, "A")}
    deployment.flow(chain("A"), functions, upgrades=Upgrades(on_removed="refuse"), **options(deployment))
    assert guard_of(deployment) is not None


def test_a_table_that_lists_nothing_is_refused() -> None:
    with pytest.raises(
        ConstructError, match=r'Stack/Flow: upgrades.on_removed: "refuse" expects a table that lists executions'
    ):
        guarded(upgrades=Upgrades(on_removed="refuse"), **_unlisted(Deployment.new()))


def test_other_decisions_do_not_exist() -> None:
    with pytest.raises(
        ConstructError, match=r"upgrades.on_removed: expected one of \['refuse', 'fail-executions'\], got 'no'"
    ):
        guarded(upgrades=Upgrades(on_removed="no"))
