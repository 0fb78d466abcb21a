"""Variables: their names, their scopes, and the parts of the context object beside them."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_runtime.errors import DefinitionError, Problem


def scope(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def passing(**fields: Any) -> dict[str, Any]:
    return {"Type": "Pass", **({} if "Next" in fields else {"End": True}), **fields}


def a_map(inner: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": inner, **({} if "Next" in fields else {"End": True}), **fields}


def problems(definition: dict[str, Any]) -> tuple[Problem, ...]:
    try:
        compile_workflow(definition, name="w", functions=None)
    except DefinitionError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("name", ["x", "straße", "_1", "x.$", "a" * 80])
def test_names_that_are_right(name: str) -> None:
    assert problems(scope(A=passing(Assign={name: "$.a"}))) == ()


@pytest.mark.parametrize("name", ["", "1x", "top-level", "a b", "$x", "states", "a" * 81])
def test_names_that_are_wrong(name: str) -> None:
    for language in ("JSONPath", "JSONata"):
        (problem,) = problems(scope(A=passing(QueryLanguage=language, Assign={name: 1})))
        assert problem.path.startswith("$.States.A.Assign")
        assert "cannot be the name of a variable" in problem.message


def test_assign_is_an_object() -> None:
    for language in ("JSONPath", "JSONata"):
        (problem,) = problems(scope(A=passing(QueryLanguage=language, Assign=1)))
        assert problem.path == "$.States.A.Assign"
        assert "expected an object" in problem.message


def test_a_branch_cannot_assign_what_belongs_outside() -> None:
    inner = scope(B=passing(Assign={"x": 1}))
    outside = "$.States.M.ItemProcessor.States.B.Assign.x"
    after = scope(M=a_map(inner, Next="A"), A=passing(Assign={"x.$": "$"}))
    assert [problem.path for problem in problems(after)] == [outside]
    assert [problem.path for problem in problems(scope(M=a_map(inner, Assign={"x": 1})))] == [outside]


def test_a_branch_may_assign_what_only_a_catcher_outside_assigns() -> None:
    inner = scope(B=passing(Assign={"x": 1}))
    caught = a_map(inner, Catch=[{"ErrorEquals": ["States.ALL"], "Next": "A", "Assign": {"x": 1}}], Next="A")
    assert problems(scope(M=caught, A=passing())) == ()
    assert [problem.path for problem in problems(scope(M=caught, A=passing(Assign={"x": 2})))] == [
        "$.States.M.ItemProcessor.States.B.Assign.x"
    ]


def test_branches_beside_each_other_may_assign_the_same() -> None:
    branches = [scope(B=passing(Assign={"x": 1})), scope(C=passing(Assign={"x": 1}))]
    assert problems(scope(P={"Type": "Parallel", "Branches": branches, "End": True})) == ()


def test_rules_assign_too() -> None:
    rule = {"Variable": "$.a", "IsPresent": True, "Next": "A", "Assign": {"x-y": 1}}
    choice = {"Type": "Choice", "Choices": [rule], "Default": "A"}
    (problem,) = problems(scope(C=choice, A=passing()))
    assert problem.path == "$.States.C.Choices[0].Assign['x-y']" or problem.path.endswith("Assign.x-y")


def test_succeed_and_fail_assign_nothing() -> None:
    for kind in ("Succeed", "Fail"):
        (problem,) = problems(scope(A={"Type": kind, "Assign": {"x": 1}}))
        assert problem.path == "$.States.A.Assign"


def test_variables_are_read_wherever_paths_are() -> None:
    states = {
        "A": passing(InputPath="$x", OutputPath="$x.a[0]", Next="B"),
        "B": passing(Parameters={"a.$": "$x", "b.$": "States.Format('{}', $x.a)"}, Next="C"),
        "C": {"Type": "Choice", "Choices": [{"Variable": "$x", "NumericEqualsPath": "$y", "Next": "D"}]},
        "D": a_map(scope(E=passing()), ItemsPath="$x", MaxConcurrencyPath="$y"),
    }
    assert problems(scope(**states)) == ()


def test_a_result_cannot_go_into_a_variable() -> None:
    (problem,) = problems(scope(A=passing(ResultPath="$x")))
    assert problem.path == "$.States.A.ResultPath"


CONTEXT = ("", ".Execution", ".Execution.Input.a", ".Execution.Name", ".State.RetryCount", ".StateMachine.Id")


@pytest.mark.parametrize("part", CONTEXT)
def test_parts_of_the_context_object(part: str) -> None:
    assert problems(scope(A=passing(Parameters={"a.$": f"$${part}"}))) == ()
    assert problems(scope(A=passing(QueryLanguage="JSONata", Output=f"{{% $states.context{part} %}}"))) == ()


def test_the_item_is_known_to_the_item_selector_alone() -> None:
    selector = {"i.$": "$$.Map.Item.Index", "v.$": "States.JsonToString($$.Map.Item.Value.a)", "x.$": "$.x"}
    assert problems(scope(A=a_map(scope(B=passing()), ItemSelector=selector))) == ()
    assert problems(scope(A=a_map(scope(B=passing()), Parameters=selector))) == ()
    (index, value) = problems(scope(A=a_map(scope(B=passing()), ResultSelector=selector)))
    only = 'only "ItemSelector" of a Map has $$.Map.Item.'
    assert (index.path, index.message.startswith(f"{only}Index, ")) == ("$.States.A.ResultSelector['i.$']", True)
    assert (value.path, value.message.startswith(f"{only}Value, ")) == ("$.States.A.ResultSelector['v.$']", True)
    # Source: Step Functions Developer Guide, "Accessing execution data from the Context object", note on Maps.
    for field in ("Index", "Key", "Source", "Value"):
        for inside in (
            passing(Parameters={"i.$": f"$$.Map.Item.{field}"}),
            passing(QueryLanguage="JSONata", Output=f"{{% $states.context.Map.Item.{field} %}}"),
        ):
            (found,) = problems(scope(A=a_map(scope(B=inside))))
            assert found.path.startswith("$.States.A.ItemProcessor.States.B.")
            assert "in Step Functions too" in found.message
    jsonata = {"QueryLanguage": "JSONata", "Items": [1], "ItemSelector": {"i": "{% $states.context.Map.Item.Index %}"}}
    assert problems(scope(A=a_map(scope(B=passing()), **jsonata))) == ()


def test_a_token_is_known_to_tasks_alone() -> None:
    parameters = {"a.$": "$$.Task.Token"}
    assert problems(scope(A={"Type": "Task", "Resource": "f", "Parameters": parameters, "End": True})) == ()
    (problem,) = problems(scope(A=passing(Parameters=parameters)))
    assert "only a Task" in problem.message


def test_choice_rules_read_the_context_object() -> None:
    rules = [{"Not": {"Variable": "$$.Execution.Nam", "StringEqualsPath": "$$.Execution.Id"}, "Next": "A"}]
    (problem,) = problems(scope(C={"Type": "Choice", "Choices": rules}, A=passing()))
    assert problem.path == "$.States.C.Choices[0].Not.Variable"
    assert 'did you mean "Execution.Name"?' in problem.message


def test_results_and_literals_are_no_references() -> None:
    fixed = {"a.$": "$$.Nothing", "b": "{% $states.context.Nothing %}"}
    assert problems(scope(A=passing(Result=fixed, Parameters={"c": "$$.Nothing"}))) == ()
