"""Lambda's context in this process, beside AWS's own runtime client."""

import ast
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from unum_compiler.definition import Definition
from unum_simulator import NO_FAULTS, Context, Faults, simulate
from unum_simulator.local import LocalWorkflow
from unum_simulator.stand_ins.lambda_context import LambdaContext

ROOT = Path(__file__).parents[3]
CLIENT = next(ROOT.glob("emulator/.venv/lib/python*/site-packages/awslambdaric/lambda_context.py"), None)
WORKFLOW = Definition.from_asl(
    {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "do.it", "End": True}}}
).compile("Flow", None)


def seen(run: Any) -> list[LambdaContext]:
    contexts: list[LambdaContext] = []

    def handler(_event: Any, context: LambdaContext) -> int:
        context.noted = len(contexts)  # type: ignore[attr-defined]
        contexts.append(context)
        return context.get_remaining_time_in_millis()

    run({"do.it": handler})
    return contexts


def locally(functions: Any) -> None:
    LocalWorkflow(WORKFLOW, functions).run("e", {})


def in_the_simulator(functions: Any) -> None:
    simulate(WORKFLOW, functions, {}, faults=NO_FAULTS, runs=1)


@pytest.mark.parametrize("run", [locally, in_the_simulator])
def test_every_attribute_of_a_function_is_there(run: Any) -> None:
    (context,) = seen(run)
    assert context.function_name == "do-it"
    assert context.invoked_function_arn == "arn:aws:lambda:us-east-1:123456789012:function:do-it"
    assert (context.function_version, context.memory_limit_in_mb) == ("$LATEST", "128")
    assert context.log_group_name == "/aws/lambda/do-it"
    assert context.log_stream_name.startswith("1970/01/01/[$LATEST]")
    assert context.aws_request_id
    assert (context.identity.cognito_identity_id, context.identity.cognito_identity_pool_id) == (None, None)
    assert (context.client_context, context.tenant_id, context.w3c()) == (None, None, {})
    assert context.unum.state == "A"
    assert 890_000 < context.get_remaining_time_in_millis() <= 900_000


@pytest.mark.skipif(CLIENT is None, reason="the emulator is not installed: run `make setup`")
def test_nothing_of_the_runtime_clients_context_is_missing() -> None:
    assert CLIENT is not None
    client = next(
        node
        for node in ast.walk(ast.parse(CLIENT.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name == "LambdaContext"
    )
    names = {
        node.attr
        for node in ast.walk(client)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    } | {node.name for node in client.body if isinstance(node, ast.FunctionDef)}
    public = {name for name in names if not name.startswith("_")}
    assert {"function_name", "log", "identity"} <= public
    assert [name for name in public if not hasattr(seen(locally)[0], name)] == []


def test_the_request_id_is_a_uuid_and_the_log_is_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    (context,) = seen(locally)
    assert str(UUID(context.aws_request_id)) == context.aws_request_id
    context.log("said")
    assert capsys.readouterr().out == "said"


def test_remaining_time_follows_the_simulations_clock_to_the_timeout() -> None:
    left = []

    def slow(_event: Any, context: Context) -> None:
        left.append(context.get_remaining_time_in_millis())
        context.clock.sleep(60)
        left.append(context.get_remaining_time_in_millis())
        if context.run == 0:
            context.clock.sleep(3_000)
            left.append(context.get_remaining_time_in_millis())

    simulate(WORKFLOW, {"do.it": slow}, {}, faults=Faults(crashes=0, duplicates=0, concurrency=1), runs=1)
    assert left[0] - left[1] == 60_000
    assert left[2] == 0
    assert len(left) == 5  # the sandbox was killed, and the event delivered again
