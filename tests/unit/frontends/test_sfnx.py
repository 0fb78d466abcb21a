"""Python functions that sfnx compiles: its definitions run here."""

import json
from pathlib import Path
from typing import Any

import pytest
from sfnx.compiler import compile_file, compile_source

from unum_cli.main import main
from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.states import Language
from unum_runtime.simulator import Faults, simulate
from unum_runtime.simulator.local import LocalWorkflow
from unum_runtime.simulator.stand_ins.modelled_services import ModelledServices

EXAMPLE = Path(__file__).parents[3] / "docs" / "snippets" / "functions" / "sfnx_orders.py"
ORDER = {"lines": [{"item": "apple", "count": 3}, {"item": "plum", "count": 2}], "mail": "a@example.org"}


def price(line: Any, _context: Any) -> Any:
    return {"cents": {"apple": 30, "plum": 20}[line["item"]] * line["count"]}


def compiled(source: str | None = None) -> Any:
    machines = compile_file(EXAMPLE) if source is None else compile_source(source)
    (definition,) = machines.values()
    return Definition.from_asl(definition).compile("Orders", None)


def test_the_example_runs_with_its_function_and_a_service() -> None:
    workflow, sent = compiled(), []

    def send(parameters: Any, _context: Any) -> Any:
        sent.append(parameters["MessageBody"])
        return {}

    (mail,) = [task.name for task in workflow.tasks if task.resource == "sqs:sendMessage"]
    ended = LocalWorkflow(workflow, {"Price": price, mail: send}).run("e", ORDER)
    assert isinstance(ended.outcome, Success)
    assert ended.outcome.value == {"total": 130, "lines": 2}
    assert sent == [{"to": "a@example.org", "total": 130}]
    assert {state.language for state in workflow.states.values()} == {Language.JSONATA}


def test_exceptions_of_the_example_fail_the_execution() -> None:
    many = {**ORDER, "lines": [{"item": "apple", "count": 100_000}]}
    ended = LocalWorkflow(
        compiled(), {"Price": price, **ModelledServices(compiled()).handlers(), "price.priced": price}
    )
    outcome = ended.run("e", many).outcome
    assert isinstance(outcome, Failure)
    assert (outcome.error, outcome.cause) == ("TooLargeError", "3000000 cents")


def test_crashes_and_duplicates_change_nothing() -> None:
    workflow = compiled()
    (mail,) = [task.name for task in workflow.tasks if task.resource == "sqs:sendMessage"]
    handlers = {"Price": price, mail: lambda _event, _context: {}}
    ending = simulate(workflow, handlers, ORDER, faults=Faults(crashes=1, duplicates=1), runs=20).assert_one_result()
    assert ending.outcome == Success({"total": 130, "lines": 2})


LOOPS = """
from sfnx import aws, state_machine, parallel, wait

class Stuck(Exception):
    pass

def left():
    return 1

def right():
    return 2

@state_machine
def poll(input: dict[str, int]):
    tries = 0
    while True:
        found = aws.optimized.lambda_.invoke(FunctionName="Check", Payload={"try": tries})
        if found["Payload"]["done"]:
            break
        tries += 1
        if tries > input["most"]:
            raise Stuck("still not done")
        wait(30)
    both = parallel(left, right)
    try:
        aws.optimized.lambda_.invoke(FunctionName="Fail", Payload={})
    except aws.optimized.lambda_.errors.ServiceException:
        return {"tries": tries, "both": both}
    return {"tries": tries, "both": None}
"""


@pytest.mark.parametrize(("most", "expected"), [(3, {"tries": 2, "both": [1, 2]}), (1, "Stuck")])
def test_loops_waits_branches_and_handlers(most: int, expected: Any) -> None:
    class ServiceException(Exception):
        pass

    ServiceException.__name__ = "Lambda.ServiceException"

    def fail(_event: Any, _context: Any) -> None:
        raise ServiceException

    handlers = {"Check": lambda event, _context: {"done": event["try"] == 2}, "Fail": fail}
    outcome = LocalWorkflow(compiled(LOOPS), handlers).run("e", {"most": most}).outcome
    assert (outcome.value if isinstance(outcome, Success) else outcome.error) == expected


def test_what_it_writes_is_what_step_functions_takes() -> None:
    (definition,) = compile_file(EXAMPLE).values()
    Definition.from_asl(definition, substitutions={"Queue": "q"}).compile("Orders", None)
    strict = Definition(json.dumps(definition), compatibility=Compatibility.STRICT)
    assert strict.compile("Orders", None).strict


def test_the_command_line_runs_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (definition,) = compile_file(EXAMPLE).values()
    (tmp_path / "orders.asl.json").write_text(json.dumps(definition), encoding="utf-8")
    (tmp_path / "prices.py").write_text("def Price(line, context): return {'cents': line['count']}", encoding="utf-8")
    functions = ("--functions", str(tmp_path / "prices.py"))
    arguments = ("--auto-mock", "--input", json.dumps(ORDER))
    assert main(["run", str(tmp_path / "orders.asl.json"), *functions, *arguments]) == 0
    assert json.loads(capsys.readouterr().out) == {"total": 5, "lines": 2}
