"""From the typed tree to the IR, one small function for each kind of state.

The tree must be without problems; nothing is checked here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from unum_compiler.checks.certain_successors import certain_task, plain_task
from unum_compiler.checks.context_object import counts_redrives, keeps_input
from unum_compiler.checks.dataset_tasks import entered, entrances, with_tasks
from unum_compiler.options import DEFAULT, FunctionOptions
from unum_compiler.parsing import tree
from unum_compiler.parsing.credentials import FIELD, with_role
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
        pure: nothing in the scopes inside the state needs an event of its own.
        options: of each function, by key.
    """

    scope: tree.Scope
    fan_out: str | None
    pure: bool
    options: Options


def lower(machine: tree.Machine, *, name: str, options: Options) -> ir.Workflow:
    """The workflow called `name` that `machine` describes, with `options` of its functions by key."""
    states = tuple(_scope(machine, None, options))
    readers = entrances(states)
    return ir.Workflow(
        name=name,
        start_at=readers.get(machine.start, machine.start),
        states={state.name: entered(state, readers) for state in states},
        timeout_s=machine.timeout_s,
        keeps_input=keeps_input(machine),
        counts_redrives=counts_redrives(machine) or None,
    )


def _scope(scope: tree.Scope, fan_out: str | None, options: Options) -> Iterator[ir.State]:
    """The states of `scope` and of all scopes inside, in the order of the definition."""
    for state in scope.states.values():
        inside = [inner for branch in tree.scopes_inside(state) for inner in _scope(branch, state.name, options)]
        yield from with_tasks(_state(state, _Around(scope, fan_out, not any(map(_needs_event, inside)), options)))
        yield from inside


def _needs_event(state: ir.State) -> bool:
    """Whether `state` cannot be computed in place: it runs user code or waits, or something inside it does."""
    return isinstance(state, ir.Task | ir.Wait) or (isinstance(state, ir.FanOut) and not state.pure)


def _state(state: tree.State, around: _Around) -> ir.State:
    shared: _Shared = {
        "name": state.name,
        "scope": around.fan_out,
        "data": state.data,
        "next": state.next,
        "language": state.language,
    }
    if isinstance(state, tree.Work):
        catch = (ir.Catcher(errors=rule.errors, next=rule.target, data=rule.data) for rule in state.catch)
        shared |= {"retry": state.retry, "catch": tuple(catch)}
    return _KINDS[type(state)](state, shared, around)


def _task(state: tree.Task, shared: _Shared, around: _Around) -> ir.State:
    if state.form is ir.Form.INVOKE:
        shared["data"] = _without_function(state.data)
    assumes_role = FIELD in state.data
    if assumes_role:
        shared["data"] = with_role(state.data, state.language)
    options = around.options.get(state.function, DEFAULT)
    return ir.Task(
        **shared,
        function=state.function,
        form=state.form,
        resource=state.resource,
        pattern=state.pattern,
        assumes_role=assumes_role,
        # What is never committed cannot be found.
        guard=(options.guard or ir.Guard.READ) if options.checkpoint else ir.Guard.COMMIT,
        committed_by=None if options.checkpoint else _name(certain_task(state, around.scope)),
        memoize=options.memoize,
    )


def _without_function(data: Mapping[str, Any]) -> _Shared:
    """`data` of a lambda:invoke Task, of whose parameters the runtime needs ``Payload`` alone."""
    field = "Arguments" if "Arguments" in data else "Parameters"
    payload = {name: value for name, value in data[field].items() if name in ("Payload", "Payload.$")}
    return {**data, field: payload}


def _pass(_state: tree.Pass, shared: _Shared, _around: _Around) -> ir.State:
    return ir.Pass(**shared)


def _wait(_state: tree.Wait, shared: _Shared, _around: _Around) -> ir.State:
    return ir.Wait(**shared)


def _succeed(_state: tree.Succeed, shared: _Shared, _around: _Around) -> ir.State:
    return ir.Succeed(**shared)


def _fail(_state: tree.Fail, shared: _Shared, _around: _Around) -> ir.State:
    return ir.Fail(**shared)


def _choice(state: tree.Choice, shared: _Shared, _around: _Around) -> ir.State:
    shared["next"] = None
    rules = tuple(({**rule.condition, **rule.data}, rule.target) for rule in state.rules)
    return ir.Choice(**shared, rules=rules, default=state.default)


def _parallel(state: tree.Parallel, shared: _Shared, around: _Around) -> ir.State:
    branches = tuple(branch.start for branch in state.branches)
    return ir.Parallel(**shared, pure=_pure(state, around), join=_join(state, around), branches=branches)


def _map(state: tree.Map, shared: _Shared, around: _Around) -> ir.State:
    return ir.Map(
        **shared,
        pure=_pure(state, around),
        join=None if _tolerates(state) else _join(state, around),
        start=state.processor.start,
        has_limit=state.data.get("MaxConcurrency", 0) != 0 or "MaxConcurrencyPath" in state.data,
        tolerates=_tolerates(state),
        distributed=state.distributed,
    )


def _tolerates(state: tree.Map) -> bool:
    """Whether branches of `state` may fail; an inline Map has the fields too, but for it they mean nothing."""
    return state.distributed and any(field.startswith("ToleratedFailure") for field in state.data)


def _pure(state: tree.Work, around: _Around) -> bool:
    return around.pure and not state.retry


def _join(state: tree.Work, around: _Around) -> str | None:
    """The Task that may join the results of `state` when it is invoked, since nothing but data flow lies between.

    A failure of the join would have to be retried or caught by the fan-out, and what is assigned on the way would have
    to be known before the Task is: both need a commit of their own.
    """
    return None if state.retry or state.catch or "Assign" in state.data else _name(plain_task(state, around.scope))


def _name(task: tree.Task | None) -> str | None:
    return None if task is None else task.name


_KINDS: Mapping[type[tree.State], Callable[[Any, _Shared, _Around], ir.State]] = {
    tree.Task: _task,
    tree.Pass: _pass,
    tree.Choice: _choice,
    tree.Wait: _wait,
    tree.Succeed: _succeed,
    tree.Fail: _fail,
    tree.Parallel: _parallel,
    tree.Map: _map,
}
