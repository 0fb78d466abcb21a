"""Python functions that sfnx compiles: its definitions run here."""

import json
from pathlib import Path
from typing import Any

import pytest
from sfnx.compiler import compile_file, compile_source
from sfnx.diagnostics import CompileError

from unum_cli.main import main
from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.states import Language
from unum_simulator import Faults, simulate
from unum_simulator.local import LocalWorkflow
from unum_simulator.stand_ins.modelled_services import ModelledServices

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


HEAD = "from sfnx import state_machine\n@state_machine\ndef p(input: dict[str, int]):\n"
PROGRAM = """
from sfnx import inline_map, parallel, state_machine

LIMIT = 100
NAMES = {"even": "E", "odd": "O"}

class Negative(Exception):
    pass

class Large(Exception):
    pass

def factorial(n: int) -> int:
    result = 1
    left = n
    while left > 1:
        result *= left
        left -= 1
    return result

def label(x: int) -> str:
    if x < 0:
        raise Negative(f"{x} is negative")
    elif x % 2 == 0:
        text = NAMES["even"] + str(x)
        return text
    return NAMES["odd"]

@state_machine
def program(input: dict[str, list[list[int]]]):
    rows = []
    trace = []
    for number, row in enumerate(input["rows"]):
        if len(row) == 0:
            continue
        if row[0] > LIMIT:
            break
        try:
            labels = inline_map(label, row)
            if len(row) > 3:
                raise Large("many")
            trace.append(f"{number}: {', '.join(labels)}")
        except Negative as error:
            trace.append(f"{number}: {error}")
        except Exception:  # whatever else it is: a catcher of States.ALL
            trace.append("other")
        squares = [x * x for x in row if x > 0]
        def total():
            added = 0
            for x in squares:
                added += x
            return added
        def largest():
            return max(row)
        both = parallel(total, largest)
        made = factorial(len(row))
        size = "big" if both[0] > 50 else "mid" if both[0] > 10 else "small"
        rows.append({"both": both, "made": made, "size": size, "sorted": sorted(row), "last": row[-1]})
    return {"rows": rows, "trace": trace, "first": [each["size"] for each in rows if each["made"] == 1]}
"""


@pytest.mark.parametrize(
    "rows",
    [[], [[]], [[7]], [[1, 2, 3], [], [4]], [[5, -1]], [[9, 8, 7, 6], [2]], [[101], [1]], [[3], [101, 1], [2]]],
)
def test_a_program_gives_what_python_gives(rows: list[list[int]]) -> None:
    python: dict[str, Any] = {}
    exec(PROGRAM, python)  # noqa: S102 - the program above, whose decorators leave it as it is
    outcome = LocalWorkflow(compiled(PROGRAM), {}).run("e", {"rows": rows}).outcome
    assert outcome == Success(python["program"]({"rows": rows}))


@pytest.mark.parametrize(
    ("expression", "python", "here"),
    [
        ("f'{input[\"one\"] == 1}'", "True", "true"),
        ("f'{0.1 + 0.2}'", "0.30000000000000004", "0.3"),
        ("str(3.0)", "3.0", "3"),
        ("json.dumps([1, 2])", "[1, 2]", "[1,2]"),
    ],
)
def test_text_differs_from_that_of_python(expression: str, python: str, here: str) -> None:
    """JSONata's text is as docs/graph.md shows it."""
    source = f"import json\n{HEAD}    return {expression}\n"
    given = {"one": 1}
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102 - written above
    assert names["p"](given) == python
    assert LocalWorkflow(compiled(source), {}).run("e", given).outcome == Success(here)


def test_operations_without_a_result() -> None:
    """Such operations are as docs/graph.md shows them."""
    workflow = compiled(f"{HEAD}    return 10 / input['n']\n")
    assert LocalWorkflow(workflow, {}).run("e", {"n": 0}).outcome == Success("Infinity")
    missing = LocalWorkflow(workflow, {}).run("e", {}).outcome
    assert isinstance(missing, Failure)
    assert missing.error == "States.QueryEvaluationError"


def test_a_loop_loses_assignments_to_parameters() -> None:
    """docs/graph.md warns of this; a version that keeps them makes the warning superfluous."""
    source = """
from sfnx import state_machine

def raised(n: int) -> int:
    rounds = 0
    while rounds < 3:
        rounds += 1
        n += 1
    return n

@state_machine
def program(input: dict[str, int]):
    found = raised(input["n"])
    return found
"""
    assert LocalWorkflow(compiled(source), {}).run("e", {"n": 12}).outcome != Success(15)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("with open('a') as file: pass", "with is not supported"),
        ("x = = 1", "invalid syntax"),
        ("import os; os.remove('a')", "import"),
        ("yield 1", "state machine"),
    ],
)
def test_what_sfnx_cannot_compile_is_named_with_its_line(line: str, words: str) -> None:
    source = (
        f"from sfnx import state_machine\n@state_machine\ndef p(input: dict[str, int]):\n    {line}\n    return 1\n"
    )
    with pytest.raises(CompileError, match=rf":4:\d+: .*{words}"):
        compile_source(source)
