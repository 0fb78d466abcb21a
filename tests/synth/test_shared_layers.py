"""One layer with the runtime for all workflows of a stack, and definitions apart from it."""

from pathlib import Path
from random import Random

import pytest
from aws_cdk import App, Stack

from tests.synth.deployment import RUNTIME_LAYER, Deployment, function
from tests.synth.machines import Machine, chain, machine, task
from unum_cli.commands.diff import in_assembly
from unum_constructs import UnumFunction
from unum_constructs.errors import ConstructError
from unum_runtime.functions.configuration import ENTRY, INLINE, STORE

PLANNERS = ("Flow/OnFailure/Handler", "Flow/ControlFunction/Function")


def waiting(seconds: int) -> Machine:
    return machine(A=task("A", "W"), W={"Type": "Wait", "Seconds": seconds, "Next": "B"}, B=task("B", "C"), C=task("C"))


def large(size: int = 300_000) -> Machine:
    """A definition that does not become smaller by compression."""
    noise = Random(0).randbytes(size // 2).hex()  # noqa: S311 - text, not a secret
    return machine(A=task("A", "P"), P={"Type": "Pass", "Result": noise, "Next": "B"}, B=task("B"))


def layers_of(deployment: Deployment, path: str) -> list[str]:
    return [layer["Ref"] for layer in deployment.properties(path).get("Layers", ())]


def test_another_wait_publishes_only_the_first_function() -> None:
    before, after = (Deployment.of(waiting(seconds), *"ABC") for seconds in (5, 6))
    assert [key for key in "ABC" if before.version(key) != after.version(key)] == ["A"]
    for key in (*"BC", *PLANNERS):
        assert before.properties(key) == after.properties(key)
        assert before.version(key) == after.version(key)
    assert before.all("Lambda::LayerVersion") == after.all("Lambda::LayerVersion")


@pytest.mark.parametrize("definition", [chain("A", "B"), large()], ids=["in environments", "in a layer"])
def test_the_assembly_has_the_definition(definition: Machine, tmp_path: Path) -> None:
    deployment = Deployment(Stack(App(outdir=str(tmp_path)), "Stack"))
    flow = deployment.flow(definition, {key: function(deployment.stack, key) for key in "AB"})
    found = in_assembly(str(tmp_path), "Flow")
    assert found.digest == flow._workflow.digest


def test_a_function_in_twenty_workflows_has_one_layer() -> None:
    deployment = Deployment.new(**{"@aws-cdk/core:stackResourceLimit": 0})
    shared = function(deployment.stack, "Shared")
    for number in range(20):
        first = f"First{number}"
        functions = {first: function(deployment.stack, first), "Shared": shared}
        deployment.flow(chain(first, "Shared"), functions, f"W{number}")
    assert layers_of(deployment, "Shared") == [deployment.logical_id(RUNTIME_LAYER)]
    assert {each["definition"] for each in deployment.services("Shared").values()} == {STORE}
    assert len(deployment.all("Lambda::LayerVersion")) == 1


def test_a_workflow_that_needs_more_modules_adds_them_to_the_layer_of_all() -> None:
    in_jsonata = {"QueryLanguage": "JSONata", **chain("B")}
    alone, both, other_order = (Deployment.new() for _ in range(3))
    for deployment, kinds in ((alone, "A"), (both, "AB"), (other_order, "BA")):
        for key in kinds:
            definition = chain("A") if key == "A" else in_jsonata
            deployment.flow(definition, {key: function(deployment.stack, key)}, f"Flow{key}")
    assert alone.version("A") != both.version("A")
    contents = [each.resource(RUNTIME_LAYER)["Properties"]["Content"]["S3Key"] for each in (alone, both, other_order)]
    assert contents[0] != contents[1] == contents[2]
    for key in "AB":
        assert layers_of(both, key) == [both.logical_id(RUNTIME_LAYER)]


def test_a_large_definition_is_in_a_layer_of_the_functions_that_bring_it() -> None:
    deployment = Deployment.of(large(), "A", "B")
    runtime, definition = (deployment.logical_id(path) for path in (RUNTIME_LAYER, "Flow/Definition"))
    for path, layers in {"A": [runtime, definition], **{key: [definition] for key in PLANNERS}}.items():
        assert layers_of(deployment, path) == layers
        assert "definition" not in deployment.services(path)["Flow"]
    assert layers_of(deployment, "B") == [runtime]
    other = Deployment.of({**large(), "Comment": "c", "TimeoutSeconds": 9}, "A", "B")
    assert [key for key in "AB" if deployment.version(key) != other.version(key)] == ["A"]


def test_a_large_environment_of_the_user_leaves_the_definition_to_a_layer() -> None:
    deployment = Deployment.new()
    first = function(deployment.stack, "A", environment={"OWN": "x" * 2_600})
    deployment.flow(chain("A", "B"), {"A": first, "B": function(deployment.stack, "B")})
    assert len(layers_of(deployment, "A")) == 2
    for path in PLANNERS:  # they would find nothing in the environment of the first function
        assert layers_of(deployment, path) == [deployment.logical_id("Flow/Definition")]


def test_functions_that_plan_in_place_of_others_bring_no_definition() -> None:
    deployment = Deployment.of(chain("A", "B"), "A", "B")
    for path in PLANNERS:
        assert deployment.services(path)["Flow"]["definition"] == ENTRY
        assert layers_of(deployment, path) == []
    assert deployment.services("A")["Flow"]["definition"].startswith(INLINE)


def differences(before: Deployment, after: Deployment) -> set[str]:
    """Return the logical ids of the resources that another deployment would add, change or remove."""
    old, new = (each.template["Resources"] for each in (before, after))
    return {name for name in old | new if old.get(name) != new.get(name)}


def test_another_wait_changes_the_entrys_version_and_the_start_aliases() -> None:
    before, after = (Deployment.of(waiting(seconds), *"ABC") for seconds in (5, 6))
    versions = [each.version("A") for each in (before, after)]
    own = {*versions, *(f"{version}OnFailure" for version in versions), after.logical_id("A")}
    aliases = {after.logical_id(f"Flow/{each}") for each in ("Start", "Run", "Respond")}
    assert differences(before, after) == own | aliases


def test_more_large_definitions_than_layers_are_refused() -> None:
    deployment = Deployment.new()
    first = function(deployment.stack, "A")
    for number in range(4):
        deployment.flow(large(5_000), functions_with(deployment, first, number), f"W{number}")
    with pytest.raises(ConstructError, match=r"Stack/A: Lambda allows 5 layers; all workflows together need one, and"):
        deployment.flow(large(5_000), functions_with(deployment, first, 4), "W4")


def functions_with(deployment: Deployment, first: UnumFunction, number: int) -> dict[str, UnumFunction]:
    return {"A": first, "B": function(deployment.stack, f"B{number}")}
