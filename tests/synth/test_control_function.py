"""Control function: its rights, its aliases, and principals that may invoke each."""

import pytest
from aws_cdk import aws_iam as iam

from tests.synth.deployment import Deployment, flat, function
from tests.synth.machines import chain
from unum_compiler.options import FunctionOptions
from unum_constructs.errors import ConstructError
from unum_runtime.protocol.control.control_aliases import call_alias

FUNCTION = "Flow/ControlFunction/Function"
INVOKE = ["lambda:InvokeFunction"]
ALIASES = ["stop", "redrive", "fork", "nudge", "delete", "pause", "memo", "operate", "sweep"]
ALWAYS = ["start", "run", "respond", "describe", "start-intake", "nudge", "operate", "sweep"]
GRANTS = {f"grant_{kind}": kind.capitalize() for kind in ALIASES[:-1]}


@pytest.fixture(scope="module")
def deployed() -> Deployment:
    return Deployment.of(chain("A", "B"), *"AB")


def arn(deployment: Deployment, path: str) -> str:
    return f"{deployment.logical_id(path)}.Arn"


def names_of(deployment: Deployment) -> set[str]:
    """Return the kinds of all aliases."""
    return {each["Properties"]["Name"].removesuffix("-Flow") for each in deployment.all("Lambda::Alias").values()}


def test_exported_workflow_has_an_alias_for_each_kind_of_request() -> None:
    deployed = Deployment.of(chain("A", "B"), *"AB", exported=True)
    assert names_of(deployed) == {*ALWAYS, *ALIASES}
    version = f"{deployed.version(FUNCTION)}.Version"
    for kind in ALIASES:
        alias = deployed.properties(f"Flow/ControlFunction/{kind.capitalize()}")
        assert (alias["Name"], flat(alias["FunctionVersion"])) == (f"{kind}-Flow", version)
    assert flat(deployed.template["Outputs"]["FlowControlFunction"]["Value"]) == arn(deployed, FUNCTION)


def test_without_a_sweep_no_alias_takes_sweeps() -> None:
    deployment = Deployment.of(chain("A"), "A", sweep=None)
    assert names_of(deployment) == {*ALWAYS} - {"sweep"}


def test_alias_that_nobody_was_granted_is_absent(deployed: Deployment) -> None:
    assert names_of(deployed) == {*ALWAYS}


def test_alias_appears_once_however_many_grants_need_it() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    for name in ("Ann", "Bob"):
        flow.grant_stop(iam.User(deployment.stack, name))
    assert names_of(deployment) == {*ALWAYS, "stop"}


@pytest.mark.parametrize("grant", GRANTS)
def test_a_grant_allows_one_kind_of_request(grant: str) -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    getattr(flow, grant)(iam.User(deployment.stack, "Somebody"))
    alias = deployment.logical_id(f"Flow/ControlFunction/{GRANTS[grant]}")
    assert deployment.statements("Somebody/DefaultPolicy") == [(INVOKE, [alias])]


def test_nobody_else_in_the_workflow_may_invoke_it(deployed: Deployment) -> None:
    own, handler = arn(deployed, FUNCTION), deployed.logical_id("Flow/OnFailure/Permissions")
    reaching: dict[str, list[str]] = {}
    for name, policy in deployed.all("IAM::Policy").items():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
            found = [text for text in map(flat, resources) if text.startswith(own)]
            if found and statement["Effect"] == "Allow" and "lambda:InvokeFunction" in statement["Action"]:
                reaching.setdefault(name, []).extend(found)
    assert reaching == {
        deployed.logical_id("Flow/ControlFunction/Permissions"): [f"{own}:*"],
        handler: [f"{own}:nudge-Flow"],
    }


def test_it_finds_the_start_alias_by_its_own_alias(deployed: Deployment) -> None:
    variables = deployed.properties(FUNCTION)["Environment"]["Variables"]
    assert (variables["UNUM_DIRECTORY"], deployed.properties(FUNCTION)["Handler"]) == (
        "nudge",
        "unum_runtime.control.handle",
    )
    assert flat(deployed.properties("Flow/ControlFunction/Nudge")["Description"]) == deployed.logical_id("Flow/Start")
    handler = deployed.properties("Flow/OnFailure/Handler")["Environment"]["Variables"]
    assert "UNUM_DIRECTORY" not in handler
    assert flat(handler["UNUM_CONTROL"]) == arn(deployed, FUNCTION)
    assert flat(deployed.properties("Flow/StartIntake")["Description"]) == deployed.logical_id("Flow/Start")


def test_a_grant_to_call_allows_one_task() -> None:
    deployment = Deployment.new()
    functions = {key: function(deployment.stack, key) for key in "AB"}
    options = {key: FunctionOptions(memoize=True) for key in "AB"}
    flow = deployment.flow(chain("A", "B"), functions, function_options=options)
    flow.grant_call(iam.User(deployment.stack, "Somebody"), "B")
    with pytest.raises(
        ConstructError, match="state 'C': expected a Task that runs a function of the workflow, with memoize"
    ):
        flow.grant_call(iam.User(deployment.stack, "Another"), "C")
    ((actions, (target,)),) = deployment.statements("Somebody/DefaultPolicy")
    (alias,) = [each for each in deployment.all("Lambda::Alias").items() if each[0] == target]
    assert (actions, alias[1]["Properties"]["Name"]) == (INVOKE, f"{call_alias('B')}-Flow")


def test_tasks_that_share_no_results_have_no_aliases(deployed: Deployment) -> None:
    names = [each["Properties"]["Name"] for each in deployed.all("Lambda::Alias").values()]
    assert not [each for each in names if each.startswith("call-")]
