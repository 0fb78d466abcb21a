"""What can only be seen when a scope is read as a whole: targets, reachability, ends, and names."""

from collections.abc import Iterator, Mapping

from unum_compiler.checks.dataset_tasks import task_names
from unum_compiler.parsing.tree import Scope, State, Transition, all_scopes, all_states
from unum_compiler.problems import Report, did_you_mean, shown
from unum_runtime.asl.places import member


def check(machine: Scope, report: Report) -> None:
    """Report what is wrong with the graphs of `machine` and of the scopes inside it."""
    scopes = tuple(all_scopes(machine))
    homes = _homes(scopes, report)
    for scope in scopes:
        _check_targets(scope, homes, report)
        _check_reachable(scope, report)
    _check_labels(machine, report)


def _homes(scopes: tuple[Scope, ...], report: Report) -> Mapping[str, State]:
    """The state of each name; names are unique in the whole machine, because they are what histories show."""
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
    """Labels of Maps are parts of the ARNs of their runs (error code DUPLICATE_LABEL_NAME of Step Functions)."""
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
            elsewhere = homes[transition.target].place
            message = (
                f"{shown(transition.target)} is outside of this scope, at {elsewhere}; a transition stays inside: "
            )
            report.mistake(transition.place, f"{message}end the branch, and go on after its fan-out state")
        else:
            remedy = did_you_mean(transition.target, scope.states)
            report.mistake(transition.place, f"there is no state {shown(transition.target)}; {remedy}")


def _check_reachable(scope: Scope, report: Report) -> None:
    if scope.start not in scope.states:
        return  # reported already; nothing could be reached
    reached = _reached(scope)
    for state in scope.states.values():
        if state.name not in reached:
            message = "no transition leads here from the scope's StartAt; lead one here or remove the state"
            report.mistake(state.place, message)
    if not any(scope.states[name].ends for name in reached):
        message = "the scope never ends, whatever way is taken; "
        report.mistake(scope.place, f'{message}give a state "End": true, or add a Succeed or Fail state')


def _reached(scope: Scope) -> set[str]:
    reached: set[str] = set()
    ahead = [scope.start]
    while ahead:
        name = ahead.pop()
        if name in reached or name not in scope.states:
            continue
        reached.add(name)
        ahead.extend(transition.target for transition in scope.states[name].transitions)
    return reached


def _transitions(scope: Scope) -> Iterator[Transition]:
    if scope.start_at is not None:
        yield scope.start_at
    for state in scope.states.values():
        yield from state.transitions
