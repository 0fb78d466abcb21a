"""Budgets of an execution: width of a fan-out, and invocations, estimated from the place of a step."""

from dataclasses import replace
from math import log
from random import Random
from typing import Any

import pytest

from tests.unit.protocol.platform import chain
from unum_compiler import compile_workflow
from unum_runtime.asl.recovery import BUDGETS
from unum_runtime.model.checkpoint import Ending, Failure, Status
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution, Frame, Name
from unum_runtime.protocol.planning.advance import by_branch, exceeded
from unum_runtime.protocol.planning.plan import DEFAULT_INVOCATION_BUDGET, DEFAULT_WIDTH_BUDGET, beyond_budget
from unum_simulator.local import LocalWorkflow

E = Execution("e", 0)
TASK = {"Type": "Task", "Resource": "F"}
ANY = [{"ErrorEquals": ["States.ALL"]}]


def frame(iteration: int, size: int) -> Frame:
    return Frame("M", iteration, 0, 0, size)


def bounded(**budgets: Any) -> Workflow:
    return Workflow("w", "A", {}, **budgets)


def run(machine: dict[str, Any], **budgets: Any) -> tuple[Ending, int]:
    """Return the end of an execution, and how often its function ran."""
    runs = 0

    def count(event: Any, _context: Any) -> Any:
        nonlocal runs
        runs += 1
        return event

    compiled = compile_workflow(machine, name="w", functions={"F": count})
    return LocalWorkflow(replace(compiled, **budgets), {"F": count}).run("e", [1, 2, 3]), runs


def map_(**fields: Any) -> dict[str, Any]:
    processor = {"StartAt": "T", "States": {"T": {**TASK, "End": True}}}
    return {"Type": "Map", "ItemProcessor": processor, "End": True, **fields}


@pytest.mark.parametrize(
    ("frames", "step", "width", "invocations"),
    [
        ((), 0, None, 1),
        ((), 41, None, 42),
        ((), 1, 10, 20),
        ((frame(2, 10),), 0, None, 2 * 10 * 2),
        ((frame(2, 10),), 3, None, 2 * 10 * 5),
        ((frame(2, 10), frame(3, 7)), 0, None, 2 * 10 * 3 * 7 * 2),
        ((frame(2, 10),), 4, 7, 2 * 10 * 5 * 7),
    ],
)
def test_a_step_counts_by_its_place(frames: tuple[Frame, ...], step: int, width: int | None, invocations: int) -> None:
    name = Name(E, frames, step)
    assert beyond_budget(bounded(invocation_budget=invocations), name, width) is None
    exceeded = beyond_budget(bounded(invocation_budget=invocations - 1), name, width) if invocations > 1 else None
    assert exceeded is None or exceeded.error == "Unum.InvocationBudgetExceeded"
    assert (exceeded is None) is (invocations == 1)


@pytest.mark.parametrize(
    ("frames", "step", "hops"),
    [((), 9, 9), ((frame(5, 1),), 4, 9), ((frame(2, 1), frame(3, 1)), 4, 9), ((frame(4, 1), frame(5, 1)), 0, 9)],
    ids=["top level", "branch", "branch of a branch", "begin of a branch"],
)
def test_hop_budget_counts_the_steps_of_all_levels(frames: tuple[Frame, ...], step: int, hops: int) -> None:
    name = Name(E, frames, step)
    assert beyond_budget(bounded(hop_budget=hops + 1), name, None) is None
    exceeded = beyond_budget(bounded(hop_budget=hops), name, None)
    assert exceeded is not None
    assert exceeded.error == "Unum.HopBudgetExceeded"


def test_defaults_stop_what_nobody_means() -> None:
    assert beyond_budget(bounded(), Name(E, (), 1), DEFAULT_WIDTH_BUDGET) is None
    wide = beyond_budget(bounded(), Name(E, (), 1), DEFAULT_WIDTH_BUDGET + 1)
    assert wide is not None
    assert wide.error == "Unum.WidthBudgetExceeded"
    nested = Name(E, (frame(2, 10_000),), 0)
    assert beyond_budget(bounded(), nested, DEFAULT_INVOCATION_BUDGET // 20_000) is None
    assert beyond_budget(bounded(), nested, 10_000) is not None


def test_the_sum_of_fan_outs_of_any_sizes_is_bounded() -> None:
    random, budget, steps = Random(7), 1_000, 300  # noqa: S311 - needs no secrecy
    workflow = bounded(invocation_budget=budget, width_budget=budget)
    for _ in range(50):
        total = 0
        for step in range(1, steps):
            widths = (random.randint(1, budget), budget // (step + 1))
            width = next((each for each in widths if each and not beyond_budget(workflow, Name(E, (), step), each)), 0)
            total += width
        assert total <= budget * (1 + log(steps))


def test_a_map_that_is_too_wide_fails_before_its_first_branch() -> None:
    ending, runs = run({"StartAt": "M", "States": {"M": map_()}}, width_budget=2)
    assert ending.status is Status.FAILED
    assert ending.outcome == Failure(
        "Unum.WidthBudgetExceeded",
        "3 branches; at most 2 are allowed: process the items in batches, or raise width_budget",
    )
    assert runs == 0
    assert run({"StartAt": "M", "States": {"M": map_()}}, width_budget=3)[1] == 3


@pytest.mark.parametrize("mode", ["INLINE", "DISTRIBUTED"])
def test_no_retrier_or_catcher_continues_beyond_a_budget(mode: str) -> None:
    inner = {"StartAt": "T", "States": {"T": {**TASK, "Next": "U"}, "U": {**TASK, "End": True}}}
    config = {"Mode": mode, **({"ExecutionType": "STANDARD"} if mode == "DISTRIBUTED" else {})}
    wide = map_(ItemProcessor={"ProcessorConfig": config, **inner}, Retry=ANY, Catch=[{**ANY[0], "Next": "Again"}])
    machine = {"StartAt": "M", "States": {"M": wide, "Again": {**TASK, "End": True}}}
    ending, runs = run(machine, invocation_budget=6)
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "Unum.InvocationBudgetExceeded"
    assert "some 12 invocations; at most 6 are allowed" in str(ending.outcome.cause)
    assert runs == 1  # the first branch beyond the budget ends the Map
    assert run(machine, invocation_budget=12)[0].status is Status.SUCCEEDED


@pytest.mark.parametrize(("error", "is_inside"), [*((error, False) for error in sorted(BUDGETS)), ("Other", True)])
def test_exceeded_budget_of_a_child_execution_is_that_of_the_whole(error: str, *, is_inside: bool) -> None:
    processor = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **chain("T")}
    machine = {"StartAt": "M", "States": {"M": map_(ItemProcessor=processor)}}
    workflow = compile_workflow(machine, name="w", functions=None)
    failure = Failure(error, "why")
    assert by_branch(workflow.fan_out("M"), failure) == (exceeded() if is_inside else failure)


def test_map_that_tolerates_failures_tolerates_branches_beyond_the_budget() -> None:
    inner = {"StartAt": "T", "States": {"T": {**TASK, "Next": "U"}, "U": {**TASK, "End": True}}}
    processor = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **inner}
    tolerant = map_(ItemProcessor=processor, ToleratedFailurePercentage=100)
    ending, runs = run({"StartAt": "M", "States": {"M": tolerant}}, invocation_budget=6)
    assert (ending.status, runs) == (Status.SUCCEEDED, 3)
