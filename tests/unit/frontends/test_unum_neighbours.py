"""Applications of the original whose branches fan in with neighbouring branches, ExCamera above all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.frontends.test_unum import Write, fan_in, handler, refused, scalar, write
from unum_compiler.definition import Definition
from unum_compiler.testing import Faults, run_workflow
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow

__all__ = ["write"]

NEXT_BRANCH = {"Next Payload Modifiers": ["$0=$0+1"]}
ENCODED_FIRST = ("Encode-unumIndex-$0", "Decode-unumIndex-($0-1)")
ENCODED_AFTER = ("Encode-unumIndex-($0+1)", "Decode-unumIndex-$0")
EXCAMERA: dict[str, Any] = {
    "Split": {"Next": {"Name": "Encode", "InputType": "Map"}},
    "Encode": {
        "Next": [
            scalar("Decode", Conditional="$0 < $size-1"),
            fan_in("Reencode", *ENCODED_FIRST, Conditional="$0 > 1"),
            fan_in("Rebase", *ENCODED_FIRST, Conditional="$0 == 1"),
        ]
    },
    "Decode": {
        "Next": [
            fan_in("Reencode", *ENCODED_AFTER, Conditional="$0<$size-1 and $0>0"),
            fan_in("Rebase", *ENCODED_AFTER, Conditional="$0==0"),
        ],
        **NEXT_BRANCH,
    },
    "Reencode": {"Next": fan_in("Rebase", "Rebase-unumIndex-($0-1)", "Reencode-unumIndex-$0")},
    "Rebase": {
        "Next": fan_in("Rebase", "Rebase-unumIndex-$0", "Reencode-unumIndex-($0+1)", Conditional="$0 < $size-1"),
        **NEXT_BRANCH,
    },
}
"""The arithmetic of the prototype's ExCamera, with other names of functions."""


def excamera(size: int) -> tuple[list[Json], list[str]]:
    """Return the result for `size` chunks, computed from the paper's rules, and all runs of functions."""
    encoded = [made("Encode", index) for index in range(size)]
    decoded = [made("Decode", each) for each in encoded[:-1]]
    reencoded = {index: made("Reencode", [encoded[index], decoded[index - 1]]) for index in range(2, size)}
    rebased: dict[int, Json] = {}
    for index in range(1, size):
        before = [encoded[1], decoded[0]] if index == 1 else [rebased[index - 1], reencoded[index]]
        rebased[index] = made("Rebase", before)
    runs = [*encoded, *decoded, *reencoded.values(), *rebased.values()]
    result = [rebased.get(index, decoded[index] if index < size - 1 else encoded[index]) for index in range(size)]
    return result, sorted(map(json.dumps, runs))


def made(function: str, given: Json) -> Json:
    return {"by": function, "of": given}


def recorders(runs: list[str], *names: str) -> dict[str, Callable[[Json, Any], Json]]:
    def of(name: str) -> Callable[[Json], Json]:
        def run(given: Json) -> Json:
            runs.append(json.dumps(made(name, given)))
            return made(name, given)

        return run

    return {name: handler(of(name)) for name in names}


@pytest.mark.parametrize("size", range(9))
def test_excamera_runs_each_function_once_where_the_arithmetic_says(write: Write, size: int) -> None:
    workflow = Definition.from_unum(write(**EXCAMERA)).compile("w", None)
    runs: list[str] = []
    functions = {"Split": handler(lambda given: given), **recorders(runs, *[*EXCAMERA][1:])}
    outcome: Any = LocalWorkflow(workflow, functions).run("e", [*range(size)]).outcome
    result, expected = excamera(size)
    assert outcome.value == result
    assert sorted(runs) == expected


@pytest.mark.slow("30 runs of a wave, each with crashes and duplicates at other points")
def test_excamera_gives_the_same_result_under_faults(write: Write) -> None:
    functions = {"Split": handler(lambda given: given), **recorders([], *[*EXCAMERA][1:])}
    faults = Faults(crashes=2, duplicates=2)
    run = run_workflow(Definition.from_unum(write(**EXCAMERA)), functions, [0, 1, 2, 3], faults=faults, runs=30)
    assert run.output == excamera(4)[0]


def test_results_that_are_lists_stay_lists(write: Write) -> None:
    configurations = {
        "Split": {"Next": {"Name": "Load", "InputType": "Map"}},
        "Load": {"Next": fan_in("Pair", "Load-unumIndex-$0", "Load-unumIndex-($0-1)", Conditional="$0 > 0")},
        "Pair": {},
    }
    workflow = Definition.from_unum(write(**configurations)).compile("w", None)
    functions = {"Split": handler(list), "Load": handler(lambda n: [n]), "Pair": handler(lambda pair: {"pair": pair})}
    outcome: Any = LocalWorkflow(workflow, functions).run("e", [1, 2, 3]).outcome
    assert outcome.value == [[1], {"pair": [[2], [1]]}, {"pair": [[3], [2]]}]


def test_fan_in_of_all_branches_follows_one_of_neighbours(write: Write) -> None:
    configurations = {
        "Split": {"Next": {"Name": "Load", "InputType": "Map"}},
        "Load": {
            "Next": [
                fan_in("Compare", "Load-unumIndex-$0", "Load-unumIndex-($0-1)", Conditional="$0 > 0"),
                fan_in("Sum", "Load-unumIndex-*"),
            ]
        },
        "Compare": {},
        "Sum": {},
    }
    workflow = Definition.from_unum(write(**configurations)).compile("w", None)
    compared: list[Json] = []
    functions = {
        "Split": handler(list),
        "Load": handler(lambda n: n * 10),
        "Compare": handler(compared.append),
        "Sum": handler(sum),
    }
    outcome: Any = LocalWorkflow(workflow, functions).run("e", [1, 2, 3]).outcome
    assert outcome.value == 60
    assert compared == [[20, 10], [30, 20]]


def branch(**functions: Any) -> dict[str, Any]:
    return {"Split": {"Next": {"Name": "A", "InputType": "Map"}}, **functions}


REFUSED = {
    "later branch": (
        branch(A={"Next": fan_in("B", "A-unumIndex-$0", "A-unumIndex-($0+1)")}, B={}),
        "one of a later branch",
    ),
    "two branches back": (
        branch(A={"Next": fan_in("B", "A-unumIndex-$0", "A-unumIndex-($0-2)", Conditional="$0>1")}, B={}),
        "one of 2 branches before",
    ),
    "condition on a result": (
        branch(A={"Next": fan_in("B", "A-unumIndex-$0", "A-unumIndex-($0-1)", Conditional="$ret > 1")}, B={}),
        "expected comparisons of $0 with integers or $size, beside a fan-in of neighbouring branches, got '$ret > 1'",
    ),
    "branches that are no range": (
        branch(A={"Next": fan_in("B", "A-unumIndex-$0", "A-unumIndex-($0-1)", Conditional="$0 > 0 and $0 != 3")}, B={}),
        "expected that the function runs in all branches, or in all but the first or last ones",
    ),
    "no branch": (
        branch(A={"Next": fan_in("B", "A-unumIndex-$0", "A-unumIndex-($0-1)", Conditional="$0 < 0")}, B={}),
        "the function runs in no branch",
    ),
    "number and list": (
        branch(
            A={
                "Next": [
                    scalar("B", Conditional="$0 == 0"),
                    fan_in("B", "A-unumIndex-$0", "A-unumIndex-($0-1)", Conditional="$0 > 0"),
                ]
            },
            B={},
        ),
        "expected the same number of results in all branches",
    ),
    "Map inside": (
        branch(
            A={"Next": fan_in("B", "A-unumIndex-$0", "A-unumIndex-($0-1)", Conditional="$0>0")},
            B={"Next": {"Name": "C", "InputType": "Map"}},
            C={},
        ),
        "expected Scalar or Fan-in beside a fan-in of neighbouring branches, got 'Map'",
    ),
    "two results of the branch before": (
        branch(
            A={"Next": [scalar("B"), scalar("C")]},
            B={"Next": fan_in("D", "B-unumIndex-($0-1)", "C-unumIndex-($0-1)", "A-unumIndex-$0", Conditional="$0>0")},
            C={},
            D={},
        ),
        "expected a function that waits for one result of the branch before, got ['B', 'C']",
    ),
}


@pytest.mark.parametrize(("configurations", "message"), REFUSED.values(), ids=REFUSED)
def test_arithmetic_without_a_counterpart_is_refused(
    write: Callable[..., Path], configurations: Any, message: str
) -> None:
    found = refused(write(**configurations))
    assert "unum_config.json: $" in found
    assert message in found
