"""A function of workflows of several stacks: the first one gets all that Lambda gave up, and forwards it."""

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from aws_cdk import App, Duration, Stack

from tests.synth.deployment import Deployment, as_list, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import Machine, chain, machine, task
from tests.synth.test_common_permissions import UNLIMITED
from tests.synth.test_large_workflows import MOST_MANAGED_CHARACTERS, MOST_POLICY_CHARACTERS, size
from unum_constructs.assembly import common_permissions, function_settings
from unum_constructs.errors import ConstructError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constructs import Construct

from unum_constructs import Delivery, UnumFunction

INVOKE = ["lambda:InvokeFunction"]
REMOTE = "Flow/OnFailure/Remote/Intake"
RETRIED = {"Retry": [{"ErrorEquals": ["Again"]}]}


class Apart:
    """Workflows with equal ids in several stacks, which end in the function B of another stack."""

    def __init__(self, definition: Machine | None = None, *, places: "Sequence[str]" = ("One", "Two")) -> None:
        app = App()
        self.home = Deployment(Stack(app, "Home"))
        shared = function(self.home.stack, "B")
        self.users = [Deployment(Stack(app, name)) for name in places]
        for name, each in zip(places, self.users, strict=True):
            functions = {"A": function(each.stack, "A"), "B": shared}
            each.flow(definition or chain("A", "B"), functions, workflow_name=f"{name}-Flow")

    @property
    def one(self) -> Deployment:
        return self.users[0]

    @property
    def two(self) -> Deployment:
        return self.users[1]

    @property
    def all(self) -> tuple[Deployment, ...]:
        return self.home, *self.users


@pytest.fixture(scope="module")
def apart() -> Apart:
    return Apart()


@pytest.fixture(scope="module")
def waiting() -> Apart:
    return Apart(machine(A=task("A", "B"), B={**task("B"), **RETRIED}))


def variables(deployment: Deployment, path: str) -> dict[str, Any]:
    found: dict[str, Any] = deployment.properties(path)["Environment"]["Variables"]
    return found


def test_its_failed_events_go_to_the_first_workflow(apart: Apart) -> None:
    version = apart.home.version("B")
    configured = [
        [name for name in each.all("Lambda::EventInvokeConfig") if name.startswith(version)] for each in apart.all
    ]
    assert [len(each) for each in configured] == [0, 1, 0]
    configuration = apart.one.template["Resources"][configured[1][0]]["Properties"]["DestinationConfig"]
    assert apart.one.version("Flow/OnFailure/Handler") in json.dumps(configuration)


def test_the_first_handler_forwards_to_a_name_without_a_reference(apart: Apart) -> None:
    others = json.loads(flat(variables(apart.one, "Flow/OnFailure/Handler")["UNUM_OTHERS"]))
    name = apart.two.properties(REMOTE)["FunctionName"]
    address = f"arn:AWS::Partition:lambda:AWS::Region:AWS::AccountId:function:{name}"
    assert [*others.values()] == [{"Two-Flow": address}]
    assert len(name) <= 64
    assert (INVOKE, [address]) in apart.one.statements("Flow/OnFailure/Permissions")
    assert "UNUM_OTHERS" not in variables(apart.two, "Flow/OnFailure/Handler")
    texts = [json.dumps(each.template) for each in apart.all]
    assert not any(word in text for text in texts for word in ("Fn::ImportValue", '"Export"'))
    assert '"StackName": "Two"' not in texts[1], "which would be a circle"


def test_the_second_stack_is_deployed_after_the_first(apart: Apart) -> None:
    assert {stack.node.id for stack in apart.two.stack.dependencies} == {"Home", "One"}
    assert {stack.node.id for stack in apart.one.stack.dependencies} == {"Home"}


def test_the_named_function_hands_on_to_the_deployed_handler(apart: Apart) -> None:
    remote = apart.two.properties(REMOTE)
    handler = apart.two.properties("Flow/OnFailure/Handler")
    assert remote["Handler"] == "unum_runtime.functions.operations.remote_intake.handle"
    assert flat(variables(apart.two, REMOTE)["UNUM_INTAKE"]) == apart.two.version("Flow/OnFailure/Handler")
    assert (remote["Role"], remote["LoggingConfig"], remote["RecursiveLoop"]) == (
        handler["Role"],
        handler["LoggingConfig"],
        "Allow",
    )
    assert not any("Remote" in name for name in apart.one.template["Resources"]), "nobody forwards to the first one"


def test_what_it_cannot_hand_on_is_a_letter_that_sweeps_try_again(apart: Apart) -> None:
    configuration = apart.two.resource("Flow/OnFailure/Remote/EventInvokeConfig")
    assert configuration["Properties"]["Qualifier"] == "$LATEST"
    queue = {"Fn::GetAtt": [apart.two.logical_id("Flow/Failures"), "Arn"]}
    assert configuration["Properties"]["DestinationConfig"] == {"OnFailure": {"Destination": queue}}
    assert apart.two.logical_id("Flow/OnFailure/Permissions") in configuration["DependsOn"]
    assert (
        apart.two.logical_id("Flow/OnFailure/Remote/EventInvokeConfig") in apart.two.resource("Flow/Start")["DependsOn"]
    )
    name = apart.two.properties(REMOTE)["FunctionName"]
    address = f"arn:AWS::Partition:lambda:AWS::Region:AWS::AccountId:function:{name}"
    assert (INVOKE, [address]) in apart.two.statements("Flow/ControlFunction/Permissions")
    intakes = flat(variables(apart.two, "Flow/ControlFunction/Function")["UNUM_REMOTE_INTAKE"])
    assert list(json.loads(intakes).values()) == [address]
    assert "UNUM_REMOTE_INTAKE" not in variables(apart.one, "Flow/ControlFunction/Function")


def names_of_policies(apart: Apart) -> list[str]:
    """Return the names of the policies of the shared function's role."""
    return [
        each["Properties"]["PolicyName"]
        for deployment in apart.all
        for each in deployment.all("IAM::Policy").values()
        if any("GetStackOutput" in json.dumps(role) for role in as_list(each["Properties"]["Roles"]))
    ]


def test_its_role_has_policies_of_different_names(apart: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies of one name are one policy: the second deployment would take away what the first one gave."""
    assert max(Counter(names_of_policies(apart)).values()) == 1
    monkeypatch.setattr(function_settings, "policy_id", of_the_cdk)
    assert max(Counter(names_of_policies(Apart())).values()) == 2, "this test finds it"


def test_names_of_policies_stay_when_the_first_workflow_goes(apart: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    """That workflow's stack still exists then, and its deletion deletes its policies."""
    left = Apart(places=["Two"])
    assert {*names_of_policies(left)} <= {*names_of_policies(apart)}
    first = {*names_of_policies(Apart(places=["One"]))}
    assert first.isdisjoint(names_of_policies(left))
    monkeypatch.setattr(function_settings, "policy_id", of_the_cdk)
    with_first, without = (names_of_policies(Apart(places=[name])) for name in ("One", "Two"))
    assert with_first == without, "this test finds it"


def of_the_cdk(_scope: "Construct", construct_id: str, _hosts: object) -> common_permissions.PolicyId:
    """Return what the CDK takes for the name of a policy."""
    return common_permissions.PolicyId(construct_id, None)


def test_policies_of_several_roles_have_different_names_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_permissions, "LEAST_ALIKE", 1)
    places = ("One", "Two", "Three")
    assert max(Counter(names_of_policies(Apart(places=places))).values()) == 1
    monkeypatch.setattr(common_permissions, "policy_id", of_the_cdk)
    assert max(Counter(names_of_policies(Apart(places=places))).values()) == 2, "this test finds it"


def _shown(arn: Any) -> str:
    """Return `arn` as text; outputs of other stacks stand as ``stack.output``."""
    if isinstance(arn, dict) and "Fn::Join" in arn:
        return "".join(map(_shown, arn["Fn::Join"][1]))
    if isinstance(arn, dict) and "Fn::GetStackOutput" in arn:
        output = arn["Fn::GetStackOutput"]
        return f"{output['StackName']}.{output['OutputName']}"
    return flat(arn)


def test_a_timer_may_report_to_the_first_handler(waiting: Apart) -> None:
    statements = waiting.two.properties("Flow/Timer/Permissions")["PolicyDocument"]["Statement"]
    invoking = (each for each in statements if (each["Effect"], each["Action"]) == ("Allow", INVOKE[0]))
    allowed = [_shown(each) for one in invoking for each in as_list(one["Resource"])]
    assert len(allowed) == 2
    assert f"{waiting.two.logical_id('Flow/OnFailure/Handler')}.Arn:*" in allowed
    assert [arn for arn in allowed if "OnFailureHandler" in arn and arn.startswith("One.")] != []


def test_callers_of_the_other_stack_start_no_executions_in_it() -> None:
    app = App()
    one, two = (Deployment(Stack(app, name)) for name in ("One", "Two"))
    shared = function(one.stack, "A")
    one.flow(chain("A"), {"A": shared}, "First")
    again = machine(X=task("X", "A"), A={**task("A"), **RETRIED})  # so the shared function invokes itself
    two.flow(again, {"X": function(two.stack, "X"), "A": shared}, "Second")
    (denied,) = [arns for _, arns in two.denials("Second/Permissions/X") if any("start-First" in arn for arn in arns)]
    assert {arn.rpartition(":")[2] for arn in denied} == {"start-First", "run-First", "respond-First"}
    # Its own code may, and a start that is answered sends itself a request.
    assert not any("First" in arn for _, arns in two.denials("Second/Permissions/AElsewhere") for arn in arns)


def test_the_workflow_of_its_own_stack_comes_first() -> None:
    app = App()
    one, two = (Deployment(Stack(app, name)) for name in ("One", "Two"))
    shared = function(one.stack, "A")
    two.flow(chain("X", "A"), {"X": function(two.stack, "X"), "A": shared}, "Second")
    expected = (
        r"One/A: its first workflow, in the stack 'Two', .*One/First is deployed after .*make the workflow of 'One'"
    )
    with pytest.raises(ConstructError, match=expected):
        one.flow(chain("A"), {"A": shared}, "First")


def test_limits_of_deliveries_are_equal() -> None:
    app = App()
    one, two = (Deployment(Stack(app, name)) for name in ("One", "Two"))
    shared = function(one.stack, "A")
    one.flow(chain("A"), {"A": shared}, "First")
    functions = {"X": function(two.stack, "X"), "A": shared}
    with pytest.raises(
        ConstructError, match="One/A: expected max_event_age and retry_attempts as in its first workflow"
    ):
        two.flow(chain("X", "A"), functions, "Second", delivery=Delivery(max_event_age=Duration.minutes(5)))


def in_two_stacks(workflows: int) -> tuple[Deployment, ...]:
    """Return stacks with half of the workflows each, all of which end in one function of a third stack."""
    app = App(context=UNLIMITED)
    home, *stacks = (Deployment(Stack(app, name)) for name in ("Home", "One", "Two"))
    shared: UnumFunction = function(home.stack, "Shared")
    for index in range(workflows):
        place = stacks[index * len(stacks) // workflows]
        first = f"First{index}"
        place.flow(chain(first, "Shared"), {first: function(place.stack, first), "Shared": shared}, f"W{index}")
    return home, *stacks


def test_twenty_workflows_of_two_stacks_stay_within_all_limits() -> None:
    home, *stacks = in_two_stacks(20)
    roles: Counter[str] = Counter()
    managed = []
    for each in stacks:
        assert len(each.template["Resources"]) <= 500
        for policy in each.all("IAM::Policy").values():
            if "GetStackOutput" in json.dumps(policy["Properties"]["Roles"]):
                roles["Shared"] += size(policy["Properties"]["PolicyDocument"])
        managed += [*each.all("IAM::ManagedPolicy").values()]
    assert roles["Shared"] <= MOST_POLICY_CHARACTERS
    assert len(managed) <= common_permissions.MOST_MANAGED
    assert max(size(each["Properties"]["PolicyDocument"]) for each in managed) <= MOST_MANAGED_CHARACTERS
    assert len(home.services("Shared")) == 20


def test_more_stacks_than_a_role_has_policies_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_permissions, "MOST_INLINE", 1)
    monkeypatch.setattr(common_permissions, "MOST_MANAGED", 1)
    with pytest.raises(ConstructError, match=r"Home/Shared: expected at most .* of as few stacks as possible, got one"):
        in_two_stacks(4)


def test_linters_have_nothing_to_say(apart: Apart) -> None:
    found = [text for each in apart.all for text in complaints(each.template)]
    assert [text for text in found if "GetStackOutput" not in text] == []
