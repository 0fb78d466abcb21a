"""Functions with several handlers: one Lambda function for several Tasks, which name a handler each."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, Duration, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks

from tests.synth.deployment import CODE, Deployment, function
from tests.synth.machines import chain, machine, task
from unum_compiler import to_compiled
from unum_constructs import ConstructError, Definition, FunctionOptions, UnumFunction, UnumWorkflow
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow

PATHS = {"Split": "orders.split", "Price": "orders.price"}


def orders(stack: Stack, construct_id: str = "Orders", **options: Any) -> UnumFunction:
    given: dict[str, Any] = {"code": lambda_.Code.from_inline(CODE), "handlers": PATHS, **options}
    return UnumFunction(stack, construct_id, **given)


def handlers_of(flow: UnumWorkflow) -> dict[str, tuple[str, str | None]]:
    return {each.name: (each.function, each.handler) for each in flow._workflow.tasks}


def test_one_function_hosts_a_task_for_each_handler() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("Split", "Price"), orders(deployment.stack))
    assert handlers_of(flow) == {"Split": ("Split", "Split"), "Price": ("Split", "Price")}
    variables = deployment.properties("Orders")["Environment"]["Variables"]
    assert json.loads(variables["UNUM_HANDLERS"]) == PATHS
    assert "UNUM_HANDLER" not in variables
    assert [each for each in deployment.all("Lambda::Function") if not each.startswith("Flow")] == [
        deployment.logical_id("Orders")
    ]


def test_it_may_stand_among_others() -> None:
    deployment = Deployment.new()
    mine, ship = orders(deployment.stack), function(deployment.stack, "Ship")
    flow = deployment.flow(chain("Split", "Ship", "Price"), {**mine.by_key, "Ship": ship})
    assert handlers_of(flow) == {"Split": ("Split", "Split"), "Ship": ("Ship", None), "Price": ("Split", "Price")}


def test_its_tasks_share_its_resources() -> None:
    def resources(functions: Callable[[Stack], Any]) -> int:
        deployment = Deployment.new()
        deployment.flow(chain(*PATHS), functions(deployment.stack))
        return len(deployment.template["Resources"])

    apart = resources(lambda stack: {key: function(stack, key) for key in PATHS})
    assert resources(orders) == apart - 6


def test_several_workflows_use_what_they_need() -> None:
    deployment = Deployment.new()
    mine = orders(deployment.stack)
    one = deployment.flow(chain("Price"), mine.by_key, "One")
    two = deployment.flow(chain("Split", "Price"), mine.by_key, "Two")
    assert handlers_of(one)["Price"][1] == handlers_of(two)["Price"][1] == "Price"


def test_options_of_the_function_hold_for_each_of_its_tasks() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("Split", "Price"), orders(deployment.stack, memoize=True).by_key)
    assert all(each.memoize for each in flow._workflow.tasks)
    only = {"Price": FunctionOptions(memoize=True)}
    other = deployment.flow(
        chain("Split", "Price"), orders(deployment.stack, "More").by_key, "Other", function_options=only
    )
    assert [each.memoize for each in other._workflow.tasks] == [False, True]


def test_the_compiled_form_may_name_handlers_itself() -> None:
    deployment = Deployment.new()
    mine = orders(deployment.stack)
    flow = deployment.flow(chain("Split", "Price"), mine.by_key)
    again = deployment.flow(Definition.from_ir(to_compiled(flow._workflow)), mine.by_key, "Again")
    assert handlers_of(again) == handlers_of(flow)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "handler, handlers: expected one of the two, got none"),
        ({"handler": "a.b", "handlers": PATHS}, "handler, handlers: expected one of the two, got both"),
        ({"handlers": {}}, "handlers: expected at least one"),
        ({"handlers": ["orders.split"]}, "handlers: expected at least one"),
        ({"handlers": {"": "a.b"}}, "handlers: expected texts as keys, got ''"),
        ({"handlers": {"Split": "split"}}, r"handlers\['Split'\]: expected a handler \"module.function\", got 'split'"),
        ({"handlers": {"Split": 1}}, r"handlers\['Split'\]: expected a handler"),
    ],
)
def test_handlers_that_cannot_be(arguments: dict[str, Any], reason: str) -> None:
    stack = Stack(App(), "Stack")
    with pytest.raises(ConstructError, match=reason):
        UnumFunction(stack, "Orders", code=lambda_.Code.from_inline(CODE), **arguments)


def test_a_python_that_has_to_be_called() -> None:
    deployment = Deployment.new()
    old = orders(deployment.stack, runtime=lambda_.Runtime.PYTHON_3_9)
    with pytest.raises(ConstructError, match=r"functions\['Split'\]: Stack/Orders: expected Python 3.11 or newer"):
        deployment.flow(chain("Split"), old)


def test_a_key_that_no_handler_has() -> None:
    deployment = Deployment.new()
    mine = orders(deployment.stack)
    with pytest.raises(
        ConstructError, match=r"functions\['Pack'\]: Stack/Orders has the handlers \['Split', 'Price'\]"
    ):
        deployment.flow(chain("Pack"), {"Pack": mine})


def test_a_function_with_one_handler_needs_a_key() -> None:
    deployment = Deployment.new()
    with pytest.raises(ConstructError, match=r"functions: expected functions by key, .*; got Stack/A, which has one"):
        deployment.flow(chain("A"), function(deployment.stack, "A"))


def test_a_task_names_the_handler_and_not_the_function() -> None:
    deployment = Deployment.new()
    mine = orders(deployment.stack)
    with pytest.raises(DefinitionError, match="Stack/Orders"):
        deployment.flow(machine(A=task(mine.function_arn)), mine.by_key)
    step = tasks.LambdaInvoke(deployment.stack, "Step", lambda_function=mine, payload_response_only=True)
    with pytest.raises(ConstructError, match=r"has the handlers \['Split', 'Price'\]; let the Task name"):
        UnumWorkflow(deployment.stack, "Chained", definition=Definition.from_chainable(sfn.Chain.start(step)))


def test_ir_with_a_handler_that_its_function_lacks() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("Split"), orders(deployment.stack).by_key)
    other = flow._workflow.to_json().replace('"handler":"Split"', '"handler":"Pack"')
    assert other != flow._workflow.to_json()
    wrong = to_compiled(Workflow.from_json(other))
    with pytest.raises(ConstructError, match=r"states\['Split'\].handler: expected one of \['Split', 'Price'\]"):
        deployment.flow(Definition.from_ir(wrong), orders(deployment.stack, "More").by_key, "Other")
    with pytest.raises(ConstructError, match=r"expected one of \[\], the handlers of Stack/Split; got 'Pack'"):
        deployment.flow(Definition.from_ir(wrong), {"Split": function(deployment.stack, "Split")}, "Third")


def test_what_it_needs_beside_is_as_for_other_functions() -> None:
    deployment = Deployment.new()
    deployment.flow(chain("Split", "Price"), orders(deployment.stack, timeout=Duration.seconds(9)).by_key)
    assert deployment.properties("Orders")["Timeout"] == 9
    assert deployment.properties("Orders")["Handler"] == "unum_runtime.handler.handle"
