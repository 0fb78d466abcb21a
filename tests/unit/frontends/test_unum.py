"""Applications in the formats of the original Unum: their three dialects, their patterns, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow

Write = Callable[..., Path]
EXAMPLE = Path(__file__).parents[3] / "docs" / "snippets" / "migration" / "unum"
FAN_IN = "Fan-in"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write an application with a function for each configuration; the first one starts."""

    def write(_globals: Any = None, **configurations: Any) -> Path:
        functions = {
            name: {"Properties": {"CodeUri": f"{name.lower()}/", "Runtime": "python3.13"}} for name in configurations
        }
        first = next(iter(functions), None)
        if first:
            functions[first]["Properties"]["Start"] = True  # type: ignore[assignment]
        template = {"Globals": _globals or {"ApplicationName": "own"}, "Functions": functions}
        (tmp_path / "unum-template.yaml").write_text(json.dumps(template))
        for name, configuration in configurations.items():
            folder = tmp_path / name.lower()
            folder.mkdir(exist_ok=True)
            (folder / "unum_config.json").write_text(json.dumps({"Name": name, **configuration}))
        return tmp_path

    return write


def ended(folder: Path, value: Json, **functions: Callable[[Any], Json]) -> Json:
    """The result of an execution, or the name of its error; other functions hand their input on."""
    workflow = Definition.from_unum(folder).compile("w", None)
    handlers = {task.function: handler(functions.get(task.function, lambda given: given)) for task in workflow.tasks}
    outcome = LocalWorkflow(workflow, handlers).run("e", value).outcome
    return outcome.value if isinstance(outcome, Success) else outcome.error


def handler(function: Callable[[Any], Json]) -> Callable[[Json, Any], Json]:
    return lambda event, _context: function(event)


def refused(folder: Path) -> str:
    with pytest.raises(DefinitionError) as caught:
        Definition.from_unum(folder)
    (problem,) = caught.value.problems
    return str(problem)


def scalar(target: str, **more: Any) -> dict[str, Any]:
    return {"Name": target, "InputType": "Scalar", **more}


def fan_in(target: str, *values: str, **more: Any) -> dict[str, Any]:
    return {"Name": target, "InputType": {FAN_IN: {"Values": [*values]}}, **more}


def test_the_example_of_the_page_runs() -> None:
    prices = {"pen": 2, "ink": 7}
    total = ended(
        EXAMPLE,
        {"pen": 3, "ink": 1},
        Lines=lambda lines: [*lines.items()],
        Price=lambda e: prices[e[0]] * e[1],
        Total=sum,
    )
    assert total == 13


CHAIN = {
    "in the edge": ({"Next": scalar("B")}, {"Next": scalar("C")}),
    "as Type": ({"Next": {"Name": "B", "Type": "Scalar"}}, {"Next": {"Name": "C", "Type": "Scalar"}}),
    "beside the edges": (
        {"Next": {"Name": "B"}, "NextInput": "Scalar"},
        {"Next": {"Name": "C"}, "NextInput": "Scalar"},
    ),
    "as a name": ({"Next": "B", "NextInput": "Scalar"}, {"Next": "C"}),
}


@pytest.mark.parametrize("edges", CHAIN.values(), ids=CHAIN)
def test_a_chain(write: Write, edges: Any) -> None:
    folder = write(A=edges[0], B=edges[1], C={})
    assert ended(folder, 1, A=lambda n: n + 1, B=lambda n: n * 10, C=lambda n: [n]) == [20]


MAPS = {
    "in the edge": (
        {"Next": {"Name": "B", "InputType": "Map"}},
        {"Next": fan_in("D", "C-unumIndex-*"), "Next Payload Modifiers": ["Pop"]},
    ),
    "as Type": (
        {"Next": {"Name": "B", "Type": "Map"}},
        {"Next": {"Name": "D", "Type": FAN_IN, "Values": ["C-UnumIndex-*"], "Payload Modifiers": ["Pop"]}},
    ),
    "beside the edges": (
        {"Next": {"Name": "B"}, "NextInput": "Map"},
        {
            "Next": {"Name": "D", "Conditional": "$0 == $size - 1"},
            "NextInput": {FAN_IN: {"Values": ["C-unumIndex-*"], "Wait": True}},
            "Fan-out Modifiers": ["Pop"],
        },
    ),
}


@pytest.mark.parametrize("edges", MAPS.values(), ids=MAPS)
def test_a_map_of_chains_is_joined_in_order(write: Write, edges: Any) -> None:
    folder = write(A=edges[0], B={"Next": "C"}, C=edges[1], D={})
    assert ended(folder, [1, 2, 3], B=lambda n: n + 1, C=lambda n: n * 10, D=lambda rows: {"rows": rows}) == {
        "rows": [20, 30, 40]
    }
    assert ended(folder, [], D=len) == 0


def test_branches_arrive_in_the_order_of_the_values(write: Write) -> None:
    values = ("C-unumIndex-1", "B-unumIndex-0")
    folder = write(
        A={"Next": [scalar("B"), scalar("C")]}, B={"Next": fan_in("D", *values)}, C={"Next": fan_in("D", *values)}, D={}
    )
    assert ended(folder, 1, B=lambda n: f"b{n}", C=lambda n: f"c{n}") == ["c1", "b1"]


def test_branches_of_the_oldest_dialect_wait_for_each_other(write: Write) -> None:
    folder = write(
        A={"Next": ["B", "C"], "NextInput": "Scalar"},
        B={"Next": "D", "WaitFor": "C", "NextInput": FAN_IN},
        C={"Next": "D", "WaitFor": "B", "NextInput": FAN_IN},
        D={},
    )
    assert ended(folder, 1, B=lambda n: f"b{n}", C=lambda n: f"c{n}") == ["b1", "c1"]


def test_fan_outs_may_be_nested(write: Write) -> None:
    folder = write(
        A={"Next": {"Name": "B", "InputType": "Map"}},
        B={"Next": [scalar("C"), scalar("D")]},
        C={"Next": "C2"},
        C2={"Next": fan_in("E", "C2-unumIndex-0", "D-unumIndex-1"), "Next Payload Modifiers": ["Pop"]},
        D={"Next": fan_in("E", "C2-unumIndex-0", "D-unumIndex-1"), "Next Payload Modifiers": ["Pop"]},
        E={"Next": fan_in("F", "E-unumIndex-*")},
        F={},
    )
    assert ended(folder, [1, 2], C2=lambda n: -n, E=sum, D=lambda n: n * 10) == [9, 18]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("$ret < 50", "$ret >= 50"),
        ("$out<50", "not $out < 50"),
        ("$ret <= 49 and $ret != 49.5", "$ret > 49.9 or $ret == 49.5"),
    ],
)
def test_one_condition_holds(write: Write, low: str, high: str) -> None:
    folder = write(
        A={"Next": [scalar("B", Conditional=low), scalar("C", Conditional=high)]},
        B={"Next": "D"},
        C={"Next": "D"},
        D={},
    )
    found = [ended(folder, value, B=lambda _: "low", C=lambda _: "high") for value in (3, 49, 50, 51)]
    assert found == ["low", "low", "high", "high"]


def test_a_condition_reads_a_member_and_may_not_hold(write: Write) -> None:
    folder = write(A={"Next": scalar("B", Conditional="$ret['kind']['name'] == 'b'")}, B={})
    assert ended(folder, {"kind": {"name": "b"}}, B=lambda _: "B ran") == "B ran"
    assert ended(folder, {"kind": {"name": "c"}}, B=lambda _: "B ran") == {"kind": {"name": "c"}}


def test_a_branch_that_would_never_arrive_fails(write: Write) -> None:
    folder = write(
        A={"Next": {"Name": "B", "InputType": "Map"}},
        B={"Next": [scalar("C", Conditional="$ret == 1"), scalar("D", Conditional="$ret == 2")]},
        C={"Next": "E"},
        D={"Next": "E"},
        E={"Next": fan_in("F", "E-unumIndex-*")},
        F={},
    )
    assert ended(folder, [1, 2], C=lambda _: "c", D=lambda _: "d") == ["c", "d"]
    assert ended(folder, [1, 3]) == "States.NoChoiceMatched"


def test_a_function_continues_with_the_next_index(write: Write) -> None:
    loop = {"Next": scalar("A", Conditional="$0 < $size-1"), "Next Payload Modifiers": ["$0=$0+1"]}
    event = {"Data": {"Source": "http", "Value": 0}, "Fan-out": {"Type": "Map", "Index": 1, "Size": 4}}
    assert ended(write(A=loop), event, A=lambda n: n + 1) == 3


def test_a_template_may_name_a_state_machine(write: Write) -> None:
    folder = write({"WorkflowType": "step-functions", "WorkflowDefinition": "flow.json"}, A={})
    machine = {"StartAt": "T", "States": {"T": {"Type": "Task", "Resource": "A", "End": True}}}
    (folder / "flow.json").write_text(json.dumps(machine))
    assert json.loads(Definition.from_unum(folder).text) == machine
    (folder / "flow.json").unlink()
    assert "$.Globals.WorkflowDefinition: expected a file" in refused(folder)


def test_a_generated_state_machine_serves_functions_without_configuration(write: Write) -> None:
    folder = write(A={})
    machine = {"StartAt": "T", "States": {"T": {"Type": "Task", "Resource": "A", "End": True}}}
    (folder / "unum-step-functions.json").write_text(json.dumps(machine))
    assert json.loads(Definition.from_unum(folder).text)["StartAt"] == "A"
    (folder / "a" / "unum_config.json").unlink()
    assert json.loads(Definition.from_unum(folder).text) == machine


TO_B = {"Next": scalar("B")}
TO_MAP = {"Next": {"Name": "B", "InputType": "Map"}}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown field": ({"A": {"Retry": 3}}, "a/unum_config.json: $.Retry: not supported; known here: "),
    "an error": (
        {"A": {"Next": [scalar("B"), {"Name": "B", "InputType": "Error"}]}, "B": {}},
        "a/unum_config.json: $.Next[1]: expected the type",
    ),
    "another name": ({"A": {"Name": "B"}}, 'a/unum_config.json: $.Name: expected "A", as in the template'),
    "an unknown function": ({"A": TO_B}, 'a/unum_config.json: $.Next: there is no function "B"'),
    "two starts": ({"A": {}, "B": {"Start": True}}, "expected \"Start\": true in one function, found ['A', 'B']"),
    "no way": ({"A": {}, "B": {}}, 'b/unum_config.json: $: no edge leads from "A" to "B"'),
    "a neighbour": (
        {"A": TO_MAP, "B": {"Next": fan_in("C", "B-unumIndex-$0", "B-unumIndex-($0+1)")}, "C": {}},
        "expected results of the same branch and of the one before, got one of a later branch",
    ),
    "a fan-in without a fan-out": ({"A": {"Next": fan_in("B", "A-unumIndex-*")}, "B": {}}, "needs a fan-out before it"),
    "one branch of two": (
        {"A": {"Next": [scalar("B"), scalar("C")]}, "B": {"Next": fan_in("D", "B-unumIndex-0")}, "C": {}, "D": {}},
        'the branch that begins with "C" does not end in this fan-in',
    ),
    "a part of the branches": (
        {
            "A": {"Next": [scalar("B"), scalar("C")]},
            "B": {"Next": fan_in("D", "B-unumIndex-0")},
            "C": {"Next": fan_in("D", "B-unumIndex-0")},
            "D": {},
        },
        "expected one invocation of each branch, got ['B']",
    ),
    "the index of another branch": (
        {
            "A": {"Next": [scalar("B"), scalar("C")]},
            "B": {"Next": fan_in("D", "B-unumIndex-1", "C-unumIndex-0")},
            "C": {"Next": fan_in("D", "B-unumIndex-1", "C-unumIndex-0")},
            "D": {},
        },
        "'B' ends another branch than 1",
    ),
    "other values": (
        {
            "A": {"Next": [scalar("B"), scalar("C")]},
            "B": {"Next": fan_in("D", "B-unumIndex-0", "C-unumIndex-1")},
            "C": {"Next": fan_in("D", "C-unumIndex-1")},
            "D": {},
        },
        "c/unum_config.json: $.Next: expected the same fan-in as in",
    ),
    "a function in two branches": (
        {"A": {"Next": [scalar("B"), scalar("C")]}, "B": {"Next": "D"}, "C": {"Next": "D"}, "D": {}},
        "the function is in two branches",
    ),
    "conditions that overlap": (
        {"A": {"Next": [scalar("B", Conditional="$ret > 1"), scalar("C", Conditional="$ret > 2")]}, "B": {}, "C": {}},
        "$.Next[1]: Conditional: expected conditions of which one holds",
    ),
    "conditions on two members": (
        {
            "A": {"Next": [scalar("B", Conditional="$ret['a'] == 1"), scalar("C", Conditional="$ret['b'] == 1")]},
            "B": {},
            "C": {},
        },
        "expected conditions of which one holds",
    ),
    "a call": (
        {"A": {"Next": scalar("B", Conditional="len($ret) == 1")}, "B": {}},
        "expected comparisons of $ret with",
    ),
    "an index": ({"A": {"Next": scalar("B", Conditional="$0 % 2 == 0")}, "B": {}}, "expected comparisons of $ret with"),
    "a modifier": (
        {"A": {**TO_B, "Next Payload Modifiers": ["$size=3"]}, "B": {}},
        "modifier '$size=3': not supported",
    ),
    "the index of another function": (
        {"A": {**TO_B, "Next Payload Modifiers": ["$0=$0+1"]}, "B": {}},
        "continues with itself while",
    ),
}


@pytest.mark.parametrize(("configurations", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_names_the_file_and_the_field(write: Write, configurations: Any, message: str) -> None:
    assert message in refused(write(**configurations))


def test_an_application_without_its_files_is_refused(write: Write, tmp_path: Path) -> None:
    assert "expected a file unum-template.yaml, found none" in refused(tmp_path)
    folder = write(A={})
    (folder / "a" / "unum_config.json").unlink()
    assert "$.Functions.A: expected a file unum_config.json" in refused(folder)
    assert "$.Globals.Unknown: not supported" in refused(write({"Unknown": 1}, A={}))
    assert "expected an object with the functions" in refused(write())
