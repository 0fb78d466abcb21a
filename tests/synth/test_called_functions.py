"""Functions without the runtime, of every kind: what a stack allows, configures and says for their Tasks."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Environment, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks

from tests.synth.deployment import CODE, Deployment, function
from tests.synth.machines import chain, machine, task
from unum_constructs import ConstructError, Definition, UnumWorkflow

POLICY = "Flow/Permissions/$services"
ARN = "arn:aws:lambda:us-east-1:123456789012:function:f"
INVOKE = "arn:aws:states:::lambda:invoke"
INFO = "aws:cdk:info"


def existing(stack: Stack, **options: Any) -> lambda_.Function:
    defaults = {"code": lambda_.Code.from_inline(CODE), "handler": "index.handle"}
    defaults["runtime"] = lambda_.Runtime.PYTHON_3_13
    return lambda_.Function(stack, "Existing", **{**defaults, **options})


def node(stack: Stack, _: Path) -> Any:
    return existing(stack, runtime=lambda_.Runtime.NODEJS_22_X)


def java(stack: Stack, folder: Path) -> Any:
    code = lambda_.Code.from_asset(str(folder))
    return existing(stack, runtime=lambda_.Runtime.JAVA_21, code=code, handler="Resize::handle")


def provided(stack: Stack, folder: Path) -> Any:
    code = lambda_.Code.from_asset(str(folder))
    return existing(stack, runtime=lambda_.Runtime.PROVIDED_AL2023, code=code, handler="bootstrap")


def old_python(stack: Stack, _: Path) -> Any:
    return existing(stack, runtime=lambda_.Runtime.PYTHON_3_9)


def an_image(stack: Stack, folder: Path) -> Any:
    (folder / "Dockerfile").write_text("FROM scratch\n")
    return lambda_.DockerImageFunction(stack, "Existing", code=lambda_.DockerImageCode.from_image_asset(str(folder)))


def a_version(stack: Stack, _: Path) -> Any:
    return existing(stack).current_version


def an_alias(stack: Stack, _: Path) -> Any:
    return lambda_.Alias(stack, "Alias", alias_name="live", version=existing(stack).current_version)


def a_singleton(stack: Stack, _: Path) -> Any:
    code = lambda_.Code.from_inline("exports.handler = async () => 1;")
    options: dict[str, Any] = {"code": code, "handler": "index.handler", "runtime": lambda_.Runtime.NODEJS_22_X}
    return lambda_.SingletonFunction(stack, "Singleton", uuid="abc", **options)


def by_arn(stack: Stack, _: Path) -> Any:
    return lambda_.Function.from_function_arn(stack, "Imported", ARN)


def by_name(stack: Stack, _: Path) -> Any:
    return lambda_.Function.from_function_name(stack, "Imported", "f")


def of_another_account(stack: Stack, _: Path) -> Any:
    return lambda_.Function.from_function_arn(stack, "Imported", ARN.replace("123456789012", "210987654321"))


def an_imported_version(stack: Stack, _: Path) -> Any:
    return lambda_.Version.from_version_arn(stack, "Imported", f"{ARN}:3")


def an_imported_alias(stack: Stack, _: Path) -> Any:
    version = lambda_.Version.from_version_arn(stack, "Imported", f"{ARN}:3")
    return lambda_.Alias.from_alias_attributes(stack, "ImportedAlias", alias_name="live", alias_version=version)


KINDS: dict[Callable[[Stack, Path], Any], str] = {
    node: "nodejs22.x",
    java: "java21",
    provided: "provided.al2023",
    old_python: "python3.9",
    an_image: "image without `cmd`",
    a_version: "version",
    an_alias: "alias",
    a_singleton: "singleton",
    by_arn: "imported",
    by_name: "imported",
    of_another_account: "imported",
    an_imported_version: "imported",
    an_imported_alias: "imported",
}
FORMS = {
    "direct": task("E"),
    "invoke": {**task(INVOKE), "Parameters": {"FunctionName": "E", "Payload.$": "$"}},
    "token": {**task(f"{INVOKE}.waitForTaskToken"), "Parameters": {"FunctionName": "E", "Payload.$": "$$.Task"}},
}


def reply(deployment: Deployment) -> list[str]:
    assert deployment.template
    entries = (entry for each in deployment.stack.node.find_all() for entry in each.node.metadata)
    return [str(entry.data) for entry in entries if entry.type == INFO and "unum:calledFunctions" in str(entry.data)]


def invoked(deployment: Deployment) -> list[str]:
    """Return the functions outside of the workflow that the service function may invoke."""
    statements = deployment.statements(POLICY)
    return [
        arn
        for actions, arns in statements
        for arn in arns
        if actions == ["lambda:InvokeFunction"] and "OnFailure" not in arn and "Services" not in arn
    ]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("form", ["direct", "invoke"])
def test_every_kind_of_function(make: Callable[[Stack, Path], Any], form: str, tmp_path: Path) -> None:
    deployment = Deployment.new()
    deployment.flow(machine(E=FORMS[form]), {"E": make(deployment.stack, tmp_path)})
    (arn,) = deployment.services("Flow/Services")["Flow"]["called"].values()
    assert invoked(deployment) == [arn]
    (text,) = reply(deployment)
    assert f"'E' ({KINDS[make]})" in text
    assert "$1.67 for a million seconds of waiting with 128 MB" in text
    assert deployment.properties("Flow/Services")["MemorySize"] == 128
    functions = deployment.all("Lambda::Function").values()
    assert all("UNUM_HANDLER" not in json.dumps(each) for each in functions)


def test_a_task_token_may_be_passed_on() -> None:
    deployment = Deployment.new()
    deployment.flow(machine(E=FORMS["token"]), {"E": node(deployment.stack, Path())})
    assert invoked(deployment) == [f"{deployment.logical_id('Existing')}.Arn"]


def test_functions_with_the_runtime_stay_nodes() -> None:
    deployment = Deployment.new()
    functions = {"E": node(deployment.stack, Path()), "A": function(deployment.stack, "A")}
    deployment.flow(machine(A=task("A", "E"), E=task("E")), functions)
    assert deployment.services("A")["Flow"]["hosts"] == ["A"]
    assert "called" not in deployment.services("A")["Flow"]
    assert len(reply(deployment)) == 1
    assert "'A'" not in reply(deployment)[0]


OPTIONS = {
    "Qualifier": ("live", ":live"),
    "LogType": ("Tail", ""),
    "ClientContext": ("e30=", ""),
    "InvocationType": ("Event", ""),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options_call_a_function_of_the_app(option: str) -> None:
    deployment = Deployment.new()
    value, suffix = OPTIONS[option]
    invoke = {**task(INVOKE, "B"), "Parameters": {"FunctionName": "F", option: value}}
    own = function(deployment.stack, "F")
    deployment.flow(machine(A=invoke, B=task("F")), {"F": own})
    arn = f"{deployment.logical_id('F')}.Arn"
    assert sorted(invoked(deployment)) == sorted({arn, arn + suffix})
    why = "a Task of the function calls its alias or version, has options of lambda:invoke, or Credentials"
    assert f"'A' ({why}), 'B' ({why})" in reply(deployment)[0]
    assert "UNUM_WORKFLOWS" not in deployment.properties("F").get("Environment", {}).get("Variables", {})


def test_a_function_and_its_alias_are_both_called() -> None:
    """A node's environment may lead to the service function, which depends on the alias, and so on the node."""
    deployment = Deployment.new()
    own = function(deployment.stack, "F")
    deployment.flow(machine(A=task("F", "B"), B=task("Live")), {"F": own, "Live": own.add_alias("live")})
    assert sorted(deployment.services("Flow/Services")["Flow"]["called"]) == ["F", "Live"]


def test_a_literal_arn() -> None:
    deployment = Deployment.new()
    deployment.flow(machine(A=task("F", "B"), B=task(ARN)), {"F": function(deployment.stack, "F")})
    assert invoked(deployment) == [ARN]
    assert "'B' (named by an ARN or an expression)" in reply(deployment)[0]


@pytest.mark.parametrize("form", ["direct", "invoke"])
def test_an_arn_with_the_region_and_the_account_of_the_stack(form: str) -> None:
    deployment = Deployment.new()
    arn = f"arn:aws:lambda:{deployment.stack.region}:{deployment.stack.account}:function:other"
    asl = task(arn) if form == "direct" else {**task(INVOKE), "Parameters": {"FunctionName": arn, "Payload.$": "$"}}
    UnumWorkflow(deployment.stack, "Flow", definition=sfn.CustomState(deployment.stack, "E", state_json=asl))
    assert invoked(deployment) == ["arn:aws:lambda:AWS::Region:AWS::AccountId:function:other"]


def test_a_chain_of_the_cdk_over_everything() -> None:
    deployment = Deployment.new()
    stack = deployment.stack
    own = function(stack, "Own")
    steps = [
        tasks.LambdaInvoke(stack, "1", lambda_function=own),
        tasks.LambdaInvoke(stack, "2", lambda_function=node(stack, Path()), payload_response_only=True),
        tasks.LambdaInvoke(stack, "3", lambda_function=by_arn(stack, Path()), qualifier="live"),
        tasks.LambdaInvoke(
            stack,
            "4",
            lambda_function=function(stack, "Other"),
            invocation_type=tasks.LambdaInvocationType.EVENT,
            client_context="e30=",
        ),
    ]
    first = steps[0]
    for before, after in pairwise(steps):
        before.next(after)
    UnumWorkflow(stack, "Flow", workflow_name="Flow", definition=Definition.from_chainable(first))
    arns = [f"{deployment.logical_id(name)}.Arn" for name in ("Existing", "Other")]
    assert sorted(invoked(deployment)) == sorted([*arns, f"{ARN}:live"])
    assert deployment.services("Own")["Flow"]["hosts"] == ["Own"]


@pytest.mark.parametrize("qualifier", ["live", "3"])
def test_a_chain_over_an_alias_or_a_version_from_attributes(qualifier: str) -> None:
    """They have no class in Python; their function has the runtime only if no Task calls them."""
    deployment = Deployment.new()
    stack, own = deployment.stack, function(deployment.stack, "Own")
    made: Any = (
        lambda_.Version.from_version_attributes(stack, "Old", lambda_=own, version=qualifier)
        if qualifier.isdigit()
        else lambda_.Alias.from_alias_attributes(stack, "Live", alias_name=qualifier, alias_version=own.current_version)
    )
    first = tasks.LambdaInvoke(stack, "1", lambda_function=made)
    first.next(tasks.LambdaInvoke(stack, "2", lambda_function=own))
    UnumWorkflow(stack, "Flow", workflow_name="Flow", definition=Definition.from_chainable(first))
    arn = f"{deployment.logical_id('Own')}.Arn"
    assert sorted(invoked(deployment)) == [arn, f"{arn}:{qualifier}"]


def test_the_latest_version_of_a_function_is_the_function() -> None:
    deployment = Deployment.new()
    own = function(deployment.stack, "Own")
    task_ = tasks.LambdaInvoke(deployment.stack, "1", lambda_function=own.latest_version)
    UnumWorkflow(deployment.stack, "Flow", workflow_name="Flow", definition=Definition.from_chainable(task_))
    assert deployment.services("Own")["Flow"]["hosts"] == ["Own"]
    assert not reply(deployment)


@pytest.mark.parametrize("body", [True, False])
def test_a_token_that_is_imported_in_functions(body: bool) -> None:  # noqa: FBT001 - pytest passes it by name
    deployment = Deployment.new()
    arn = CfnParameter(deployment.stack, "Arn").value_as_string
    functions = {"Other": lambda_.Function.from_function_arn(deployment.stack, "Imported", arn)}
    definition: Any = (
        sfn.DefinitionBody.from_string(json.dumps(machine(E=task(arn))))
        if body
        else sfn.CustomState(deployment.stack, "E", state_json=task(arn))
    )
    UnumWorkflow(deployment.stack, "Flow", workflow_name="Flow", definition=definition, functions=functions)
    assert set(invoked(deployment)) == {"Arn"}


def test_a_called_function_of_a_chain_may_have_another_key() -> None:
    deployment = Deployment.new()
    resize = node(deployment.stack, Path())
    first = tasks.LambdaInvoke(deployment.stack, "1", lambda_function=resize)
    definition = Definition.from_chainable(first)
    UnumWorkflow(deployment.stack, "Flow", workflow_name="Flow", definition=definition, functions={"Resize": resize})
    assert invoked(deployment) == [f"{deployment.logical_id('Existing')}.Arn"]


def elsewhere(account: str = "123456789012", region: str = "eu-west-1") -> tuple[Deployment, Stack]:
    """A deployment in eu-west-1, and another stack of its app."""
    app = App()
    here = Stack(app, "Stack", env=Environment(account="123456789012", region="eu-west-1"))
    return Deployment(here), Stack(app, "Other", env=Environment(account=account, region=region))


def test_a_function_that_the_app_makes_in_another_account_is_called() -> None:
    deployment, other = elsewhere(account="210987654321")
    deployment.flow(chain("A"), {"A": function(other, "A", function_name="distant")})
    assert invoked(deployment) == ["arn:AWS::Partition:lambda:eu-west-1:210987654321:function:distant"]
    assert "'A' (of the account 210987654321)" in reply(deployment)[0]


DISTANT = ARN.replace("us-east-1", "us-west-2")


@pytest.mark.parametrize("kind", ["app", "imported", "alias", "literal", "invoke"])
def test_a_function_of_another_region_is_refused(kind: str) -> None:
    deployment, other = elsewhere(region="us-west-2")
    old = {"function_name": "f", "runtime": lambda_.Runtime.PYTHON_3_9}
    given: dict[str, Any] = {
        "app": lambda: function(other, "E", **old),
        "imported": lambda: lambda_.Function.from_function_arn(deployment.stack, "E", DISTANT),
        "alias": lambda: function(other, "E", **old).add_alias("live"),
    }
    tasks_ = {"literal": task(DISTANT), "invoke": {**task(INVOKE), "Parameters": {"FunctionName": DISTANT}}}
    functions = {"E": given[kind]()} if kind in given else {}
    place = r"functions\['E'\]" if kind in given else r"states\['E'\]"
    refused = rf"^Stack/Flow: {place}: expected a function in the workflow's region eu-west-1, got one in us-west-2; "
    with pytest.raises(ConstructError, match=refused):
        deployment.flow(machine(E=tasks_.get(kind, task("E"))), functions)


def test_a_mixed_service_function_keeps_its_memory() -> None:
    deployment = Deployment.new()
    send = {**task("arn:aws:states:::sqs:sendMessage"), "Parameters": {"QueueUrl": "https://q/1/q", "MessageBody": "m"}}
    deployment.flow(machine(E=task("E", "S"), S=send), {"E": node(deployment.stack, Path())})
    assert deployment.properties("Flow/Services")["MemorySize"] == 512
    assert "$6.67 for a million seconds of waiting with 512 MB" in reply(deployment)[0]


def test_a_called_function_that_no_task_names() -> None:
    deployment = Deployment.new()
    functions = {"A": function(deployment.stack, "A"), "E": node(deployment.stack, Path())}
    with pytest.raises(ConstructError, match=r"functions\['E'\]: expected a Task that names it, found none"):
        deployment.flow(chain("A"), functions)


def test_state_machines_of_the_cdk_may_name_any_function() -> None:
    deployment = Deployment.new()
    arn = node(deployment.stack, Path()).function_arn
    body = sfn.DefinitionBody.from_string(json.dumps(machine(E=task("${Resize}"))))
    UnumWorkflow(
        deployment.stack,
        "Flow",
        workflow_name="Flow",
        definition_body=body,
        definition_substitutions={"Resize": arn},
    )
    assert invoked(deployment) == [f"{deployment.logical_id('Existing')}.Arn"]
