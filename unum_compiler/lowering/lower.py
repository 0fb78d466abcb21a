"""Lowering of the typed tree to IR, one small function per kind of state.

The tree must be without problems; nothing is checked here.

An account has 1,000 concurrent executions of all its functions, unless AWS raised that. Branches beyond them would wait
in Lambda's queue, which tries them again and again and gives each up after six hours. In lanes, they wait in the
workflow, and take no request until their turn.
Source: AWS Lambda Developer Guide, "Understanding Lambda function scaling".
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from unum_compiler.checks.context_object import counts_redrives, draws, keeps_input, names_children, names_sources
from unum_compiler.checks.dataset_tasks import enter_by_reader, entrances, with_tasks
from unum_compiler.checks.scope_checks import certain_task, plain_task
from unum_compiler.compatibility import HOP_BUDGET, PAYLOAD_LIMIT
from unum_compiler.memoization import Memoization
from unum_compiler.options import DEFAULT, FunctionOptions
from unum_compiler.parsing import tree
from unum_compiler.parsing.task_resources import FIELD, SERVICES, with_role
from unum_runtime.model import ir, states
from unum_runtime.model.called_functions import CALLED, INVOKE, arguments_field, called_key
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import AT_ONCE, Form, Map, State, Task

_Shared: TypeAlias = dict[str, Any]
"""Arguments of every class of state."""

Options: TypeAlias = Mapping[str, FunctionOptions]


def with_calls(workflow: Workflow, called: Collection[str]) -> Workflow:
    """Return `workflow` with calls in place of Tasks that the functions `called` would host.

    A function that one Task calls with options, such as a qualifier, is called by all Tasks: a host's environment could
    refer to the service function, whose environment refers to the functions that it calls.
    """
    keys = {*called, *called_keys(workflow)}
    return replace(workflow, states={name: _with_call(state, keys) for name, state in workflow.states.items()})


def called_keys(workflow: Workflow) -> frozenset[str]:
    """Return the keys of the functions that Tasks of `workflow` call."""
    return frozenset(key for task in workflow.tasks if (key := called_key(task)) is not None)


def _with_call(state: State, keys: Collection[str]) -> State:
    if not isinstance(state, Task) or state.form is Form.SERVICE or state.function not in keys:
        return state
    name = CALLED + state.function
    call = replace(state, function=SERVICES, form=Form.SERVICE, resource=name)
    if state.form is Form.DIRECT:
        return call
    field = arguments_field(state)
    return replace(call, resource=INVOKE, data={**state.data, field: {"FunctionName": name, **state.data[field]}})


@dataclass(frozen=True, slots=True)
class _Around:
    """Surroundings of a state.

    Attributes:
        scope: scope with the state.
        fan_out: name of the fan-out whose branch the scope is; None at the top level.
        pure: True if no state in the nested scopes needs an event of its own.
        options: options of each function, by key.
    """

    scope: tree.Scope
    fan_out: str | None
    pure: bool
    options: Options


def lower(machine: tree.Machine, *, name: str, options: Options, strict: bool = False) -> ir.Workflow:
    """Return the workflow that `machine` describes.

    Args:
        machine: a tree without problems.
        name: name of the workflow.
        options: options of functions, by key.
        strict: True to apply the quotas of Step Functions.
    """
    workflow = _workflow(machine, name, options)
    return with_quotas(workflow) if strict else workflow


def _workflow(machine: tree.Machine, name: str, options: Options) -> ir.Workflow:
    lowered = tuple(_scope(machine, None, options))
    readers = entrances(lowered)
    return ir.Workflow(
        name=name,
        start_at=readers.get(machine.start, machine.start),
        states={state.name: enter_by_reader(state, readers) for state in lowered},
        timeout_s=machine.timeout_s,
        keeps_input=keeps_input(machine),
        counts_redrives=counts_redrives(machine) or None,
        names_children=names_children(machine) or None,
        draws=draws(machine) or None,
    )


def _scope(scope: tree.Scope, fan_out: str | None, options: Options) -> Iterator[states.State]:
    """Yield states of `scope` and nested scopes, in document order."""
    for state in scope.states.values():
        inside = [inner for branch in tree.scopes_inside(state) for inner in _scope(branch, state.name, options)]
        around = _Around(scope, fan_out, not any(map(_needs_event, inside)), options)
        yield from with_tasks(_state(state, around), names_sources=names_sources(state))
        yield from inside


def _needs_event(state: states.State) -> bool:
    """Return True if `state` cannot be computed in place: it, or a state inside it, runs user code or waits."""
    return isinstance(state, states.Task | states.Wait) or (isinstance(state, states.FanOut) and not state.pure)


def _state(state: tree.State, around: _Around) -> states.State:
    shared: _Shared = {
        "name": state.name,
        "scope": around.fan_out,
        "data": state.data,
        "next": state.next,
        "language": state.language,
    }
    if isinstance(state, tree.Work):
        catch = (states.Catcher(errors=rule.errors, next=rule.target, data=rule.data) for rule in state.catch)
        shared |= {"retry": state.retry, "catch": tuple(catch)}
    kind = _PLAIN.get(type(state))
    return kind(**shared) if kind else _KINDS[type(state)](state, shared, around)


def _task(state: tree.Task, shared: _Shared, around: _Around) -> states.State:
    if state.form is states.Form.INVOKE:
        shared["data"] = _without_function(state.data)
    if state.called is not None:
        shared["data"] = _with_function(state.data, CALLED + state.called)
    assumes_role = FIELD in state.data
    if assumes_role:
        shared["data"] = with_role(shared["data"], state.language)
    options = around.options.get(state.function, DEFAULT)
    return states.Task(
        **shared,
        function=state.function,
        form=state.form,
        resource=state.resource,
        pattern=state.pattern,
        assumes_role=assumes_role,
        # A read before user code would never find an outcome that is never committed.
        guard=(options.guard or states.Guard.READ) if options.checkpoint else states.Guard.COMMIT,
        committed_by=None if options.checkpoint else _name(certain_task(state, around.scope)),
        memoize=bool(options.memoize),
        **_memo(options),
    )


def _memo(options: FunctionOptions) -> _Shared:
    memo = options.memoize
    if not isinstance(memo, Memoization):
        return {}
    return {
        "memo_key": memo.places,
        "memo_version": memo.version,
        "memo_lifetime_s": memo.lifetime_s,
        "memo_scope": memo.scope,
    }


def _without_function(data: Mapping[str, Any]) -> _Shared:
    """Return `data` of a lambda:invoke Task with ``Payload`` alone: the runtime needs no other parameter."""
    field = "Arguments" if "Arguments" in data else "Parameters"
    payload = {name: value for name, value in data[field].items() if name in ("Payload", "Payload.$")}
    return {**data, field: payload}


def _with_function(data: Mapping[str, Any], name: str) -> _Shared:
    """Return `data` of a lambda:invoke Task with ``FunctionName`` `name`."""
    field = "Arguments" if "Arguments" in data else "Parameters"
    return {**data, field: {**data[field], "FunctionName": name}}


def _choice(state: tree.Choice, shared: _Shared, _around: _Around) -> states.State:
    shared["next"] = None
    rules = tuple(({**rule.condition, **rule.data}, rule.target) for rule in state.rules)
    return states.Choice(**shared, rules=rules, default=state.default)


def _parallel(state: tree.Parallel, shared: _Shared, around: _Around) -> states.State:
    branches = tuple(branch.start for branch in state.branches)
    return states.Parallel(**shared, pure=_pure(state, around), join=_join(state, around), branches=branches)


def _map(state: tree.Map, shared: _Shared, around: _Around) -> states.State:
    return states.Map(
        **shared,
        pure=_pure(state, around),
        join=None if _tolerates(state) else _join(state, around),
        start=state.processor.start,
        has_limit=state.data.get("MaxConcurrency", 0) != 0 or "MaxConcurrencyPath" in state.data,
        tolerates=_tolerates(state),
        distributed=state.distributed,
    )


def _tolerates(state: tree.Map) -> bool:
    """Return True if branches of `state` may fail; an inline Map ignores these fields."""
    return state.distributed and any(field.startswith("ToleratedFailure") for field in state.data)


def _pure(state: tree.Work, around: _Around) -> bool:
    return around.pure and not state.retry


def _join(state: tree.Work, around: _Around) -> str | None:
    """Return the Task that can join results of `state`, because nothing except data flow lies between.

    Retriers and catchers of the fan-out apply to a failed join, and variables must be assigned before the Task runs.
    Both need a commit of their own, so that the fan-out joins itself.
    """
    if state.retry or state.catch or "Assign" in state.data:
        return None
    task = plain_task(state, around.scope)
    # The mailbox of a wait for a signal follows from its input alone, which the results by reference are not.
    return None if task is None or (task.resource or "").startswith(states.SIGNAL) else task.name


def _name(task: tree.Task | None) -> str | None:
    return None if task is None else task.name


_PLAIN: Mapping[type[tree.State], Callable[..., states.State]] = {
    tree.Pass: states.Pass,
    tree.Wait: states.Wait,
    tree.Succeed: states.Succeed,
    tree.Fail: states.Fail,
}
"""The kinds of state without fields of their own."""

_KINDS: Mapping[type[tree.State], Callable[[Any, _Shared, _Around], states.State]] = {
    tree.Task: _task,
    tree.Choice: _choice,
    tree.Parallel: _parallel,
    tree.Map: _map,
}


def with_quotas(workflow: Workflow) -> Workflow:
    """Return `workflow` with the quotas of Step Functions; every Map has a limit of branches at once."""
    states = {
        name: replace(state, has_limit=True) if isinstance(state, Map) else state
        for name, state in workflow.states.items()
    }
    return replace(workflow, states=states, payload_limit=PAYLOAD_LIMIT, hop_budget=HOP_BUDGET, strict=True)


def with_pace(workflow: Workflow) -> Workflow:
    """Return `workflow` with a concurrency limit for every unlimited Map.

    ``"MaxConcurrency": 0`` says that there is none. A Map whose branches wait for each other runs them all at once.
    """
    neighbours = {task.scope for task in workflow.tasks if task.meets_previous or task.after_previous is not None}
    states = {
        name: _paced(state) if isinstance(state, Map) and name not in neighbours and _is_open(state) else state
        for name, state in workflow.states.items()
    }
    return replace(workflow, states=states) if states != workflow.states else workflow


def _is_open(state: Map) -> bool:
    """Return True if `state` runs Tasks and its definition leaves concurrency open."""
    return not state.pure and state.data.keys().isdisjoint(("MaxConcurrency", "MaxConcurrencyPath"))


def _paced(state: Map) -> State:
    return replace(state, has_limit=True, data={**state.data, "MaxConcurrency": AT_ONCE})
