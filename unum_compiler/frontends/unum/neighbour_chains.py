"""Maps whose branches fan in with neighbouring branches, as one chain of Tasks for each branch.

The original writes such a join as arithmetic on branch indexes, in the files of all functions that take part. Here
the branches are played for every number of branches up to a bound, which tells for each function in which branches it
runs and what it gets there. A Task waits for the result of the previous branch (`after_previous`), and does not run in
the branches that the function leaves out (`left_out`).

Names in the arithmetic: ``$0`` is the index of a function's branch, ``$size`` the number of branches.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from unum_compiler.frontends.unum.application import Edge, Node, Place
from unum_compiler.problems import shown
from unum_runtime.model.states import Json

_COMPARED: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_OFFSET = re.compile(r"\(?\$0(?:(?P<sign>[+-])(?P<number>\d+))?\)?")
_NEXT_BRANCH = re.compile(r"\$0=\$0(?P<sign>[+-])(?P<number>\d+)")
_INDEX, _SIZE = "_index", "_size"


def offset_in(text: str | None) -> int | None:
    """Return d in the index ``$0+d`` or ``($0-d)``; None for another text."""
    return _number(_OFFSET.fullmatch(re.sub(r"\s", "", text or "")))


def shift_in(modifier: str) -> int | None:
    """Return d in the modifier ``$0=$0+d``; None for another one."""
    return _number(_NEXT_BRANCH.fullmatch(modifier))


def _number(found: "re.Match[str] | None") -> int | None:
    if found is None:
        return None
    return int(f"{found['sign']}{found['number']}") if found["sign"] else 0


class Condition(NamedTuple):
    """Condition on the branch index.

    Attributes:
        tree: the expression; None for always.
        constants: numbers in it.
    """

    tree: ast.expr | None
    constants: tuple[int, ...] = ()

    def holds(self, index: int, size: int) -> bool:
        """Return True if the condition holds in branch `index` of `size`."""
        return self.tree is None or bool(_index_value(self.tree, {_INDEX: index, _SIZE: size}))


def index_condition(edge: Edge) -> Condition:
    """Return the condition of `edge`.

    Raises:
        DefinitionError: it is no comparison of ``$0``, ``$size`` and integers.
    """
    if edge.condition is None:
        return Condition(None)
    text = edge.condition.replace("$size", _SIZE).replace("$0", _INDEX)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        _index_value(tree, {_INDEX: 0, _SIZE: 1})
    except (SyntaxError, _NoArithmeticError):
        message = "expected comparisons of $0 with integers or $size, beside a fan-in of neighbouring branches"
        edge.place.refuse(f"Conditional: {message}, got {edge.condition!r}")
    numbers = (each.value for each in ast.walk(tree) if isinstance(each, ast.Constant))
    return Condition(tree, tuple(number for number in numbers if isinstance(number, int)))


class _NoArithmeticError(Exception):
    """Expression other than comparisons of integers."""


def _index_value(tree: ast.expr, names: Mapping[str, int]) -> int:
    match tree:
        case ast.BoolOp(op=op, values=values):
            combine = min if isinstance(op, ast.And) else max
            return combine(_index_value(each, names) for each in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _index_value(operand, names)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_index_value(each, names) for each in (left, *others)]
            return all(_COMPARED[type(op)](*sides[at : at + 2]) for at, op in enumerate(ops) if _is_known(op))
    return _number_in(tree, names)


def _number_in(tree: ast.expr, names: Mapping[str, int]) -> int:
    match tree:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            one, other = _index_value(left, names), _index_value(right, names)
            return one + other if isinstance(op, ast.Add) else one - other
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name) if name in names:
            return names[name]
    raise _NoArithmeticError


def _is_known(op: ast.cmpop) -> bool:
    if type(op) not in _COMPARED:
        raise _NoArithmeticError
    return True


EVERY = "*"
_MORE_BRANCHES = 6
"""Branches beside those that constants of conditions name: enough for a first, a last and several middle ones."""


class Source(NamedTuple):
    """Result that a function gets: of a function in its own branch (`back` 0) or in the previous one (1)."""

    function: str
    back: int


class Arrival(NamedTuple):
    """What a function gets in one branch: one result, or a list of results."""

    sources: tuple[Source, ...]
    is_list: bool


class _Sending(NamedTuple):
    """Edge between branches.

    Attributes:
        edge: the edge.
        condition: the branches in which it is taken.
        shift: number that it adds to the branch index.
    """

    edge: Edge
    condition: Condition
    shift: int

    def arrival(self, function: str) -> Arrival:
        """Return what the target gets, relative to the branch of the target."""
        if self.edge.kind == "Scalar":
            return Arrival((Source(function, self.shift),), is_list=False)
        backs = [self.shift - (offset_in(each.branch) or 0) for each in self.edge.values]
        sources = (Source(each.name, back) for each, back in zip(self.edge.values, backs, strict=True))
        return Arrival(tuple(sources), is_list=True)


class Run(NamedTuple):
    """A function in the branches of a Map.

    Attributes:
        function: name of the function.
        first, last: numbers of branches at the beginning and at the end in which it does not run.
        arrivals: what it gets in the first branches in which it runs; the last one holds for all later branches.
    """

    function: str
    first: int
    last: int
    arrivals: tuple[Arrival, ...]

    @property
    def sources(self) -> set[Source]:
        """Results used in any branch."""
        return {source for arrival in self.arrivals for source in arrival.sources}


class Branches(NamedTuple):
    """Functions of a Map's branches, each after those whose results it needs.

    Attributes:
        runs: the functions, in order.
        exit: the fan-in of all branches; None if the Map ends its level.
    """

    runs: tuple[Run, ...]
    exit: Edge | None


def meets_neighbours(nodes: Mapping[str, Node], start: str) -> bool:
    """Return True if a function that follows `start` fans in with results of other branches, by arithmetic."""
    return any(
        value.branch is not None and offset_in(value.branch) is not None
        for name in _reached(nodes, start)
        for edge in nodes[name].edges
        for value in edge.values
    )


def branches(nodes: Mapping[str, Node], start: str) -> Branches:
    """Return the functions of the branches that begin with `start`.

    Raises:
        DefinitionError: an edge has no counterpart: it waits for a later branch or one further back, is taken by the
            result of a function, or the branches in which a function runs are no range.
    """
    names = _reached(nodes, start)
    sendings = {name: [_sending(edge) for edge in nodes[name].edges if not _is_exit(edge)] for name in names}
    exits = [(name, edge) for name in names for edge in nodes[name].edges if _is_exit(edge)]
    constants = [number for each in sendings.values() for sending in each for number in sending.condition.constants]
    most = max(constants, default=0) + _MORE_BRANCHES
    plays = {size: _play(nodes, sendings, start, size) for size in range(1, most + 1)}
    runs = {name: _run(nodes[name], plays) for name in names}
    ordered = tuple(runs[name] for name in _in_order(nodes, runs))
    return Branches(ordered, _exit(exits, runs))


def _reached(nodes: Mapping[str, Node], start: str) -> list[str]:
    found = [start]
    for name in found:
        inner = (edge.target for edge in nodes[name].edges if not _is_exit(edge))
        found += [*dict.fromkeys(target for target in inner if target not in found)]
    return found


def _is_exit(edge: Edge) -> bool:
    return edge.kind == "Fan-in" and any(value.branch in (EVERY, "", None) for value in edge.values)


def _sending(edge: Edge) -> _Sending:
    if edge.kind not in ("Scalar", "Fan-in"):
        edge.place.refuse(f"expected Scalar or Fan-in beside a fan-in of neighbouring branches, got {edge.kind!r}")
    for value in edge.values:
        if offset_in(value.branch) is None:
            edge.place.refuse(
                f'Values: {value.name!r}: expected an index such as "$0" or "($0-1)", got {value.branch!r}'
            )
    shifts = [shift_in(modifier) for modifier in edge.modifiers if modifier != "Pop"]
    if None in shifts:
        edge.place.refuse(f"modifiers: expected $0=$0+1 beside a fan-in of neighbouring branches, got {edge.modifiers}")
    # Modifiers belong to all edges of a function; an edge to the same branch does not count them.
    shift = sum(each or 0 for each in shifts)
    sending = _Sending(edge, index_condition(edge), shift)
    for source in sending.arrival("").sources:
        if source.back not in (0, 1):
            place = "a later branch" if source.back < 0 else f"{source.back} branches before"
            edge.place.refuse(f"expected results of the same branch and of the one before, got one of {place}")
    return sending


_Play = Mapping[tuple[str, int], Arrival | None]
"""What each function gets in each branch of one Map; None for the item."""


def _play(nodes: Mapping[str, Node], sendings: Mapping[str, Sequence[_Sending]], start: str, size: int) -> _Play:
    """Return what runs in `size` branches."""
    ran: dict[tuple[str, int], Arrival | None] = {(start, index): None for index in range(size)}
    waiting = True
    while waiting:
        waiting = False
        for (name, index), sending in _taken(ran, sendings, size):
            target, arrival = (sending.edge.target, index + sending.shift), sending.arrival(name)
            complete = all((each.function, target[1] - each.back) in ran for each in arrival.sources)
            if target in ran:
                _check_equal(nodes, sending, ran[target], arrival, target)
            elif complete and target[1] < size:
                ran[target], waiting = arrival, True
    return ran


def _taken(
    ran: Mapping[tuple[str, int], Arrival | None], sendings: Mapping[str, Sequence[_Sending]], size: int
) -> Iterator[tuple[tuple[str, int], _Sending]]:
    """Yield the edges that are taken after the functions in `ran`, with the function and its branch."""
    for name, index in [*ran]:
        for sending in sendings[name]:
            if sending.condition.holds(index, size):
                yield (name, index), sending


def _check_equal(
    nodes: Mapping[str, Node], sending: _Sending, found: Arrival | None, arrival: Arrival, target: tuple[str, int]
) -> None:
    if found != arrival:
        name, index = target
        message = f"{shown(name)} would run twice in branch {index}, with other results: expected equal Values in all"
        sending.edge.place.refuse(f"{message} functions that fan in to it, {nodes[name].place.file} included")


def _run(node: Node, plays: Mapping[int, _Play]) -> Run:
    """Return the branches and inputs of `node`, if one rule holds for every number of branches."""
    longest = max(plays)
    where = _places(node.name, plays[longest])
    if not where:
        node.place.refuse("the function runs in no branch: one of the results that it waits for never comes")
    first, last = where[0], longest - 1 - where[-1]
    for size, play in plays.items():
        if _places(node.name, play) != [*range(first, size - last)]:
            node.place.refuse("expected that the function runs in all branches, or in all but the first or last ones")
    arrivals = [plays[longest][node.name, index] for index in where]
    while len(arrivals) > 1 and arrivals[-1] == arrivals[-2]:
        arrivals.pop()
    for play in plays.values():
        for index in _places(node.name, play):
            if play[node.name, index] != arrivals[min(index - first, len(arrivals) - 1)]:
                node.place.refuse("expected inputs that differ by the distance from the first branch alone")
    if len({(each.is_list, len(each.sources)) for each in arrivals if each is not None}) > 1:
        node.place.refuse("expected the same number of results in all branches")
    return Run(node.name, first, last, tuple(each for each in arrivals if each is not None))


def _places(name: str, play: _Play) -> list[int]:
    return sorted(index for each, index in play if each == name)


def _in_order(nodes: Mapping[str, Node], runs: Mapping[str, Run]) -> list[str]:
    """Return the functions, sorted so that each follows its sources in its own branch."""
    order: list[str] = []
    left = [*runs]
    while left:
        ready = [name for name in left if {each.function for each in runs[name].sources if not each.back} <= {*order}]
        if not ready:
            nodes[left[0]].place.refuse(f"the function waits for itself in its own branch, with {left[1:]}")
        order += ready
        left = [name for name in left if name not in ready]
    return order


def _exit(exits: Sequence[tuple[str, Edge]], runs: Mapping[str, Run]) -> Edge | None:
    if not exits:
        return None
    name, edge = exits[0]
    place: Place = edge.place
    if len(exits) > 1 or [value.name for value in edge.values] != [name]:
        place.refuse(f"Values: expected one fan-in of all branches, with {name}-unumIndex-* alone")
    if runs[name].first or runs[name].last:
        place.refuse(f"Values: expected a function that runs in every branch, and {shown(name)} does not")
    return edge


def map_state(found: Branches) -> tuple[dict[str, Json], dict[str, dict[str, Json]]]:
    """Return the Map of `found`, without what follows it, and the fields of its Tasks that the IR has alone."""
    states, extensions = chain(found)
    selector = {
        "index": "{% $states.context.Map.Item.Index %}",
        "size": "{% $count($states.input) %}",
        "value": "{% $states.context.Map.Item.Value %}",
    }
    processor = {"StartAt": next(iter(states)), "States": states}
    state: dict[str, Json] = {"Type": "Map", "QueryLanguage": "JSONata", "Items": "{% $states.input %}"}
    return {**state, "ItemSelector": selector, "ItemProcessor": processor}, extensions


def chain(found: Branches) -> tuple[dict[str, dict[str, Json]], dict[str, dict[str, Json]]]:
    """Return the states of a branch in order, and the fields of its Tasks that the IR has alone."""
    runs = found.runs
    waits = _waits(runs)
    first = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $states.input.value %}"}
    assigned = {"index": "{% $states.input.index %}", "size": "{% $states.input.size %}"}
    states: dict[str, dict[str, Json]] = {f"{runs[0].function} (branch)": {**first, "Assign": assigned}}
    extensions: dict[str, dict[str, Json]] = {}
    for run in runs:
        states[run.function] = _task(run, runs, waits)
        extensions[run.function] = _fields(run, waits)
    if found.exit is not None and (name := found.exit.values[0].name) != runs[-1].function:
        # The fan-in gets the results of a function that others follow.
        left = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": f"{{% ${_own(runs, name)} %}}"}
        states[f"{name} (result)"] = left
        states[name].setdefault("Assign", {})[_own(runs, name)] = _result(_run_of(runs, name), "null")
    for name, following in zip(states, [*states][1:], strict=False):
        states[name]["Next"] = following
    states[[*states][-1]]["End"] = True
    return states, {name: fields for name, fields in extensions.items() if fields}


def _waits(runs: Sequence[Run]) -> Mapping[str, str]:
    """Return for each function that waits the function of the previous branch that it waits for.

    A Task waits for one result. Another one that it needs comes from an earlier Task of its branch, which waits for it.
    """
    waits: dict[str, str] = {}
    for run in runs:
        new = sorted({source.function for source in run.sources if source.back} - {*waits.values()})
        if len(new) > 1:
            raise TwoResultsError(run.function, new)
        waits |= {run.function: new[0]} if new else {}
    return waits


class TwoResultsError(Exception):
    """A function that needs several new results of the previous branch: its name, and theirs."""


def _fields(run: Run, waits: Mapping[str, str]) -> dict[str, Json]:
    fields: dict[str, Json] = {}
    if run.function in waits:
        fields["after_previous"] = waits[run.function]
    if run.first or run.last:
        fields["left_out"] = (run.first, run.last)
    return fields


def _task(run: Run, runs: Sequence[Run], waits: Mapping[str, str]) -> dict[str, Json]:
    task: dict[str, Json] = {"Type": "Task", "QueryLanguage": "JSONata", "Resource": "arn:aws:states:::lambda:invoke"}
    path = "$states.input.own" if run.function in waits else "$states.input"
    task["Arguments"] = {"FunctionName": run.function, "Payload": _payload(run, runs, waits, path)}
    assigned: dict[str, Json] = {}
    later = runs[runs.index(run) + 1 :]
    if any(Source(run.function, 0) in other.sources for other in later):
        assigned[_own(runs, run.function)] = _result(run, "null")
    waited = waits.get(run.function)
    if waited is not None and any(Source(waited, 1) in other.sources for other in later):
        assigned[_previous(runs, waited)] = "{% $states.input.previous %}"
    return {**task, **({"Assign": assigned} if assigned else {}), "Output": _result(run, path)}


def _payload(run: Run, runs: Sequence[Run], waits: Mapping[str, str], path: str) -> Json:
    if not run.arrivals:  # the first function of the branch gets the item
        return f"{{% {path} %}}"
    columns = zip(*(arrival.sources for arrival in run.arrivals), strict=True)
    values = [_by_branch(run, [_value(source, run, runs, waits) for source in column]) for column in columns]
    return values if run.arrivals[0].is_list else values[0]


def _by_branch(run: Run, values: Sequence[str]) -> str:
    """Return an expression that is each of `values` in one branch, from the first in which `run` runs."""
    *early, found = values
    for number, value in reversed([*enumerate(early)]):
        found = value if value == found else f"$index <= {run.first + number} ? {value} : {found}"
    return f"{{% {found} %}}"


def _value(source: Source, run: Run, runs: Sequence[Run], waits: Mapping[str, str]) -> str:
    if not source.back:
        return f"${_own(runs, source.function)}"
    is_waited = waits.get(run.function) == source.function
    return "$states.input.previous" if is_waited else f"${_previous(runs, source.function)}"


def _result(run: Run, otherwise: str) -> str:
    """Return an expression that is the function's result, or `otherwise` in branches that it leaves out."""
    tests = [f"$index >= {run.first}"] if run.first else []
    tests += [f"$index < $size - {run.last}"] if run.last else []
    result = "$states.result.Payload"
    return f"{{% {' and '.join(tests)} ? {result} : {otherwise} %}}" if tests else f"{{% {result} %}}"


def _own(runs: Sequence[Run], function: str) -> str:
    return f"own_{runs.index(_run_of(runs, function))}"


def _previous(runs: Sequence[Run], function: str) -> str:
    return f"previous_{runs.index(_run_of(runs, function))}"


def _run_of(runs: Sequence[Run], function: str) -> Run:
    return next(run for run in runs if run.function == function)
