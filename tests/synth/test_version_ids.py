"""Versions cascade: what changes gets a new one, and so does everything from there to the start alias."""

from typing import Any

import pytest
from aws_cdk import App, RemovalPolicies, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns

from tests.synth.deployment import CODE, Deployment, function
from tests.synth.machines import Machine, chain, machine, parallel, task

FLAGS = ("@aws-cdk/aws-lambda:recognizeLayerVersion", "@aws-cdk/aws-lambda:recognizeVersionProps")


def deployed(
    definition: Machine, *, code: dict[str, str] | None = None, context: dict[str, Any] | None = None
) -> Deployment:
    deployment = Deployment.new(**(context or {}))
    code = {"A": CODE, "B": CODE, "C": CODE} | (code or {})
    functions = {
        key: function(deployment.stack, key, code=lambda_.Code.from_inline(text)) for key, text in code.items()
    }
    deployment.flow(definition, functions)
    return deployment


def versions(deployment: Deployment) -> dict[str, str]:
    return {key: deployment.version(key) for key in "ABC"}


@pytest.mark.parametrize(
    "context", [dict.fromkeys(FLAGS, True), dict.fromkeys(FLAGS, False)], ids=["with flags", "without"]
)
class TestCascade:
    def test_same_again(self, context: dict[str, Any]) -> None:
        first, second = (deployed(chain("A", "B", "C"), context=context) for _ in range(2))
        assert first.template == second.template

    def test_changed_definition_changes_the_version_in_which_executions_start(self, context: dict[str, Any]) -> None:
        changed = chain("A", "B", "C")
        changed["States"]["C"]["OutputPath"] = "$.x"
        before = versions(deployed(chain("A", "B", "C"), context=context))
        after = versions(deployed(changed, context=context))
        assert {key for key in "ABC" if before[key] != after[key]} == {"A"}

    def test_changed_function_changes_its_predecessors(self, context: dict[str, Any]) -> None:
        before = deployed(chain("A", "B", "C"), context=context)
        after = deployed(chain("A", "B", "C"), code={"B": f"{CODE}# changed\n"}, context=context)
        changed = {key for key in "ABC" if versions(before)[key] != versions(after)[key]}
        assert changed == {"A", "B"}
        assert before.properties("Flow/Start")["FunctionVersion"] != after.properties("Flow/Start")["FunctionVersion"]


def test_branches_do_not_change_each_other() -> None:
    definition = machine(P=parallel(chain("A"), chain("B"), then="C"), C=task("C"))
    before, after = deployed(definition), deployed(definition, code={"B": f"{CODE}# changed\n"})
    changed = {key for key in "ABC" if versions(before)[key] != versions(after)[key]}
    assert changed == {"B"}
    assert before.version("Flow/Entry") != after.version("Flow/Entry")


def test_versions_and_what_hangs_on_them_are_retained() -> None:
    deployment = deployed(chain("A", "B", "C"))
    for key in "ABC":
        for path in (f"{key}/CurrentVersion", f"{key}/CurrentVersion/EventInvokeConfig"):
            resource = deployment.resource(path)
            assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_they_are_retained_whatever_aspects_say() -> None:
    deployment = deployed(chain("A", "B", "C"))
    RemovalPolicies.of(deployment.stack).destroy()
    assert deployment.resource("Flow/Table")["DeletionPolicy"] == "Delete", "the aspect does its part"
    for function_path in (*"ABC", "Flow/OnFailure/Handler"):
        for path in (f"{function_path}/CurrentVersion", f"{function_path}/CurrentVersion/EventInvokeConfig"):
            resource = deployment.resource(path)
            assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain"), path


def test_failure_configuration_is_as_new_as_its_version() -> None:
    before, after = deployed(chain("A", "B", "C")), deployed(chain("A", "B", "C"), code={"B": f"{CODE}# changed\n"})
    path = "B/CurrentVersion/EventInvokeConfig"
    for deployment in (before, after):
        assert deployment.template, "which is when it gets its logical id"
    assert before.logical_id(path) == f"{before.version('B')}OnFailure"
    assert before.logical_id(path) != after.logical_id(path)


def test_functions_can_change_after_the_workflow() -> None:
    deployment = Deployment.new()
    functions = {key: function(deployment.stack, key) for key in "AB"}
    deployment.flow(chain("A", "B"), functions)
    functions["B"].add_environment("LATER", "yes")
    assert deployment.routes("A") == {"B": deployment.version("B")}
    assert deployment.version("B") in deployment.all("Lambda::Version")


def test_functions_that_refer_to_other_stacks() -> None:
    deployment = Deployment.new()
    topic = sns.Topic(Stack(App.of(deployment.stack), "Other"), "Topic")
    functions = {
        key: function(deployment.stack, key, environment={"TOPIC_ARN": topic.topic_arn}) for key in ("A", "B", "C")
    }
    deployment.flow(chain("A", "B", "C"), functions)
    versions = deployment.all("Lambda::Version")
    assert deployment.routes("A")["B"] in versions
    assert deployment.routes("B")["C"] in versions
    assert {name.removesuffix("OnFailure") for name in deployment.all("Lambda::EventInvokeConfig")} - {
        deployment.logical_id(f"Flow/{each}/EventInvokeConfig") for each in ("Start", "Run", "StartIntake", "Sweep")
    } <= versions.keys()
