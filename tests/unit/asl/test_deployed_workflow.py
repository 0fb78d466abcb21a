"""Numbers that planning needs, when only the deployment knows them: parsed and checked as a function loads them."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_runtime.asl.deployed_workflow import load, with_numbers
from unum_runtime.errors import DefinitionError
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow
from unum_simulator.scenario import Scenario
from unum_simulator.single import test_state as one_state

NUMBERS = ("IntervalSeconds", "MaxAttempts", "BackoffRate", "MaxDelaySeconds")


def compiled(limit: Json = None, **retrier: Json) -> Workflow:
    """A Task with one retrier, in an execution with the time limit `limit`."""
    task = {"Type": "Task", "Resource": "f", "Retry": [{"ErrorEquals": ["E"], **retrier}], "End": True}
    limits = {} if limit is None else {"TimeoutSeconds": limit}
    return compile_workflow({"StartAt": "T", "States": {"T": task}, **limits}, name="w", functions=None)


def loaded(workflow: Workflow, **values: str) -> Workflow:
    return load(workflow.to_json(), values)


def problems(workflow: Workflow, **values: str) -> list[str]:
    with pytest.raises(DefinitionError) as refused:
        loaded(workflow, **values)
    return [str(each) for each in refused.value.problems]


@pytest.mark.parametrize("name", ["Value1", "Number1", "Json1"])
def test_what_the_deployment_gives_is_what_could_be_written(name: str) -> None:
    hole = f"${{{name}}}"
    for field in NUMBERS:
        assert loaded(compiled(**{field: hole}), **{name: "2"}).digest == compiled(**{field: 2}).digest
    assert loaded(compiled(limit=hole), **{name: "60"}).digest == compiled(limit=60).digest
    assert loaded(compiled(BackoffRate=hole), **{name: "1.5"}).digest == compiled(BackoffRate=1.5).digest


def test_a_strategy_is_what_the_deployment_gives() -> None:
    assert loaded(compiled(JitterStrategy="${Value1}"), Value1="FULL").digest == compiled(JitterStrategy="FULL").digest
    assert loaded(compiled(JitterStrategy="${Value1}"), Value1="NONE").digest == compiled().digest


@pytest.mark.parametrize("value", ["-1", "two", "100000000", "", "[1]", '{"a": 1}', "true"])
def test_what_is_no_such_number_is_refused_at_its_place(value: str) -> None:
    retrier = "$.States.T.Retry[0].MaxAttempts: expected an integer from 0 to 99999999 from the deployment, got "
    (problem,) = problems(compiled(MaxAttempts="${Value1}"), Value1=value)
    assert problem.startswith(retrier)
    limit = "$.TimeoutSeconds: expected an integer from 1 to 99999999 from the deployment, got "
    assert problems(compiled(limit="${Value1}"), Value1=value)[0].startswith(limit)


def test_json_of_the_deployment_is_checked_as_well() -> None:
    for value in ("0", "[1]", '"x"', "2.5"):
        assert problems(compiled(limit="${Json1}"), Json1=value)
        assert problems(compiled(IntervalSeconds="${Json1}"), Json1=value)
        assert problems(compiled(JitterStrategy="${Json1}"), Json1=value)
    assert problems(compiled(IntervalSeconds="${Json1}", JitterStrategy="${Json1}"), Json1="null")


def test_all_problems_come_at_once() -> None:
    workflow = compiled(limit="${A}", MaxAttempts="${A}", BackoffRate="${B}", JitterStrategy="${A}")
    assert len(problems(workflow, A="x", B="0.5")) == 4


def test_the_longest_interval_exceeds_the_first() -> None:
    (problem,) = problems(compiled(IntervalSeconds=5, MaxDelaySeconds="${V}"), V="5")
    assert problem.startswith("$.States.T.Retry[0].MaxDelaySeconds: expected more than the interval of 5 seconds")


def test_a_workflow_without_such_values_stays_as_it_is() -> None:
    workflow = compiled(limit=60, BackoffRate=2.0, IntervalSeconds=3)
    assert with_numbers(workflow).to_json() == workflow.to_json()


def failing(times: int) -> Any:
    """A handler that fails as often."""
    calls: list[Json] = []

    def handler(event: Json, _context: Any) -> Json:
        calls.append(event)
        if len(calls) <= times:
            raise E
        return len(calls)

    return handler


class E(Exception):
    """An error of user code."""


def test_so_many_attempts_are_made() -> None:
    workflow = loaded(compiled(MaxAttempts="${V}", IntervalSeconds="${V}"), V="4")
    assert LocalWorkflow(workflow, {"f": failing(4)}).run("e", 1).outcome == Success(5)
    assert isinstance(LocalWorkflow(workflow, {"f": failing(5)}).run("e", 1).outcome, Failure)


def test_an_execution_ends_after_such_a_time() -> None:
    workflow = loaded(compiled(limit="${V}", IntervalSeconds=100, BackoffRate=1), V="250")
    assert LocalWorkflow(workflow, {"f": failing(2)}).run("e", 1).outcome == Success(3)
    outcome = LocalWorkflow(workflow, {"f": failing(3)}).run("e", 1).outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "States.Timeout"


@pytest.mark.parametrize("workflow", [compiled(MaxAttempts="${Most}"), compiled(limit="${Most}")])
def test_a_simulation_says_what_it_lacks(workflow: Workflow) -> None:
    handlers = {"f": failing(0)}
    for simulated in (
        lambda: LocalWorkflow(workflow, handlers).run("e", 1),
        lambda: Scenario(workflow=workflow, functions=handlers),
        lambda: one_state(workflow, "T", 1),
    ):
        with pytest.raises(DefinitionError, match=r"from the deployment, got '\$\{Most\}'"):
            simulated()
