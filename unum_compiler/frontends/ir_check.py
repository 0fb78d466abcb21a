"""What the states of a workflow say of each other: whether it is there, and whether it can be."""

from collections.abc import Collection, Iterator

from unum_compiler.problems import did_you_mean, shown
from unum_runtime.asl.places import element, member
from unum_runtime.errors import Problem
from unum_runtime.model import ir
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import SHARD_SIZE


def workflow_problems(workflow: Workflow) -> Iterator[Problem]:
    """What is wrong with what the states of `workflow` say of each other."""
    yield from _reference(workflow, "$.start_at", workflow.start_at, None)
    for state in workflow.states.values():
        place = member("$.states", state.name)
        yield from _scope_problems(workflow, state, place)
        for where, target, scope in _targets(state, place):
            yield from _reference(workflow, where, target, scope)
        for field in ("join", "committed_by"):
            if (name := getattr(state, field, None)) is not None:
                yield from _task_reference(workflow, member(place, field), name, state.scope)
        if isinstance(state, ir.FanOut):
            yield from _pure_problems(workflow, state, member(place, "pure"))
            yield from _quorum_problems(state, member(place, "quorum"))
        if isinstance(state, ir.Task) and state.meets_previous:
            yield from _meeting_problems(workflow, state, member(place, "meets_previous"))
        if isinstance(state, ir.Task) and (state.form is ir.Form.SERVICE) != (state.resource is not None):
            message = f'expected a resource with the form "service" and with no other, got {shown(state.resource)}'
            yield Problem(member(place, "resource"), f'{message} with the form "{state.form}"')


def _targets(state: ir.State, place: str) -> Iterator[tuple[str, str, str | None]]:
    """(place, name, scope) of every state that is to come after `state`, and the scope that it must be in."""
    if state.next is not None:
        yield member(place, "next"), state.next, state.scope
    if isinstance(state, ir.Work):
        for index, catcher in enumerate(state.catch):
            yield member(element(member(place, "catch"), index), "next"), catcher.next, state.scope
    match state:
        case ir.Choice():
            for index, (_, target) in enumerate(state.rules):
                yield element(element(member(place, "rules"), index), 1), target, state.scope
            if state.default is not None:
                yield member(place, "default"), state.default, state.scope
        case ir.Parallel():
            for index, start in enumerate(state.branches):
                yield element(member(place, "branches"), index), start, state.name
        case ir.Map():
            yield member(place, "start"), state.start, state.name


def _reference(workflow: Workflow, place: str, name: str, scope: str | None) -> Iterator[Problem]:
    """What is wrong with `name` at `place`, if the state must be in `scope`."""
    if name not in workflow.states:
        yield Problem(place, f"there is no state {shown(name)}; {did_you_mean(name, workflow.states)}")
    elif workflow.states[name].scope != scope:
        message = f"expected a state with the scope {shown(scope)}, got {shown(name)}"
        yield Problem(place, f"{message}, whose scope is {shown(workflow.states[name].scope)}")


def _task_reference(workflow: Workflow, place: str, name: str, scope: str | None) -> Iterator[Problem]:
    yield from _reference(workflow, place, name, scope)
    if not isinstance(workflow.states.get(name, ir.Task), ir.Task | type):
        yield Problem(place, f"expected a Task, got {shown(name)}")


def _scope_problems(workflow: Workflow, state: ir.State, place: str) -> Iterator[Problem]:
    """Whether the scopes around `state` lead to the top level."""
    outer = workflow.states.get(state.scope) if state.scope is not None else None
    if state.scope is not None and not isinstance(outer, ir.FanOut):
        yield Problem(
            member(place, "scope"), f"expected null or the name of a Map or Parallel, got {shown(state.scope)}"
        )
    passed = {state.name}
    while outer is not None and outer.name not in passed:
        passed.add(outer.name)
        outer = workflow.states.get(outer.scope) if outer.scope is not None else None
    if outer is not None:
        yield Problem(member(place, "scope"), f"{shown(state.name)} is inside of itself; give one of its scopes null")


def is_pure(workflow: Workflow, fan_out: ir.FanOut) -> bool:
    """Whether `fan_out` can be computed in place: nothing in it needs an event of its own."""
    inside = (workflow.states[name] for name in _inside(workflow, {fan_out.name}))
    return not any(isinstance(state, ir.Task | ir.Wait) or _is_counted(state) for state in (fan_out, *inside))


def _pure_problems(workflow: Workflow, state: ir.FanOut, place: str) -> Iterator[Problem]:
    if state.pure is not is_pure(workflow, state):
        has = (
            "has a Task, a Wait, retriers or a quorum" if state.pure else "has no Task, no Wait, no retriers, no quorum"
        )
        message = f"expected {shown(not state.pure)}, because the state {has} in it or of its own"
        yield Problem(place, f"{message}; got {shown(state.pure)}")


def _is_counted(state: ir.State) -> bool:
    """Whether `state` is a fan-out that cannot be computed in place, whatever is in it."""
    return isinstance(state, ir.FanOut) and (bool(state.retry) or state.quorum is not None)


def _inside(workflow: Workflow, outer: Collection[str]) -> set[str]:
    """Names of the states in the branches of `outer`, at any depth."""
    found = {each.name for each in workflow.states.values() if each.scope in outer}
    return found if found <= set(outer) else found | _inside(workflow, found | set(outer))


def _quorum_problems(state: ir.FanOut, place: str) -> Iterator[Problem]:
    branches = len(state.branches) if isinstance(state, ir.Parallel) else SHARD_SIZE
    if state.quorum is not None and not (type(state.quorum) is int and 1 <= state.quorum <= branches):
        yield Problem(place, f"expected 1 to {branches} branches that have to succeed, got {state.quorum!r}")


def _meeting_problems(workflow: Workflow, task: ir.Task, place: str) -> Iterator[Problem]:
    """A branch meets the one before it at the same step, with what a Task before has committed; so both come there."""
    fan_out = workflow.states.get(task.scope or "")
    if not isinstance(fan_out, ir.Map):
        got = "each branch of a Parallel has its own" if fan_out else "at the top level there is no other branch"
        yield Problem(place, f"expected a Task in a branch of a Map; {got}")
    elif fan_out.tolerates or fan_out.quorum is not None:
        message = f"expected that no branch of {shown(fan_out.name)} may fail, for the one after it would wait for ever"
        yield Problem(place, f"{message}: remove its quorum or ToleratedFailure fields")
    elif (found := _without_checkpoint(workflow, task)) is not None:
        got = "the branch begins" if found == task.scope else f"there is {shown(found)}"
        message = f"expected that before {shown(task.name)} comes a Task with a checkpoint; {got}"
        yield Problem(place, f"{message}: put a Task between")
    elif (turn := _turn(workflow, fan_out, task)) is not None:
        message = f"expected that every branch comes to {shown(task.name)}; {shown(turn)} may lead elsewhere"
        yield Problem(place, f"{message}: have only Pass states and Tasks without catchers before it")
    elif _leads_back(workflow, task):
        message = f"expected that every branch comes to {shown(task.name)} once; a loop leads back to it"
        yield Problem(place, f"{message}, in some branches more often than in others")


def _without_checkpoint(workflow: Workflow, task: ir.Task) -> str | None:
    """Name of something before `task` that is no Task with a checkpoint; None if there is only such."""
    for name in _before(workflow, task, set()):
        state = workflow.states[name]
        if not isinstance(state, ir.Task) or state.committed_by is not None:
            return name
    return None


def _turn(workflow: Workflow, fan_out: ir.Map, task: ir.Task) -> str | None:
    """Name of the first state from which a branch of `fan_out` may not come to `task`; None if there is none."""
    name: str | None = fan_out.start
    for _ in workflow.states:
        state = workflow.states.get(name or "")
        if state is None or state is task:
            return None  # what is not there is another problem
        if not isinstance(state, ir.Task | ir.Pass) or (isinstance(state, ir.Task) and state.catch):
            return state.name
        name = state.next
    return task.name


def _leads_back(workflow: Workflow, task: ir.Task) -> bool:
    """Whether a branch may come to `task` again."""
    passed: set[str] = set()
    ahead: list[ir.State] = [task]
    while ahead:
        targets = {name for _, name, scope in _targets(ahead.pop(), "") if scope == task.scope} & workflow.states.keys()
        ahead += [workflow.states[name] for name in targets - passed]
        passed |= targets
    return task.name in passed


def _before(workflow: Workflow, state: ir.State, passed: set[str]) -> Iterator[str]:
    """Names of what comes before `state`: the states that are no Pass, and its scope where it is a branch's first."""
    passed.add(state.name)
    for other in workflow.states.values():
        leads = any(target == state.name for _, target, _ in _targets(other, ""))
        if leads and isinstance(other, ir.Pass) and other.name not in passed:
            yield from _before(workflow, other, passed)
        elif leads and not isinstance(other, ir.Pass):
            yield other.name
