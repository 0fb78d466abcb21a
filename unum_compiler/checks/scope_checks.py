"""Checks of a scope: targets, reachability, ends, names, and Tasks without a checkpoint.

With ``checkpoint=False``, the next Task's commit must be certain to replace the missing checkpoint.
Two deliveries of one event may produce different outputs. A checkpoint selects one of them. Without it both deliveries
continue, and the first commit after them selects. That commit must have the same name and Task for every output: a
Choice, a fan-out or the end of a scope in between could lead the two deliveries to different results.
"""

from collections.abc import Iterator, Mapping

from unum_compiler.checks.dataset_tasks import task_names
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing import tree
from unum_compiler.parsing.tree import (
    Choice,
    Fail,
    Map,
    Parallel,
    Scope,
    State,
    Succeed,
    Task,
    Transition,
    Wait,
    all_scopes,
    all_states,
)
from unum_compiler.problems import Report, did_you_mean, shown
from unum_compiler.traversal import reachable_from
from unum_runtime.asl.places import member
from unum_runtime.model.states import SIGNAL, Pattern

_NEEDS: Mapping[type[State], str] = {
    Choice: "may lead deliveries with different outputs to different states",
    Map: "needs the number of its items committed before it begins",
    Parallel: "needs its input committed before it begins",
    Wait: "needs its end time committed before it begins",
}


def check_scopes(machine: Scope, report: Report) -> None:
    """Report mistakes in the graphs of `machine` and nested scopes."""
    scopes = tuple(all_scopes(machine))
    homes = _homes(scopes, report)
    for scope in scopes:
        _check_targets(scope, homes, report)
        _check_reachable(scope, report)
    _check_labels(machine, report)


def _homes(scopes: tuple[Scope, ...], report: Report) -> Mapping[str, State]:
    """Return states by name; report duplicate names across scopes."""
    # Histories, `goto` and the store name states without their scopes, so names are unique across scopes.
    homes: dict[str, State] = {}
    for scope in scopes:
        for state in scope.states.values():
            for name in (state.name, *task_names(state.name, state.data)):
                first = homes.setdefault(name, state)
                if first is not state:
                    message = f"the name {shown(name)} is taken by {first.place}; rename one of them, "
                    report.mistake(state.place, f"{message}names are unique in the whole machine")
    return homes


def _check_labels(machine: Scope, report: Report) -> None:
    """Report duplicate labels: ARNs of Map runs contain them.

    Source: error code DUPLICATE_LABEL_NAME of Step Functions.
    """
    first: dict[str, str] = {}
    for state in all_states(machine):
        label, place = state.data.get("Label"), member(state.place, "Label")
        if isinstance(label, str) and first.setdefault(label, place) != place:
            message = f"the label {shown(label)} is taken at {first[label]}; rename one of them, "
            report.mistake(place, f"{message}labels are unique in the whole machine")


def _check_targets(scope: Scope, homes: Mapping[str, State], report: Report) -> None:
    for transition in _transitions(scope):
        if transition.target in scope.states:
            continue
        if transition.target in homes:
            message = f"{shown(transition.target)} is outside this scope, at {homes[transition.target].place}"
            remedy = "end the branch here, and continue after its Map or Parallel"
            report.mistake(transition.place, f"{message}; {remedy}")
        else:
            remedy = did_you_mean(transition.target, scope.states)
            report.mistake(transition.place, f"there is no state {shown(transition.target)}; {remedy}")


def _check_reachable(scope: Scope, report: Report) -> None:
    if scope.start not in scope.states:
        return  # already reported; every state would be unreachable
    reached = reachable_from(
        [scope.start],
        lambda name: (each.target for each in scope.states[name].transitions if each.target in scope.states),
    )
    for state in scope.states.values():
        if state.name not in reached:
            report.mistake(state.place, "no transition leads here from StartAt; add one or remove the state")
    if not any(scope.states[name].ends for name in reached):
        remedy = 'give a state "End": true, or add a Succeed or Fail state'
        report.mistake(scope.place, f"the scope never ends; {remedy}")


def _transitions(scope: Scope) -> Iterator[Transition]:
    if scope.start_at is not None:
        yield scope.start_at
    for state in scope.states.values():
        yield from state.transitions


def check_uncommitted(machine: Scope, options: Mapping[str, FunctionOptions], report: Report) -> None:
    """Report Tasks that lack a necessary checkpoint.

    Args:
        machine: machine without problems so far.
        options: options of each function, by key; other functions have a checkpoint.
        report: collector of problems.
    """
    without = {function for function, option in options.items() if not option.checkpoint}
    for scope in all_scopes(machine):
        for state in scope.states.values():
            if isinstance(state, Task) and state.function in without:
                _check(state, scope, without, report)


def _check(task: Task, scope: Scope, without: set[str], report: Report) -> None:
    reason = _reason(task, scope, without)
    if reason is not None:
        message = f"{shown(task.function)} has checkpoint=False, but this Task needs a checkpoint: {reason}"
        remedy = "remove the option, or give this Task a function of its own"
        report.mistake(member(task.place, "Resource"), f"{message}; {remedy}")


def _reason(task: Task, scope: Scope, without: set[str]) -> str | None:
    """Return a reason why `task` needs a checkpoint; None without one."""
    if task.retry or task.catch:
        return "it has Retry or Catch, which apply to the committed outcome"
    if task.pattern is not Pattern.RESPONSE:
        return "its outcome arrives later, and is stored until then"
    following = next_besides_pass(task, scope)
    if following is None or isinstance(following, Succeed | Fail):
        return "its scope ends after it, with its output"
    if not isinstance(following, Task):
        return f"{shown(following.name)} follows, which {_NEEDS[type(following)]}"
    if (following.resource or "").startswith(SIGNAL):
        return f"{shown(following.name)} follows, which waits for a signal, and needs its input committed before"
    return "the Tasks after it loop back to it without any checkpoint" if _is_loop(task, scope, without) else None


def _is_loop(task: Task, scope: Scope, without: set[str]) -> bool:
    passed: set[str] = set()
    following: Task | None = task
    while following is not None and following.function in without and following.name not in passed:
        passed.add(following.name)
        following = certain_task(following, scope)
    return following is not None and following.name in passed


def next_besides_pass(state: tree.State, scope: tree.Scope) -> tree.State | None:
    """Return the next state other than Pass after `state`; None at the scope's end and in a loop."""
    return next((following for following in _after(state, scope) if not isinstance(following, tree.Pass)), None)


def certain_task(state: tree.State, scope: tree.Scope) -> tree.Task | None:
    """Return the Task that certainly follows `state`, skipping Pass states; None without one."""
    following = next_besides_pass(state, scope)
    return following if isinstance(following, tree.Task) else None


def plain_task(state: tree.State, scope: tree.Scope) -> tree.Task | None:
    """Return the `certain_task` of `state` unless a skipped Pass assigns variables."""
    for following in _after(state, scope):
        if isinstance(following, tree.Task):
            return following
        if not isinstance(following, tree.Pass) or "Assign" in following.data:
            return None
    return None


def _after(state: tree.State, scope: tree.Scope) -> Iterator[tree.State]:
    """Yield states along ``Next``, starting after `state`, until one ends or repeats."""
    passed: set[str] = set()
    name = state.next
    while name is not None and name not in passed and name in scope.states:
        passed.add(name)
        yield scope.states[name]
        name = scope.states[name].next
