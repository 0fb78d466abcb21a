"""Conditions of shared results, and their form in the IR."""

import re
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_compiler.analysis.edges import shares_with_all
from unum_compiler.memoization import Memoization
from unum_compiler.options import FunctionOptions
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import MemoScope


def compiled(memoize: bool | Memoization) -> Workflow:  # noqa: FBT001 - the option itself
    return Platform.of(chain("A", "B"), {"B": FunctionOptions(memoize=memoize)}, A=id, B=id).workflow


def test_the_ir_has_all_that_was_chosen() -> None:
    paths = ("$.image", "$.sizes[0]", "$['a b']")
    chosen = Memoization(key=paths, version="2", lifetime=timedelta(hours=1), scope=MemoScope.TABLE)
    workflow = compiled(chosen)
    task = workflow.task("B")
    assert task.memoize
    assert task.memo_key == (("image",), ("sizes", 0), ("a b",))
    assert (task.memo_version, task.memo_lifetime_s, task.memo_scope) == ("2", 3600, MemoScope.TABLE)
    assert Workflow.from_json(workflow.to_json()).task("B") == task


def test_the_text_of_workflows_without_choices_stays() -> None:
    assert compiled(Memoization()).to_json() == compiled(memoize=True).to_json()
    assert "memo_" not in compiled(memoize=True).to_json()


def test_only_functions_that_share_with_all_workflows_need_the_permission() -> None:
    for scope in MemoScope:
        workflow = compiled(Memoization(version="1", scope=scope))
        assert [shares_with_all(workflow, each) for each in "AB"] == [False, scope is MemoScope.TABLE]


class Duration:
    """A duration like the CDK's."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def to_seconds(self) -> float:
        return self.seconds


def test_a_lifetime_is_any_duration() -> None:
    lifetimes: list[Any] = [timedelta(minutes=2), Duration(120), Duration(120.0)]
    assert [Memoization(lifetime=each).lifetime_s for each in lifetimes] == [120] * 3
    assert Memoization().lifetime_s is None


def test_a_scope_may_be_given_by_its_text() -> None:
    text: Any = "workflow"
    assert Memoization(version="1", scope=text).scope is MemoScope.WORKFLOW


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"key": "image"}, "expected key to be a reference path into the event, such as \"$.image\", got 'image': "),
        ({"key": "$.images[*]"}, "got '$.images[*]'"),
        ({"key": "$$.Execution.Id"}, "got '$$.Execution.Id'"),
        ({"key": "$variable"}, "got '$variable'"),
        ({"key": ["$.a", 7]}, "got 7"),
        ({"key": 7}, "expected key to be a reference path"),
        ({"version": 2}, 'expected version to be a text such as "2", or None, got 2'),
        ({"version": ""}, "or None, got ''"),
        ({"lifetime": timedelta(0)}, "as a timedelta or Duration, got datetime.timedelta(0)"),
        ({"lifetime": timedelta(seconds=1.5)}, "whole seconds"),
        ({"lifetime": 60}, "whole seconds, at least one, as a timedelta or Duration, got 60"),
        ({"scope": "stack"}, "expected scope to be one of ['function', 'workflow', 'table'], got 'stack'"),
        ({"scope": "table"}, "expected a version with scope 'table', got none; it identifies the logic"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Memoization(**given)
