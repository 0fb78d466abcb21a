"""From the typed tree to the IR, one small function for each kind of state.

The tree must be without problems; nothing is checked here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from unum_constructs.compiler import asl
from unum_constructs.compiler.payload import with_payload
from unum_runtime.model import ir

_Shared: TypeAlias = dict[str, Any]
"""The arguments that all kinds of state take."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What lies around a state.

    Attributes:
        scope: the scope that holds it.
        fan_out: name of the state whose branch the scope is; None at the top level.
        pure: the scopes inside the state have no Task.
    """

    scope: asl.Scope
    fan_out: str | None
    pure: bool


def lower(machine: asl.Scope, *, name: str) -> ir.Workflow:
    """The workflow called `name` that `machine` describes."""
    states = {state.name: state for state in _scope(machine, None)}
    return ir.Workflow(name=name, start_at=machine.start, states=states)


def _scope(scope: asl.Scope, fan_out: str | None) -> Iterator[ir.State]:
    """The states of `scope` and of all scopes inside, in the order of the definition."""
    for state in scope.states.values():
        inside = [inner for branch in asl.scopes_inside(state) for inner in _scope(branch, state.name)]
        pure = not any(isinstance(inner, ir.Task) for inner in inside)
        yield _state(state, _Around(scope, fan_out, pure))
        yield from inside


def _state(state: asl.State, around: _Around) -> ir.State:
    shared = {"name": state.name, "scope": around.fan_out, "data": state.data, "next": state.next}
    return _KINDS[type(state)](state, shared, around)


def _task(state: asl.Task, shared: _Shared, _around: _Around) -> ir.State:
    if state.form is ir.Form.INVOKE:
        shared["data"] = with_payload(state.data)
    return ir.Task(**shared, function=state.function, form=state.form)


def _pass(_state: asl.Pass, shared: _Shared, _around: _Around) -> ir.State:
    return ir.Pass(**shared)


def _succeed(_state: asl.Succeed, shared: _Shared, _around: _Around) -> ir.State:
    return ir.Succeed(**shared)


def _fail(state: asl.Fail, shared: _Shared, _around: _Around) -> ir.State:
    return ir.Fail(**shared, error=state.error, cause=state.cause)


def _choice(state: asl.Choice, shared: _Shared, _around: _Around) -> ir.State:
    shared["next"] = None
    rules = tuple((rule.condition, rule.target) for rule in state.rules)
    return ir.Choice(**shared, rules=rules, default=state.default)


def _parallel(state: asl.Parallel, shared: _Shared, around: _Around) -> ir.State:
    branches = tuple(branch.start for branch in state.branches)
    return ir.Parallel(**shared, pure=around.pure, join=_join(state, around.scope), branches=branches)


def _map(state: asl.Map, shared: _Shared, around: _Around) -> ir.State:
    return ir.Map(
        **shared,
        pure=around.pure,
        join=_join(state, around.scope),
        start=state.processor.start,
        max_concurrency=state.max_concurrency,
    )


def _join(fan_out: asl.State, scope: asl.Scope) -> str | None:
    """The Task that follows `fan_out` with nothing but Pass states between; None if none does for certain."""
    passed: set[str] = set()
    name = fan_out.next
    while name is not None and name not in passed:
        state = scope.states[name]
        if not isinstance(state, asl.Pass):
            return name if isinstance(state, asl.Task) else None
        passed.add(name)
        name = state.next
    return None


_KINDS: Mapping[type[asl.State], Callable[[Any, _Shared, _Around], ir.State]] = {
    asl.Task: _task,
    asl.Pass: _pass,
    asl.Choice: _choice,
    asl.Succeed: _succeed,
    asl.Fail: _fail,
    asl.Parallel: _parallel,
    asl.Map: _map,
}
