"""Tasks that are called with another role."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.services.started_workflows import arguments_of
from unum_compiler.services.task_permissions import task_statements
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Form, Json, Task
from unum_simulator.local import LocalWorkflow

ROLE = "arn:aws:iam::222222222222:role/caller"
ELSEWHERE = "arn:aws:lambda:us-east-1:222222222222:function:echo"
PUT = "arn:aws:states:::dynamodb:putItem"
INVOKE = "arn:aws:states:::lambda:invoke"
START = "arn:aws:states:::states:startExecution.sync"
JSONATA = {"QueryLanguage": "JSONata"}


def machine(credentials: Json, **fields: Any) -> dict[str, Any]:
    state = {"Type": "Task", "Resource": PUT, "Credentials": credentials, "End": True, **fields}
    return {"StartAt": "A", "States": {"A": state}}


def compiled(definition: Json, functions: tuple[str, ...] | None = None) -> Workflow:
    return compile_workflow(definition, name="w", functions=functions)


def a_task(credentials: Json, **fields: Any) -> Task:
    return compiled(machine(credentials, **fields)).task("A")


def problems(credentials: Json, functions: tuple[str, ...] | None = None, **fields: Any) -> tuple[Problem, ...]:
    with pytest.raises(DefinitionError) as caught:
        compiled(machine(credentials, **fields), functions)
    return caught.value.problems


ITEM = {"TableName": "t", "Item": {"id": {"S.$": "$.id"}}}
ITEM_JSONATA = {"TableName": "t", "Item": {"id": {"S": "{% $states.input.id %}"}}}
PUT_ITEM = {"TableName": "t", "Item": {"id": {"S": "1"}}}
VALUE = {"id": "1", "role": ROLE}

SERVICES: dict[str, tuple[Json, dict[str, Json], Json]] = {
    "a literal": ({"RoleArn": ROLE}, {"Parameters": ITEM}, PUT_ITEM),
    "a path": ({"RoleArn.$": "$.role"}, {"Parameters": ITEM}, PUT_ITEM),
    "in JSONata": ({"RoleArn": ROLE}, {**JSONATA, "Arguments": ITEM_JSONATA}, PUT_ITEM),
    "an expression": ({"RoleArn": "{% $states.input.role %}"}, {**JSONATA, "Arguments": ITEM_JSONATA}, PUT_ITEM),
    "computed arguments": (
        {"RoleArn": ROLE},
        {**JSONATA, "Arguments": "{% {'Item': $states.input.id} %}"},
        {"Item": "1"},
    ),
    "the input alone": ({"RoleArn": ROLE}, {"Resource": ELSEWHERE}, VALUE),
    "the input alone in JSONata": ({"RoleArn": ROLE}, {**JSONATA, "Resource": ELSEWHERE}, VALUE),
    "a function's event": ({"RoleArn": ROLE}, {"Resource": ELSEWHERE, "Parameters": {"n.$": "$.id"}}, {"n": "1"}),
    "lambda:invoke": (
        {"RoleArn": ROLE},
        {"Resource": INVOKE, "Parameters": {"FunctionName": ELSEWHERE, "Payload.$": "$.id"}},
        {"FunctionName": ELSEWHERE, "Payload": "1"},
    ),
}


@pytest.mark.parametrize(("credentials", "fields", "parameters"), SERVICES.values(), ids=SERVICES)
def test_the_service_function_gets_role_and_parameters(
    credentials: Json, fields: dict[str, Json], parameters: Json
) -> None:
    workflow = compiled(machine(credentials, **fields))
    task = workflow.task("A")
    assert (task.form, task.assumes_role) == (Form.SERVICE, True)
    assert Workflow.from_json(workflow.to_json()).task("A") == task
    events = []
    ending = LocalWorkflow(workflow, {"A": lambda event, _context: events.append(event)}).run("e", VALUE)
    assert ending.outcome == Success(None)
    assert events == [{"Credentials": {"RoleArn": ROLE}, "Parameters": parameters}]


def test_a_function_of_another_account_is_named_by_its_arn() -> None:
    assert a_task({"RoleArn": ROLE}, Resource=ELSEWHERE).resource == ELSEWHERE
    invoked = {"FunctionName": ELSEWHERE, "Qualifier": "1"}
    assert a_task({"RoleArn": ROLE}, Resource=INVOKE, Parameters=invoked).resource == "lambda:invoke"


@pytest.mark.parametrize(
    ("credentials", "fields", "role"),
    [
        ({"RoleArn": ROLE}, {"Parameters": ITEM}, ROLE),
        ({"RoleArn": "${Role}"}, {"Parameters": ITEM}, "${Role}"),
        ({"RoleArn.$": "$.role"}, {"Parameters": ITEM}, "*"),
        ({"RoleArn": "{% $states.input.role %}"}, {**JSONATA, "Arguments": ITEM_JSONATA}, "*"),
        ({"RoleArn": ROLE}, {"Resource": START, "Parameters": {"StateMachineArn": "m"}}, ROLE),
        ({"RoleArn": ROLE}, {"Resource": ELSEWHERE}, ROLE),
    ],
)
def test_nothing_is_allowed_but_to_assume_the_role(credentials: Json, fields: dict[str, Json], role: str) -> None:
    task = a_task(credentials, **fields)
    (statement,) = task_statements(task, arguments_of(task))
    assert (statement.actions, statement.resources) == (("sts:AssumeRole",), (role,))
    assert statement.is_wide is (role == "*")


def test_activities_have_none() -> None:
    found = problems({"RoleArn": ROLE}, ("f",), Resource="arn:aws:states:us-east-1:111111111111:activity:a")
    assert [(problem.path, problem.feature) for problem in found] == [("$.States.A.Credentials", "Credentials")]


@pytest.mark.parametrize("credentials", [{}, {"RoleArn": ROLE, "User": "u"}, {"roleArn": ROLE}])
def test_step_functions_knows_a_role_alone(credentials: Json) -> None:
    found = problems(credentials, Parameters=ITEM)
    assert [(problem.path, problem.feature) for problem in found] == [("$.States.A.Credentials", "Credentials")]


MISTAKES: dict[str, tuple[Json, dict[str, Json], str, str]] = {
    "no object": ("r", {"Parameters": ITEM}, "", "expected an object"),
    "no text": ({"RoleArn": 1}, {"Parameters": ITEM}, ".RoleArn", "expected the ARN of a role, got 1"),
    "no path": ({"RoleArn.$": "role"}, {"Parameters": ITEM}, "['RoleArn.$']", "path"),
    "no expression": ({"RoleArn": "{% ( %}"}, {**JSONATA, "Arguments": ITEM_JSONATA}, ".RoleArn", "JSONata"),
    "context": ({"RoleArn.$": "$$.Nowhere"}, {"Parameters": ITEM}, "['RoleArn.$']", "the context object has no"),
}


@pytest.mark.parametrize(("credentials", "fields", "place", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(credentials: Json, fields: dict[str, Json], place: str, message: str) -> None:
    (problem,) = problems(credentials, **fields)
    assert problem.path == f"$.States.A.Credentials{place}"
    assert problem.feature is None
    assert message in problem.message


def test_a_role_may_depend_on_the_execution_s_input() -> None:
    definition = machine({"RoleArn.$": "$$.Execution.Input.role"}, Parameters=ITEM)
    assert compiled(definition).keeps_input
