"""Where a function may do without a checkpoint: where another's commit is certain to stand for its own.

Two deliveries of one event may come to different outputs. A checkpoint decides between them; without it both go on, and
the first commit after them decides. So that must have the same name and the same Task, whatever the outputs are: a
Choice, a fan-out or the end of a scope between them could lead the two apart, and an execution to two results.
"""

from collections.abc import Mapping

from unum_compiler.checks.certain_successors import certain, certain_task
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing.tree import Choice, Fail, Map, Parallel, Scope, State, Succeed, Task, Wait, all_scopes
from unum_compiler.problems import Report, shown
from unum_runtime.asl.places import member
from unum_runtime.model.ir import Pattern

_NEEDS: Mapping[type[State], str] = {
    Choice: "may lead deliveries with different outputs to different states",
    Map: "must have the number of its items committed before it begins",
    Parallel: "must have its input committed before it begins",
    Wait: "must have the time committed at which it ends",
}


def check_uncommitted(machine: Scope, options: Mapping[str, FunctionOptions], report: Report) -> None:
    """Report each Task of a function without a checkpoint that needs one.

    Args:
        machine: without problems so far.
        options: of each function, by key; others have a checkpoint.
        report: where problems go.
    """
    without = {function for function, option in options.items() if not option.checkpoint}
    for scope in all_scopes(machine):
        for state in scope.states.values():
            if isinstance(state, Task) and state.function in without:
                _check(state, scope, without, report)


def _check(task: Task, scope: Scope, without: set[str], report: Report) -> None:
    reason = _reason(task, scope, without)
    if reason is not None:
        message = f"{shown(task.function)} has checkpoint=False, which cannot be kept here: {reason}"
        remedy = "remove the option, or give this Task a function of its own"
        report.mistake(member(task.place, "Resource"), f"{message}; {remedy}")


def _reason(task: Task, scope: Scope, without: set[str]) -> str | None:
    """Why `task` needs a checkpoint; None if it does not."""
    if task.retry or task.catch:
        return "it has Retry or Catch, which go by the outcome that is committed"
    if task.pattern is not Pattern.RESPONSE:
        return "its outcome comes from elsewhere, and must be kept until then"
    following = certain(task, scope)
    if following is None or isinstance(following, Succeed | Fail):
        return "its scope ends after it, with its output"
    if not isinstance(following, Task):
        return f"after it comes {shown(following.name)}, which {_NEEDS[type(following)]}"
    return "the Tasks after it lead back to it, without any checkpoint" if _circles(task, scope, without) else None


def _circles(task: Task, scope: Scope, without: set[str]) -> bool:
    passed: set[str] = set()
    following: Task | None = task
    while following is not None and following.function in without and following.name not in passed:
        passed.add(following.name)
        following = certain_task(following, scope)
    return following is not None and following.name in passed
