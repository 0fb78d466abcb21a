"""Checks of a scope as a whole: targets, reachability, ends and names."""

from collections.abc import Iterator, Mapping

from unum_compiler.checks.dataset_tasks import task_names
from unum_compiler.parsing.tree import Scope, State, Transition, all_scopes, all_states
from unum_compiler.problems import Report, did_you_mean, shown
from unum_compiler.traversal import reachable_from
from unum_runtime.asl.places import member


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
