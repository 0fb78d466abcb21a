"""``unum export``: definitions of files and Python objects as state machines of Step Functions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MACHINE = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "F", "End": True}}}
GRAPH = """
from unum_compiler import graph as g
graph = g.task("First", "F") >> g.task("Second", "G")
def made():
    return graph
number = 7
"""
CHAIN = """
from aws_cdk import App, Stack, aws_lambda as lambda_, aws_stepfunctions as sfn, aws_stepfunctions_tasks as tasks
stack = Stack(App(), "S")
code = lambda_.Code.from_inline("def handle(event, context):\\n    return event\\n")
price = lambda_.Function(stack, "Price", code=code, handler="index.handle", runtime=lambda_.Runtime.PYTHON_3_13)
chain = tasks.LambdaInvoke(stack, "Charge", lambda_function=price).next(sfn.Succeed(stack, "Done"))
"""


@pytest.fixture(autouse=True)
def definitions(unum: Any, file: Callable[..., Path]) -> None:
    file("orders.asl.json", MACHINE)
    file("waits.json", {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "unum:signal:go", "End": True}}})
    file("flow.py", GRAPH)
    file("chained.py", CHAIN)
    Path("orders.ir.json").write_text(unum("compile", "orders.asl.json").out)


@pytest.mark.parametrize("source", ["orders.asl.json", "orders.ir.json"])
def test_state_machine_is_printed_and_its_functions_are_named(unum: Any, source: str) -> None:
    ran = unum("export", source)
    assert ran.code == 0
    assert json.loads(ran.out)["States"]["A"]["Resource"] == "${F}"
    assert ran.err == "definition_substitutions: F\n"


def test_functions_get_arns_and_the_machine_a_file(unum: Any) -> None:
    ran = unum("export", "orders.asl.json", "--function", "F=arn:aws:lambda:r:1:function:f", "-o", "out/machine.json")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    written = json.loads(Path("out/machine.json").read_text())
    assert written["States"]["A"]["Resource"] == "arn:aws:lambda:r:1:function:f"


@pytest.mark.parametrize("source", ["flow.py:graph", "flow.py:made"])
def test_graph_of_a_python_file_is_exported(unum: Any, source: str) -> None:
    found = json.loads(unum("export", source, "--json").out)
    assert ([*found["machine"]["States"]], found["substitutions"]) == (["First", "Second"], ["F", "G"])


def test_chain_of_the_cdk_is_exported(unum: Any) -> None:
    found = json.loads(unum("export", "chained.py:chain", "--json").out)
    charge = found["machine"]["States"]["Charge"]
    assert charge["Resource"].endswith(":states:::lambda:invoke")
    assert charge["Parameters"]["FunctionName"] == f"${{{found['substitutions'][0]}}}"
    assert found["changed"] == []


def test_machine_that_would_do_otherwise_is_printed_on_demand_alone(unum: Any) -> None:
    refused = unum("export", "waits.json")
    assert (refused.code, refused.out) == (1, "")
    assert "! $.States.A.Resource: extension of the language: Step Functions has no signals" in refused.err
    assert json.loads(unum("export", "waits.json", "--anyway").out)["StartAt"] == "A"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.json"], 2, "nowhere.json"),
        (["nowhere.py:graph"], 2, "expected a Python file"),
        (["flow.py:nothing"], 2, "expected an object called 'nothing'"),
        (["flow.py:number"], 2, "expected a graph"),
        (["orders.asl.json", "--function", "F"], 2, "expected KEY=ARN"),
        ([], 2, "expected FILE"),
    ],
)
def test_mistakes_are_told(unum: Any, arguments: list[str], code: int, message: str) -> None:
    ran = unum("export", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


def test_definition_that_does_not_compile_is_not_exported(unum: Any, file: Callable[..., Path]) -> None:
    file("bad.json", {"StartAt": "B", "States": {"A": {"Type": "Succeed"}}})
    ran = unum("export", "bad.json")
    assert (ran.code, ran.out) == (1, "")
    assert "bad.json" in ran.err
