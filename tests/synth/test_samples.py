"""Shapes of published samples synthesize with the construct's name changed, and nothing else."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk.assertions import Template

from tests.synth.samples import SAMPLES, Arguments, function, job_poller, text_with_substitutions
from unum_constructs import ConstructError, Definition, UnumWorkflow
from unum_runtime.errors import DefinitionError

Sample = Callable[[Stack], Arguments]


def new_stack(folder: Path) -> Stack:
    return Stack(App(context={"files": str(folder)}), "Stack")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_sample_synthesizes_as_workflow(sample: Sample, tmp_path: Path) -> None:
    stack = new_stack(tmp_path)
    UnumWorkflow(stack, "Machine", **sample(stack))
    found = Template.from_stack(stack).to_json()
    assert not any(each["Type"] == "AWS::StepFunctions::StateMachine" for each in found["Resources"].values())
    assert "${Token[" not in json.dumps(found)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_sample_is_one_of_a_state_machine(sample: Sample, tmp_path: Path) -> None:
    stack = new_stack(tmp_path)
    sfn.StateMachine(stack, "Machine", **sample(stack))
    machines = Template.from_stack(stack).find_resources("AWS::StepFunctions::StateMachine")
    assert len(machines) == 1


def test_functions_in_substitutions_are_wrapped(tmp_path: Path) -> None:
    stack = new_stack(tmp_path)
    UnumWorkflow(stack, "Machine", **text_with_substitutions(stack))
    wrapped = Template.from_stack(stack).find_resources(
        "AWS::Lambda::Function", {"Properties": {"Handler": "unum_runtime.handler.handle"}}
    )
    assert any(name.startswith("WorkFn") for name in wrapped)


def test_exactly_one_definition_is_expected(tmp_path: Path) -> None:
    stack = new_stack(tmp_path)
    with pytest.raises(ConstructError, match="expected one of the two, got none"):
        UnumWorkflow(stack, "None")
    body = job_poller(stack)["definition_body"]
    with pytest.raises(ConstructError, match="expected one of the two, got both"):
        UnumWorkflow(stack, "Both", definition=body, definition_body=body)


def test_substitutions_belong_to_texts_and_files(tmp_path: Path) -> None:
    stack = new_stack(tmp_path)
    values = {"Name": "value"}
    with pytest.raises(ConstructError, match=r"definition_substitutions: .* give them to Definition\.from_asl"):
        UnumWorkflow(stack, "Definition", definition=Definition.from_asl("{}"), definition_substitutions=values)
    with pytest.raises(DefinitionError, match="expected none for a chain"):
        UnumWorkflow(stack, "Chain", **job_poller(stack), definition_substitutions=values)


def test_other_types_are_refused(tmp_path: Path) -> None:
    stack = new_stack(tmp_path)
    with pytest.raises(ConstructError, match=r"definition: expected one of Definition\.from_\.\.\., a DefinitionBody"):
        UnumWorkflow(stack, "Text", definition="machine.asl.json")  # type: ignore[arg-type]
    with pytest.raises(ConstructError, match="definition_body: expected"):
        UnumWorkflow(stack, "Function", definition_body=function(stack, "Fn"))  # type: ignore[arg-type]
