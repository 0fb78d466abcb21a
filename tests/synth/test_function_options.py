"""Guards, checkpoints and memoization, from the constructs to the layer's IR."""

from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from tests.synth.deployment import CODE, Deployment, function
from tests.synth.machines import chain
from unum_constructs import ConstructError, Delivery, FunctionOptions, Guard
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow

LEASE = FunctionOptions(guard=Guard.LEASE)


def ir(flow: Any) -> Workflow:
    workflow = flow._workflow
    assert isinstance(workflow, Workflow)
    return workflow


def test_options_come_from_the_function_or_from_the_workflow() -> None:
    deployment = Deployment.new()
    code = lambda_.Code.from_inline(CODE)
    plain = lambda_.Function(
        deployment.stack, "C", code=code, handler="index.handle", runtime=lambda_.Runtime.PYTHON_3_13
    )
    functions = {
        "A": function(deployment.stack, "A", guard=Guard.LEASE),
        "B": function(deployment.stack, "B", checkpoint=False),
        "C": plain,
        "D": function(deployment.stack, "D", guard=Guard.COMMIT),
        "E": function(deployment.stack, "E"),
    }
    given = {"C": FunctionOptions(memoize=True), "D": LEASE}
    flow = deployment.flow(chain(*"ABCDE"), functions, function_options=given)
    found = {task.name: (task.guard, task.committed_by, task.memoize) for task in ir(flow).tasks}
    assert found == {
        "A": (Guard.LEASE, None, False),
        "B": (Guard.COMMIT, "C", False),
        "C": (Guard.READ, None, True),
        "D": (Guard.LEASE, None, False),
        "E": (Guard.READ, None, False),
    }


def test_a_function_without_checkpoint_at_the_end_stops_the_synth() -> None:
    with pytest.raises(DefinitionError, match=r'Flow: \$\.States\.B\.Resource: "B" has checkpoint=False'):
        Deployment.of(chain("A", "B"), "A", "B", function_options={"B": FunctionOptions(checkpoint=False)})


def test_options_of_an_unknown_function_are_refused() -> None:
    with pytest.raises(ConstructError, match=r"function_options\['X'\]: expected a key of `functions`, \['A'\]"):
        Deployment.of(chain("A"), "A", function_options={"X": LEASE})


@pytest.mark.parametrize("options", [LEASE, FunctionOptions(memoize=True)])
def test_waiters_need_no_repeated_deliveries(options: FunctionOptions) -> None:
    age = Duration.minutes(1)
    deployed = Deployment.of(
        chain("A"), "A", delivery=Delivery(retry_attempts=0, max_event_age=age), function_options={"A": options}
    )
    configured = deployed.properties("A/CurrentVersion/EventInvokeConfig")
    assert (configured["MaximumRetryAttempts"], configured["MaximumEventAgeInSeconds"]) == (0, 60)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"guard": "none"}, r"guard: expected one of \['read', 'commit', 'lease'\], or None, got 'none'"),
        ({"memoize": "yes"}, "memoize: expected True, False or a Memoization, got 'yes'"),
        ({"checkpoint": False, "memoize": True}, "expected checkpoint=False alone, got memoize=True as well: .*"),
        ({"memory_size": 64}, "memory_size: expected 128 to 10240 MB, got 64"),
        ({"timeout": Duration.minutes(20)}, "timeout: expected whole seconds, 1 to 900, got 1200 s; use a Task .*"),
        ({"timeout": Duration.millis(1500)}, "timeout: expected whole seconds, 1 to 900, got 1.5 s; use a Task .*"),
        ({"log_group": "logs"}, "log_group: expected an aws_logs.ILogGroup, got 'logs'"),
    ],
)
def test_what_a_function_cannot_have_is_told_with_its_path(options: dict[str, Any], said: str) -> None:
    stack = Deployment.new().stack
    with pytest.raises(ConstructError, match=f"^Stack/Part/Mine: {said}$"):
        function(Construct(stack, "Part"), "Mine", **options)  # type: ignore[arg-type]


def test_limits_that_only_the_deployment_knows() -> None:
    deployment = Deployment.new()
    number = CfnParameter(deployment.stack, "Number", type="Number").value_as_number
    function(deployment.stack, "A", memory_size=number, timeout=Duration.seconds(number))
    properties = deployment.properties("A")
    assert properties["MemorySize"] == properties["Timeout"] == {"Ref": "Number"}


def test_a_vpc_that_is_none_allows_nothing() -> None:
    deployment = Deployment.new()
    function(deployment.stack, "A", vpc=None)
    statements = [each["Properties"]["PolicyDocument"]["Statement"] for each in deployment.all("IAM::Policy").values()]
    assert "ec2:" not in str(statements)
