"""The compiled form as input: what the compiler wrote, unchanged, which its digest proves.

Nothing else is checked: the compiler has checked the definition. So what people write is refused, however right it is.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import NoReturn

from unum_compiler.checks.differences import Difference
from unum_compiler.options import DEFAULT, FunctionOptions
from unum_compiler.problems import Report, did_you_mean, shown
from unum_compiler.traversal import reachable_from
from unum_runtime.asl.places import element, member
from unum_runtime.cold_start.digest import short_digest
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.features.regions.region import region_of
from unum_runtime.features.signals.mailbox import is_signal_name, signal_of
from unum_runtime.json_text import parse_json, to_sorted
from unum_runtime.model import ir, states
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import NAME_RULE, SHARD_SIZE
from unum_runtime.model.states import FanOut, Json, State

DIGEST = "digest"
"""Field of the compiled form besides those of the IR, with the digest of the IR's text."""

_NO_OPTIONS: Mapping[str, FunctionOptions] = MappingProxyType({})
_REMEDY = (
    "write a definition instead (Amazon States Language, or a graph by `unum_constructs.graph`) and compile it: `unum "
    "compile FILE`"
)


def workflow_problems(workflow: Workflow) -> Iterator[Problem]:
    """Yield problems in relations between the states of `workflow`."""
    yield from _reference(workflow, "$.start_at", workflow.start_at, None)
    for state in workflow.states.values():
        place = member("$.states", state.name)
        yield from _scope_problems(workflow, state, place)
        yield from _signal_problems(workflow, state, place)
        for where, target, scope in _targets(state, place):
            yield from _reference(workflow, where, target, scope)
        for field in ("join", "committed_by"):
            if (name := getattr(state, field, None)) is not None:
                yield from _task_reference(workflow, member(place, field), name, state.scope)
        if isinstance(state, states.FanOut):
            yield from _pure_problems(workflow, state, member(place, "pure"))
            yield from _quorum_problems(state, member(place, "quorum"))
            yield from region_problems(workflow, state, member(place, "needs")) if state.needs else ()
        if isinstance(state, states.Task):
            yield from _branch_problems(workflow, state, place)
        if isinstance(state, states.Task) and (state.form is states.Form.SERVICE) != (state.resource is not None):
            message = f'expected a resource with the form "service" and with no other, got {shown(state.resource)}'
            yield Problem(member(place, "resource"), f'{message} with the form "{state.form}"')
        if isinstance(state, states.Task) and state.handler is not None and state.resource is not None:
            message = f"expected null for a Task with a resource, which no handler runs, got {shown(state.handler)}"
            yield Problem(member(place, "handler"), message)


def _branch_problems(workflow: Workflow, task: states.Task, place: str) -> Iterator[Problem]:
    """Yield problems in references of `task` to other branches of its Map."""
    if task.meets_previous:
        yield from _neighbour_problems(workflow, task, member(place, "meets_previous"))
    if task.after_previous is not None:
        yield from _previous_problems(workflow, task, member(place, "after_previous"))
    if task.left_out is not None:
        yield from _left_out_problems(workflow, task, member(place, "left_out"))


def _left_out_problems(workflow: Workflow, task: states.Task, place: str) -> Iterator[Problem]:
    """Yield what a Task that leaves out branches cannot be."""
    numbers: object = task.left_out
    is_pair = isinstance(numbers, tuple) and len(numbers) == 2  # noqa: PLR2004 - first and last branches
    if not is_pair or not all(type(each) is int and each >= 0 for each in task.left_out or ()):
        yield Problem(place, f"expected two numbers of branches, at the beginning and at the end, got {numbers!r}")
    elif not isinstance(workflow.states.get(task.scope or ""), states.Map):
        yield Problem(place, "expected a Task in a branch of a Map, whose branches have an order")
    elif task.resource is not None or task.pattern is not states.Pattern.RESPONSE or task.committed_by is not None:
        yield Problem(place, "expected a Task that runs a function of the workflow, ends with its response and commits")


def _signal_problems(workflow: Workflow, state: states.State, place: str) -> Iterator[Problem]:
    """Yield what a wait for a signal cannot be, and what cannot lead to one."""
    for field in ("join", "committed_by"):
        target = workflow.states.get(getattr(state, field, None) or "")
        if isinstance(target, states.Task) and signal_of(target.resource) is not None:
            message = f"expected a Task that waits for no signal, got {shown(target.name)}"
            yield Problem(member(place, field), f"{message}: its input must be committed before it begins")
    if not isinstance(state, states.Task) or (name := signal_of(state.resource)) is None:
        return
    if not is_signal_name(name):
        yield Problem(member(place, "resource"), f"expected the name of a signal, {NAME_RULE}, got {shown(name)}")
    if state.pattern is not states.Pattern.CALLBACK:
        yield Problem(member(place, "pattern"), f'expected "callback" for a wait for a signal, got "{state.pattern}"')
    for field in ("memoize", "meets_previous", "after_previous", "assumes_role"):
        if getattr(state, field):
            yield Problem(member(place, field), "expected none for a wait for a signal; put a Task between")


def _targets(state: states.State, place: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield (place, name, required scope) of every state that may follow `state`."""
    if state.next is not None:
        yield member(place, "next"), state.next, state.scope
    if isinstance(state, states.Work):
        for index, catcher in enumerate(state.catch):
            yield member(element(member(place, "catch"), index), "next"), catcher.next, state.scope
    match state:
        case states.Choice():
            for index, (_, target) in enumerate(state.rules):
                yield element(element(member(place, "rules"), index), 1), target, state.scope
            if state.default is not None:
                yield member(place, "default"), state.default, state.scope
        case states.Parallel():
            for index, start in enumerate(state.branches):
                yield element(member(place, "branches"), index), start, state.name
        case states.Map():
            yield member(place, "start"), state.start, state.name


def _reference(workflow: Workflow, place: str, name: str, scope: str | None) -> Iterator[Problem]:
    """Yield a problem at `place` unless state `name` exists in `scope`."""
    if name not in workflow.states:
        yield Problem(place, f"there is no state {shown(name)}; {did_you_mean(name, workflow.states)}")
    elif workflow.states[name].scope != scope:
        message = f"expected a state with the scope {shown(scope)}, got {shown(name)}"
        yield Problem(place, f"{message}, whose scope is {shown(workflow.states[name].scope)}")


def _task_reference(workflow: Workflow, place: str, name: str, scope: str | None) -> Iterator[Problem]:
    yield from _reference(workflow, place, name, scope)
    if not isinstance(workflow.states.get(name, states.Task), states.Task | type):
        yield Problem(place, f"expected a Task, got {shown(name)}")


def _scope_problems(workflow: Workflow, state: states.State, place: str) -> Iterator[Problem]:
    """Yield the problem of a scope outside the top level's tree of scopes."""
    outer = workflow.states.get(state.scope) if state.scope is not None else None
    if state.scope is not None and not isinstance(outer, states.FanOut):
        yield Problem(
            member(place, "scope"), f"expected null or the name of a Map or Parallel, got {shown(state.scope)}"
        )
    passed = {state.name}
    while outer is not None and outer.name not in passed:
        passed.add(outer.name)
        outer = workflow.states.get(outer.scope) if outer.scope is not None else None
    if outer is not None:
        yield Problem(member(place, "scope"), f"{shown(state.name)} is inside itself; set one of its scopes to null")


def is_pure(workflow: Workflow, fan_out: states.FanOut) -> bool:
    """Return True if `fan_out` can be computed in place, without further events."""
    inside = (workflow.states[name] for name in _inside(workflow, {fan_out.name}))
    return not any(isinstance(state, states.Task | states.Wait) or _is_counted(state) for state in (fan_out, *inside))


def _pure_problems(workflow: Workflow, state: states.FanOut, place: str) -> Iterator[Problem]:
    if state.pure is not is_pure(workflow, state):
        has = "at least one" if state.pure else "no"
        message = f"expected {shown(not state.pure)}, got {shown(state.pure)}"
        what = "Task, Wait, retrier, quorum or region"
        yield Problem(place, f"{message}: the state, or a state in it, has or is {has} {what}")


def _is_counted(state: states.State) -> bool:
    """Return True if retriers, a quorum or edges between nodes force fan-out `state` to send events."""
    return isinstance(state, states.FanOut) and (bool(state.retry or state.needs) or state.quorum is not None)


def _inside(workflow: Workflow, outer: Collection[str]) -> set[str]:
    """Return the names of all states inside `outer`, at any depth."""
    found = {each.name for each in workflow.states.values() if each.scope in outer}
    return found if found <= set(outer) else found | _inside(workflow, found | set(outer))


def _quorum_problems(state: states.FanOut, place: str) -> Iterator[Problem]:
    branches = len(state.branches) if isinstance(state, states.Parallel) else SHARD_SIZE
    if state.quorum is not None and not (type(state.quorum) is int and 1 <= state.quorum <= branches):
        yield Problem(place, f"expected a quorum of 1 to {branches} branches, got {state.quorum!r}")


def _neighbour_problems(workflow: Workflow, task: states.Task, place: str) -> Iterator[Problem]:
    """Yield the problem of a neighbour join that can block a branch forever.

    A branch joins the branch before it at the same step, with the checkpoint of the Task before that step. So every
    branch must reach the step, behind such a Task.
    """
    fan_out = workflow.states.get(task.scope or "")
    if not isinstance(fan_out, states.Map):
        got = "each branch of a Parallel has its own" if fan_out else "at the top level there is no other branch"
        yield Problem(place, f"expected a Task in a branch of a Map; {got}")
    elif fan_out.tolerates or fan_out.quorum is not None:
        message = f"expected a Map that fails with any branch, got {shown(fan_out.name)}: the branch after a failed one"
        yield Problem(place, f"{message} would wait forever; remove its quorum or ToleratedFailure fields")
    elif (found := _without_checkpoint(workflow, task)) is not None:
        got = "the start of the branch" if found == task.scope else shown(found)
        message = f"expected a Task with a checkpoint before {shown(task.name)}, got {got}"
        yield Problem(place, f"{message}; put a Task between")
    elif (turn := _branching_state(workflow, fan_out, task)) is not None:
        message = f"expected that every branch reaches {shown(task.name)}, but {shown(turn)} may lead elsewhere"
        yield Problem(place, f"{message}; put only Pass states and Tasks without catchers before it")
    elif _is_in_loop(workflow, task):
        message = f"expected that every branch reaches {shown(task.name)} once, but a loop leads back to it"
        yield Problem(place, f"{message}, as often as the branch's data say; remove the loop")


def _previous_problems(workflow: Workflow, task: states.Task, place: str) -> Iterator[Problem]:
    """Yield the problem of a Task that may wait forever for a result of the previous branch, or begin twice."""
    fan_out = workflow.states.get(task.scope or "")
    if isinstance(fan_out, states.Parallel) and fan_out.needs:
        got = f"one in node {shown(_node_with(workflow, fan_out, task))} of {shown(fan_out.name)}"
        remedy = "no node waits for the previous branch; put the Task before or after the region, in the Map's branch"
        yield Problem(place, f"expected a Task in a branch of a Map, got {got}: {remedy}")
    elif not isinstance(fan_out, states.Map):
        got = "the branches of a Parallel have no order" if fan_out else "at the top level there is no other branch"
        yield Problem(place, f"expected a Task in a branch of a Map; {got}")
    elif fan_out.tolerates or fan_out.quorum is not None:
        message = f"expected a Map that fails with any branch, got {shown(fan_out.name)}: the branch after a failed one"
        yield Problem(place, f"{message} would wait forever; remove its quorum or ToleratedFailure fields")
    elif any(each.meets_previous for each in workflow.tasks if each.scope == fan_out.name):
        yield Problem(place, f"expected no neighbour join beside it in {shown(fan_out.name)}; use after_previous alone")
    elif (found := _without_checkpoint(workflow, task)) is not None:
        got = "the start of the branch" if found == task.scope else shown(found)
        message = f"expected a Task with a checkpoint before {shown(task.name)}, got {got}"
        yield Problem(place, f"{message}; put a Task between")
    elif _is_in_loop(workflow, task):
        yield Problem(place, f"expected that a branch runs {shown(task.name)} once, but a loop leads back to it")
    else:
        yield from _source_problems(workflow, task, fan_out, place)


def _source_problems(workflow: Workflow, task: states.Task, fan_out: states.Map, place: str) -> Iterator[Problem]:
    """Yield a problem if a branch of `fan_out` may commit a Task never or twice."""
    source = workflow.states.get(task.after_previous or "")
    if source is None:
        names = [each.name for each in workflow.tasks if each.scope == fan_out.name]
        found_text = f"there is no state {shown(task.after_previous)}"
        yield Problem(place, f"{found_text}; {did_you_mean(task.after_previous or '', names)}")
    elif not isinstance(source, states.Task) or source.scope != fan_out.name:
        got = f"{shown(source.name)}, a {type(source).__name__}"
        yield Problem(place, f"expected a Task in the branches of {shown(fan_out.name)}, got {got} in {_where(source)}")
    elif source.committed_by is not None:
        message = f"expected a Task with a checkpoint, got {shown(source.name)}"
        yield Problem(place, f"{message}, which {shown(source.committed_by)} commits for")
    elif _is_in_loop(workflow, source):
        yield Problem(place, f"expected a Task that a branch runs once, but a loop leads back to {shown(source.name)}")
    elif (end := _end_without(workflow, fan_out, source)) is not None:
        message = f"expected a Task that every branch runs, but a branch can end after {shown(end)} without"
        yield Problem(place, f"{message} {shown(source.name)}: the branch after it would wait forever")


def _where(state: states.State) -> str:
    return "the top level" if state.scope is None else shown(state.scope)


def _end_without(workflow: Workflow, fan_out: states.Map, source: states.Task) -> str | None:
    """Find a state that ends a branch of `fan_out` before `source` runs; None if impossible."""

    def followers(name: str) -> set[str]:
        targets = _targets(workflow.states[name], "") if name != source.name else ()
        return {target for _, target, scope in targets if scope == fan_out.name} & workflow.states.keys()

    for name in reachable_from({fan_out.start} & workflow.states.keys(), followers):
        state = workflow.states[name]
        if state.next is None and state is not source and not isinstance(state, states.Choice | states.Fail):
            return name
    return None


def _without_checkpoint(workflow: Workflow, task: states.Task) -> str | None:
    """Find a predecessor of `task` without a checkpoint; None if all commit."""
    for name in _before(workflow, task, set()):
        state = workflow.states[name]
        if not isinstance(state, states.Task) or state.committed_by is not None:
            return name
    return None


def _branching_state(workflow: Workflow, fan_out: states.Map, task: states.Task) -> str | None:
    """Return the first state, by name, that may lead a branch of `fan_out` past `task`; None without one."""
    name: str | None = fan_out.start
    for _ in workflow.states:
        state = workflow.states.get(name or "")
        if state is None or state is task:
            return None  # a missing state is another problem
        if not isinstance(state, states.Task | states.Pass) or (isinstance(state, states.Task) and state.catch):
            return state.name
        name = state.next
    return task.name


def _is_in_loop(workflow: Workflow, task: states.Task) -> bool:
    """Return True if a branch may reach `task` again."""
    followers = partial(_followers, workflow, task.scope)
    return task.name in reachable_from(followers(task.name), followers)


def _followers(workflow: Workflow, scope: str | None, name: str) -> set[str]:
    targets = _targets(workflow.states[name], "")
    return {target for _, target, inside in targets if inside == scope} & workflow.states.keys()


def _node_with(workflow: Workflow, region: states.Parallel, task: states.Task) -> str | None:
    """Return the name of the node of `region` that runs `task`; None if none reaches it."""
    for (node, _), start in zip(region.needs, region.branches, strict=False):
        if task.name in reachable_from({start} & workflow.states.keys(), partial(_followers, workflow, region.name)):
            return node
    return None


def _before(workflow: Workflow, state: states.State, passed: set[str]) -> Iterator[str]:
    """Yield the names of states before `state`, seen through Pass states; its scope's name if it begins the branch."""
    passed.add(state.name)
    for other in workflow.states.values():
        leads = any(target == state.name for _, target, _ in _targets(other, ""))
        if leads and isinstance(other, states.Pass) and other.name not in passed:
            yield from _before(workflow, other, passed)
        elif leads and not isinstance(other, states.Pass):
            yield other.name


def region_problems(workflow: ir.Workflow, state: states.FanOut, place: str) -> Iterator[Problem]:
    """Yield problems in the nodes and edges of region `state`."""
    if not isinstance(state, states.Parallel):
        yield Problem(place, f"expected a Parallel as a region, got the Map {shown(state.name)}; name no nodes here")
    elif len(state.needs) != len(state.branches):
        expected = f"expected a name for each of {len(state.branches)} branches"
        yield Problem(place, f"{expected}, got {len(state.needs)}; nodes and branches have one order")
    elif len(state.needs) > SHARD_SIZE:
        yield Problem(place, f"expected at most {SHARD_SIZE} nodes, got {len(state.needs)}; nest regions")
    elif state.quorum is not None:
        yield Problem(place, "expected a region without a quorum: it ends when all its nodes have; remove the quorum")
    else:
        problems = list(_node_problems(state, place))
        yield from problems or _shared_states(workflow, state, place)


def _node_problems(state: states.Parallel, place: str) -> Iterator[Problem]:
    known: list[str] = []
    has_edges = False
    for index, (name, sources) in enumerate(state.needs):
        where = element(place, index)
        if name in known or not name:
            yield Problem(where, f"expected a name that no other node has, got {shown(name)}; rename it")
        if has_edges and not sources:
            yield Problem(where, f"expected nodes without sources first, got {shown(name)} behind others; move it")
        if len(set(sources)) < len(sources):
            yield Problem(where, f"node {shown(name)} names a source twice; remove one")
        for source in sources:
            if source not in known:
                later = any(source == other for other, _ in state.needs)
                remedy = "nodes in a circle can never begin" if later else did_you_mean(source, known)
                got = f"is not before it: {remedy}" if later else f"does not exist; {remedy}"
                yield Problem(where, f"node {shown(name)} waits for {shown(source)}, which {got}")
        known.append(name)
        has_edges = has_edges or bool(sources)


def _shared_states(workflow: ir.Workflow, state: states.Parallel, place: str) -> Iterator[Problem]:
    """Yield the problem of a state that two nodes contain: its end would not tell which of them has ended."""
    if not all(start in workflow.states for start in state.branches):
        return  # another problem
    owner: dict[str, int] = {}
    for node, members in enumerate(region_of(workflow, state.name).states):
        for name in members:
            first = owner.setdefault(name, node)
            if first != node:
                both = f"{shown(state.needs[first][0])} and {shown(state.needs[node][0])}"
                yield Problem(place, f"nodes {both} share state {shown(name)}; give each node states of its own")


_MAP = "branches of a Map do not wait for each other in Step Functions; run the later step after the Map"
REASONS = {
    "after_previous": _MAP,
    "left_out": "all branches of a Map run the same states in Step Functions; put a Choice before the state",
    "meets_previous": _MAP,
    "needs": "branches of a Parallel do not wait for each other in Step Functions; nest Parallel states instead",
    "quorum": "a Parallel or Map of Step Functions waits for all its branches; leave the number out",
}
"""Why Step Functions lacks a field of the IR, and what takes its place."""


def with_extensions(workflow: Workflow, extensions: Mapping[str, Mapping[str, Json]]) -> Workflow:
    """Return `workflow` extended by IR fields, keyed by state name.

    Raises:
        DefinitionError: with every field that its state cannot have, and its path in the IR.
    """
    if not extensions:
        return workflow
    states = {name: replace(state, **extensions.get(name, {})) for name, state in workflow.states.items()}
    extended = replace(workflow, states=states)
    result = replace(extended, states={name: _with_purity(state, extended) for name, state in states.items()})
    problems = tuple(workflow_problems(result))
    if problems:
        raise DefinitionError(problems)
    return result


def refuse_extensions(extensions: Mapping[str, Mapping[str, Json]]) -> None:
    """Raise DefinitionError for every field in `extensions`, which Step Functions lacks."""
    report = Report()
    for name, fields in extensions.items():
        for field in fields:
            place = member(member("$.states", name), field)
            report.differs(place, Difference.EXTENSION, REASONS.get(field, "Step Functions has no such state"))
    report.raise_problems(None)


def refuse_ir() -> NoReturn:
    """Raise DefinitionError: compiled definitions are no definitions of Step Functions."""
    reason = "Step Functions has no such definition; compile one in the Amazon States Language"
    raise DefinitionError(
        (Problem("$", f'{Difference.IR}: refused by compatibility="strict"; {reason}', Difference.IR),)
    )


def _with_purity(state: State, workflow: Workflow) -> State:
    """Return `state` with recomputed `pure`: quorums and regions prevent purity."""
    return replace(state, pure=is_pure(workflow, state)) if isinstance(state, FanOut) else state


def to_compiled(workflow: Workflow) -> dict[str, Json]:
    """Return the compiled form of `workflow`, as `read_ir` reads it: the IR and its digest."""
    return {**parse_json(workflow.to_json()), DIGEST: workflow.digest}


def read_ir(
    value: Json, functions: Collection[str] | None = None, options: Mapping[str, FunctionOptions] = _NO_OPTIONS
) -> Workflow:
    """Return the workflow in `value`.

    Args:
        value: compiled form, as `to_compiled` returns it.
        functions: keys of the workflow's functions; None accepts every name.
        options: options of functions, which must be the default: the IR has them in each Task.

    Raises:
        DefinitionError: the compiler of this version did not write `value`; or with every problem about `functions`
            and `options`.
    """
    report = Report()
    workflow = _verified(value, report)
    report.add(_function_problems(workflow, functions, options))
    report.raise_problems(value)
    return workflow


def _verified(value: Json, report: Report) -> Workflow:
    def refuse(place: str, message: str) -> NoReturn:
        report.add([Problem(place, f"{message}; {_REMEDY}")])
        report.raise_problems(value)
        raise AssertionError("a report with a problem raises")

    if not isinstance(value, dict) or DIGEST not in value:
        refuse("$", f'expected an object with "{DIGEST}", as the compiler writes it, got none')
    text = to_sorted({name: each for name, each in value.items() if name != DIGEST})
    if value[DIGEST] != (found := short_digest(text.encode())):
        refuse(member("$", DIGEST), f"expected {found!r}, that of the other fields, got {shown(value[DIGEST])}")
    try:
        return Workflow.from_json(text)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        refuse("$", f"expected the compiled form of this version, got {error!r}")


def _function_problems(
    workflow: Workflow, functions: Collection[str] | None, options: Mapping[str, FunctionOptions]
) -> Iterator[Problem]:
    for task in workflow.tasks:
        place = member(member("$.states", task.name), "function")
        if functions is not None and task.form is not states.Form.SERVICE and task.function not in functions:
            remedy = did_you_mean(task.function, functions)
            yield Problem(place, f"there is no function {shown(task.function)}; pass it in `functions`: {remedy}")
        if options.get(task.function, DEFAULT) != DEFAULT:
            message = f"expected default options of {shown(task.function)}"
            yield Problem(place, f"{message}; give them when you compile the definition")
