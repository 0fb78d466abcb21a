"""From the typed tree to the IR, one small function for each kind of state.

The tree must be without problems; nothing is checked here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from unum_constructs.compiler import asl
from unum_constructs.compiler.certain import certain_task
from unum_constructs.compiler.options import DEFAULT, FunctionOptions
from unum_constructs.compiler.payload import with_payload
from unum_runtime.model import ir

_Shared: TypeAlias = dict[str, Any]
"""The arguments that all kinds of state take."""

Options: TypeAlias = Mapping[str, FunctionOptions]


@dataclass(frozen=True, slots=True)
class _Around:
    """What lies around a state.

    Attributes:
        scope: the scope that holds it.
        fan_out: name of the state whose branch the scope is; None at the top level.
        pure: the scopes inside the state have no Task.
        options: of each function, by key.
    """

    scope: asl.Scope
    fan_out: str | None
    pure: bool
    options: Options


def lower(machine: asl.Scope, *, name: str, options: Options) -> ir.Workflow:
    """The workflow called `name` that `machine` describes, with `options` of its functions by key."""
    states = {state.name: state for state in _scope(machine, None, options)}
    return ir.Workflow(name=name, start_at=machine.start, states=states)


def _scope(scope: asl.Scope, fan_out: str | None, options: Options) -> Iterator[ir.State]:
    """The states of `scope` and of all scopes inside, in the order of the definition."""
    for state in scope.states.values():
        inside = [inner for branch in asl.scopes_inside(state) for inner in _scope(branch, state.name, options)]
        pure = not any(isinstance(inner, ir.Task) for inner in inside)
        yield _state(state, _Around(scope, fan_out, pure, options))
        yield from inside


def _state(state: asl.State, around: _Around) -> ir.State:
    shared = {"name": state.name, "scope": around.fan_out, "data": state.data, "next": state.next}
    return _KINDS[type(state)](state, shared, around)


def _task(state: asl.Task, shared: _Shared, around: _Around) -> ir.State:
    if state.form is ir.Form.INVOKE:
        shared["data"] = with_payload(state.data)
    options = around.options.get(state.function, DEFAULT)
    return ir.Task(
        **shared,
        function=state.function,
        form=state.form,
        guard=options.guard if options.checkpoint else ir.Guard.COMMIT,  # what is never committed cannot be found
        committed_by=None if options.checkpoint else _follower(state, around),
        memoize=options.memoize,
    )


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
    return ir.Parallel(**shared, pure=around.pure, join=_follower(state, around), branches=branches)


def _map(state: asl.Map, shared: _Shared, around: _Around) -> ir.State:
    return ir.Map(
        **shared,
        pure=around.pure,
        join=_follower(state, around),
        start=state.processor.start,
        max_concurrency=state.max_concurrency,
    )


def _follower(state: asl.State, around: _Around) -> str | None:
    task = certain_task(state, around.scope)
    return None if task is None else task.name


_KINDS: Mapping[type[asl.State], Callable[[Any, _Shared, _Around], ir.State]] = {
    asl.Task: _task,
    asl.Pass: _pass,
    asl.Choice: _choice,
    asl.Succeed: _succeed,
    asl.Fail: _fail,
    asl.Parallel: _parallel,
    asl.Map: _map,
}
