"""Random numbers: equal on every delivery, and nothing that an execution's name and start tell."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Success, start_record
from unum_runtime.model.naming import Execution, start_key
from unum_runtime.protocol.delivery import start as starting
from unum_runtime.protocol.planning import plan
from unum_runtime.protocol.planning.evaluation import EvaluationContext
from unum_runtime.protocol.requests import entry_aliases

UUID = {"id.$": "States.UUID()"}
TASK = {"Type": "Task", "Resource": "A", "End": True}
JSONATA = {"QueryLanguage": "JSONata", "Type": "Pass", "Output": {"id": "{% $uuid() %}"}, "Next": "A"}
EACH = {"StartAt": "A", "States": {"A": {**TASK, "Parameters": UUID}}}
CHILDREN = {**EACH, "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}

DEFINITIONS: dict[str, Any] = {
    "pass": {"P": {"Type": "Pass", "Parameters": UUID, "Next": "A"}, "A": TASK},
    "jsonata": {"P": JSONATA, "A": TASK},
    "arguments": {"P": {"Type": "Pass", "Next": "A"}, "A": {**TASK, "Parameters": UUID}},
    "later": {"P": {**TASK, "End": False, "Next": "A"}, "A": {**TASK, "Parameters": UUID}},
    "branches": {"P": {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": EACH, "End": True}},
    "children": {"P": {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": CHILDREN, "End": True}},
}


def platform_of(kind: str) -> Platform:
    states = {
        name: {field: value for field, value in state.items() if field != "End" or value}
        for name, state in DEFINITIONS[kind].items()
    }
    return Platform.of({"StartAt": "P", "States": states}, A=lambda event: event)


def drawn(kind: str, *, twice: bool = False) -> Any:
    """The result of an execution of one name and start; with `twice`, each event is delivered twice."""
    platform = platform_of(kind)
    platform.start(value={"items": [1, 2]})
    while platform.sent:
        event = platform.sent.pop(0)
        for _ in range(1 + twice):
            with suppress(RefusedDelivery):
                platform.deliver(event)
    ending = platform.ending()
    assert ending is not None
    assert isinstance(ending.outcome, Success)
    return ending.outcome.value


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_two_executions_of_one_name_and_start_draw_other_numbers(kind: str) -> None:
    assert "id" in str(drawn(kind))
    assert drawn(kind) != drawn(kind)


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_a_secret_gives_the_same_numbers_to_every_delivery(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    record = starting.start_record
    monkeypatch.setattr(starting, "start_record", lambda execution, value, *_: record(execution, value, "known"))
    assert drawn(kind) == drawn(kind, twice=True)


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_executions_without_a_secret_keep_their_numbers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of release 0.1.0: they began with numbers that their names decide, and go on with those."""
    record = starting.start_record
    monkeypatch.setattr(starting, "start_record", lambda execution, value, *_: record(execution, value))
    assert drawn(kind) == drawn(kind)


def own_numbers(
    states: dict[str, Any], value: Any, function: Callable[[Any], Any], language: str = "JSONata"
) -> list[str]:
    """All numbers that an execution drew, as its result shows them."""
    platform = Platform.of({"StartAt": next(iter(states)), "States": states, "QueryLanguage": language}, A=function)
    platform.run(value=value)
    ending = platform.ending()
    assert ending is not None
    assert isinstance(ending.outcome, Success), ending.outcome
    return re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", str(ending.outcome.value))


DRAW = "{% $uuid() %}"
CALL = {"Type": "Task", "Resource": "A"}


def fails(event: Any) -> Any:
    raise ValueError(event)


def test_arguments_and_output_of_a_task_draw_other_numbers_in_each_branch() -> None:
    task = {**CALL, "Arguments": [DRAW], "Output": ["{% $states.result %}", DRAW], "End": True}
    each = {"Type": "Map", "ItemProcessor": {"StartAt": "B", "States": {"B": task}}, "End": True}
    numbers = own_numbers({"M": each}, [1, 2], lambda event: event)
    assert len({*numbers}) == len(numbers) == 4


def test_a_selector_of_results_draws_other_numbers_than_the_parameters() -> None:
    selector = {"own.$": "States.UUID()", "given.$": "$.id"}
    task = {**CALL, "Parameters": UUID, "ResultSelector": selector, "End": True}
    numbers = own_numbers({"A": task}, {}, lambda event: event, language="JSONPath")
    assert len({*numbers}) == len(numbers) == 2


def test_a_catcher_draws_other_numbers_than_the_arguments() -> None:
    catch = {"ErrorEquals": ["States.ALL"], "Next": "E", "Output": ["{% $states.errorOutput.Cause %}", DRAW]}
    task = {**CALL, "Arguments": [DRAW], "Catch": [catch], "End": True}
    each = {"StartAt": "B", "States": {"B": task, "E": {"Type": "Pass", "End": True}}}
    numbers = own_numbers({"M": {"Type": "Map", "ItemProcessor": each, "End": True}}, [1, 2], fails)
    assert len({*numbers}) == len(numbers) == 4


@pytest.mark.parametrize("function", [lambda event: event, fails], ids=["joined", "caught"])
def test_each_fan_out_draws_other_numbers_at_its_end(function: Callable[[Any], Any]) -> None:
    task = {**CALL, "Arguments": 1, "End": True}
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "E", "Output": DRAW}]
    inner = {"Type": "Map", "Items": [1], "ItemProcessor": {"StartAt": "B", "States": {"B": task}}, "Output": DRAW}
    each = {"StartAt": "I", "States": {"I": {**inner, "Catch": catch, "Next": "E"}, "E": {"Type": "Pass", "End": True}}}
    numbers = own_numbers({"M": {"Type": "Map", "ItemProcessor": each, "End": True}}, [1, 2, 3], function)
    assert len({*numbers}) == len(numbers) == 3


def test_branches_computed_in_place_draw_other_numbers() -> None:
    each = {"StartAt": "B", "States": {"B": {"Type": "Pass", "Output": DRAW, "End": True}}}
    numbers = own_numbers({"M": {"Type": "Map", "ItemProcessor": each, "End": True}}, [1, 2, 3], fails)
    assert len({*numbers}) == len(numbers) == 3


def test_a_number_is_drawn_as_release_0_1_0_drew_it() -> None:
    point = EvaluationContext(platform_of("pass").workflow, Execution("e", 1), 1, "e:1#0")
    assert point.context_of("P").seed == "e:1#0+0 P"


def test_a_workflow_without_random_numbers_stores_no_secret() -> None:
    for kind, stored in (("pass", True), ("plain", False)):
        DEFINITIONS.setdefault("plain", {"P": {"Type": "Pass", "Next": "A"}, "A": TASK})
        platform = platform_of(kind)
        platform.run()
        item = platform.memory.read([start_key("w", "e")])[start_key("w", "e")]
        assert ("secret" in item) is stored
    del DEFINITIONS["plain"]


def test_a_start_by_name_has_a_secret() -> None:
    class Taking:
        def invoke(self, _events: Any) -> None:
            pass

    platform = platform_of("pass")
    rt = replace(platform.runtime(), invoker=Taking(), own_address="arn:aws:lambda:eu-west-1:1:function:a:7")
    assert entry_aliases.run(rt, {"$unum": 1, "start": "e", "input": {}, "answer": True}, "request")["IsNew"]
    assert "secret" in platform.memory.read([start_key("w", "e")])[start_key("w", "e")]


def unsaid(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "SEED", "$unused")


def left_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("unum_runtime.protocol.planning.advance.of_execution", lambda _: {})


@pytest.mark.parametrize(("break_it", "kind"), [(unsaid, "pass"), (left_behind, "children")])
def test_numbers_that_can_be_guessed_would_be_noticed(
    break_it: Callable[[pytest.MonkeyPatch], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)
    with pytest.raises(AssertionError):
        test_two_executions_of_one_name_and_start_draw_other_numbers(kind)


def test_a_secret_is_no_variable_of_a_workflow_that_draws_no_number() -> None:
    workflow = Platform.of(chain("A"), A=lambda event: event).workflow
    assert plan.evaluation_of(workflow, start_record(Execution("e", 0), 1, "secret")).variables == {}
