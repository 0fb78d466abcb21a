"""Tasks that start executions."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.analysis.edges import recursive_functions
from unum_compiler.parsing.task_resources import SERVICES
from unum_compiler.services.started_workflows import arguments_of, starts_itself
from unum_compiler.services.task_permissions import task_statements
from unum_runtime.model.states import Task

ALIAS = "arn:aws:lambda:eu-west-1:123456789012:function:f:start-Child"
RUN = "arn:aws:lambda:eu-west-1:123456789012:function:f:run-Child"
DESCRIBE = "arn:aws:lambda:eu-west-1:123456789012:function:*:describe-Child"
MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:m"


def compiled(action: str = "states:startExecution", **fields: Any) -> Any:
    start = {"Type": "Task", "Resource": f"arn:aws:states:::{action}", "End": True, **fields}
    first = {"Type": "Task", "Resource": "F", "Next": "Start"}
    return compile_workflow({"StartAt": "A", "States": {"A": first, "Start": start}}, name="w", functions=["F"])


def the_task(**fields: Any) -> Task:
    task: Task = compiled(**fields).task("Start")
    return task


def allowed(task: Task, *aliases: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(each.actions, each.resources) for each in task_statements(task, arguments_of(task), aliases)]


@pytest.mark.parametrize(
    "fields",
    [
        {"Parameters": {"StateMachineArn.$": "$$.StateMachine.Id"}},
        {"QueryLanguage": "JSONata", "Arguments": {"StateMachineArn": "{% $states.context.StateMachine.Id %}"}},
    ],
)
def test_the_context_object_names_the_workflow_itself(fields: dict[str, Any]) -> None:
    workflow = compiled(**fields)
    assert starts_itself(workflow.task("Start"))
    assert allowed(workflow.task("Start")) == [(("lambda:InvokeFunction",), ("${Unum::StartAlias::Run}",))]
    assert set(recursive_functions(workflow)) == {"F", SERVICES}


@pytest.mark.parametrize(
    ("action", "called"), [("states:startExecution", (RUN,)), ("states:startExecution.sync:2", (RUN, DESCRIBE))]
)
def test_the_aliases_to_start_and_to_describe_are_all_that_is_called(action: str, called: tuple[str, ...]) -> None:
    task = the_task(action=action, Parameters={"StateMachineArn": ALIAS})
    assert allowed(task) == [(("lambda:InvokeFunction",), called)]


def test_a_placeholder_is_a_workflow_where_the_app_has_one() -> None:
    task = the_task(Parameters={"StateMachineArn": "${Child}"})
    assert allowed(task, "${Child}") == [(("lambda:InvokeFunction",), ("${Child::Run}",))]
    assert allowed(task) == [(("states:StartExecution",), ("${Child}",))]


def test_everything_else_is_a_machine_of_step_functions() -> None:
    for parameters in ({"StateMachineArn": MACHINE}, {"StateMachineArn.$": "$.arn"}):
        workflow = compiled(Parameters=parameters)
        ((actions, _),) = allowed(workflow.task("Start"))
        assert actions == ("states:StartExecution",)
        assert recursive_functions(workflow) == ()


def test_the_role_of_credentials_needs_its_own_permission() -> None:
    role = "arn:aws:iam::123456789012:role/r"
    task = the_task(Parameters={"StateMachineArn": ALIAS}, Credentials={"RoleArn": role})
    assert allowed(task) == [(("sts:AssumeRole",), (role,))]
