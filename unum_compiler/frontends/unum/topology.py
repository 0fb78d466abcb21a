"""A state machine of an application's functions and edges; conditions of edges become rules of a Choice.

A fan-out becomes a Map or Parallel, whose branches end at the fan-in; what follows the fan-in follows the Map or
Parallel. So a fan-in joins all branches of one fan-out, and `Pop`, which leaves the level of a fan-out, says nothing
more. A function that hands over to itself with the next index becomes a loop with a counter.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any, NoReturn

from unum_compiler.frontends.unum.application import Edge, Node
from unum_compiler.frontends.unum.neighbour_chains import TwoResultsError, branches, map_state, meets_neighbours
from unum_compiler.problems import shown
from unum_runtime.model.states import Json

_POP, _NEXT_INDEX = "Pop", "$0=$0+1"
_START = "(event)"
_REMEDY = "other joins of neighbouring branches are written in Python, with `after_previous`: see docs/graph.md"


def state_machine(nodes: Mapping[str, Node]) -> tuple[dict[str, Json], dict[str, dict[str, Json]]]:
    """Return the state machine of `nodes`, and the fields of its states that the IR has alone.

    Raises:
        DefinitionError: no function or several start, or edges that no Map, Parallel, Choice or loop can express.
    """
    topology = _Topology(nodes)
    start = _start(nodes)
    scope = topology.scope(start, branch=None)
    unused = nodes.keys() - topology.used
    if unused:
        name = min(unused)
        nodes[name].place.refuse(f"no edge leads from {shown(start)} to {shown(name)}; remove it from the template")
    return scope.machine(), topology.extensions


def _start(nodes: Mapping[str, Node]) -> str:
    starts = [node for node in nodes.values() if node.is_start]
    if not starts:
        targets = {edge.target for node in nodes.values() for edge in node.edges}
        starts = [node for node in nodes.values() if node.name not in targets]
    if len(starts) != 1:
        first = next(iter(nodes.values()))
        found = [node.name for node in starts]
        first.place.refuse(f'expected "Start": true in one function, found {found or "none"}')
    return starts[0].name


@dataclass
class _Scope:
    """States and exit of one level.

    Attributes:
        start: first state.
        branch: index of the branch as the original writes it: ``*`` in a Map, a number in a Parallel; None on top.
        states: states by name.
        exits: edges of the fan-in that ends the branch, by the function that has them.
    """

    start: str
    branch: str | None
    states: dict[str, dict[str, Json]] = field(default_factory=dict)
    exits: dict[str, Edge] = field(default_factory=dict)

    def machine(self) -> dict[str, Json]:
        return {"StartAt": self.start, "States": self.states}


class _Topology:
    """One pass over the functions.

    Attributes:
        nodes: functions by name.
        used: names of the functions that are states.
        extensions: fields that the IR has alone, by state.
    """

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.nodes = nodes
        self.used: set[str] = set()
        self.extensions: dict[str, dict[str, Json]] = {}

    def scope(self, start: str, branch: str | None) -> _Scope:
        """Return the level that begins with `start`, in the branch with this index."""
        scope = _Scope(start, branch)
        open_names = [start]
        while open_names:
            name = open_names.pop()
            if name in scope.states:
                continue
            if name in self.used:
                self.nodes[name].place.refuse("the function is in two branches; give each a function of its own")
            self.used.add(name)
            open_names += self._add(self.nodes[name], scope)
        if scope.exits and len(scope.exits) != len([state for state in scope.states.values() if _ends(state)]):
            edge = next(iter(scope.exits.values()))
            edge.place.refuse("some ways through the branch end before this fan-in; lead all of them to it")
        return scope

    def _add(self, node: Node, scope: _Scope) -> list[str]:
        """Add the states of `node` to `scope`; return the functions that follow in it."""
        task: dict[str, Json] = {"Type": "Task", "Resource": node.name}
        scope.states[node.name] = task
        edges = node.edges
        for edge in edges:
            _check_modifiers(edge)
        kinds = {edge.kind for edge in edges}
        match [edge.kind for edge in edges]:
            case []:
                task["End"] = True
            case ["Scalar"] if _is_iteration(edges[0]):
                return self._iterate(node, edges[0], scope)
            case ["Scalar"] if edges[0].condition is None:
                task["Next"] = edges[0].target
                return [edges[0].target]
            case ["Map"] if edges[0].condition is None:
                return self._map(node, edges[0], scope)
            case ["Fan-in"] if edges[0].condition is None or is_last(edges[0].condition):
                _check_fan_in(edges[0], scope)
                task["End"] = True
                scope.exits[node.name] = edges[0]
            case _ if kinds == {"Scalar"} and all(edge.condition is None for edge in edges):
                return self._parallel(node, scope)
            case _ if kinds == {"Scalar"} and all(edge.condition is not None for edge in edges):
                return self._choose(node, scope)
            case _:
                message = "expected one edge, or several of the type Scalar that all have a condition or all have none"
                edges[0].place.refuse(f"{message}, got {[edge.kind for edge in edges]}; {_REMEDY}")
        return []

    def _map(self, node: Node, edge: Edge, scope: _Scope) -> list[str]:
        if meets_neighbours(self.nodes, edge.target):
            return self._wave(node, edge, scope)
        inner = self.scope(edge.target, "*")
        name = _new_name(f"{edge.target} (Map)", scope, self.nodes)
        scope.states[node.name]["Next"] = name
        scope.states[name] = {"Type": "Map", "ItemProcessor": inner.machine()}
        return self._follow(scope.states[name], [inner])

    def _wave(self, node: Node, edge: Edge, scope: _Scope) -> list[str]:
        """Add a Map whose branches meet their neighbours; return the function that follows."""
        found = branches(self.nodes, edge.target)
        for run in found.runs:
            if run.function in self.used:
                self.nodes[run.function].place.refuse("the function is in two branches; give each one of its own")
            self.used.add(run.function)
        name = _new_name(f"{edge.target} (Map)", scope, self.nodes)
        scope.states[node.name]["Next"] = name
        try:
            scope.states[name], extensions = map_state(found)
        except TwoResultsError as refused:
            function, others = refused.args
            message = f"expected a function that waits for one result of the branch before, got {others}"
            self.nodes[function].place.refuse(f"{message}; let an earlier function of the branch wait for the others")
        self.extensions |= extensions
        if found.exit is None:
            scope.states[name]["End"] = True
            return []
        scope.states[name]["Next"] = found.exit.target
        return [found.exit.target]

    def _parallel(self, node: Node, scope: _Scope) -> list[str]:
        inner = [self.scope(edge.target, str(index)) for index, edge in enumerate(node.edges)]
        name = _new_name(f"{node.name} (fan-out)", scope, self.nodes)
        scope.states[node.name]["Next"] = name
        scope.states[name] = {"Type": "Parallel"}
        following = self._follow(scope.states[name], inner)
        scope.states[name]["Branches"] = [each.machine() for each in _in_order(inner)]
        return following

    def _follow(self, state: dict[str, Json], branches: Sequence[_Scope]) -> list[str]:
        """Let the target of the branches' fan-in follow `state`; return it."""
        exits = [edge for branch in branches for edge in branch.exits.values()]
        if not exits:
            state["End"] = True
            return []
        first = exits[0]
        for edge in exits:
            if (edge.target, edge.values and sorted(edge.values)) != (
                first.target,
                first.values and sorted(first.values),
            ):
                edge.place.refuse(f"expected the same fan-in as in {first.place.file}: the same function and Values")
        without = [branch for branch in branches if not branch.exits]
        if without:
            first.place.refuse(f"the branch that begins with {shown(without[0].start)} does not end in this fan-in")
        sources = [each.name for each in first.values]
        if len(sources) != len(branches) or {*sources} - {name for branch in branches for name in branch.exits}:
            first.place.refuse(f"Values: expected one invocation of each branch, got {sources}")
        for value in first.values:
            if value.branch and all(value.branch != each.branch for each in branches if value.name in each.exits):
                first.place.refuse(
                    f"Values: {value.name!r} ends another branch than {value.branch}; branches count from 0"
                )
        state["Next"] = first.target
        return [first.target]

    def _choose(self, node: Node, scope: _Scope) -> list[str]:
        choice, end = (_new_name(f"{node.name} ({what})", scope, self.nodes) for what in ("condition", "end"))
        scope.states[node.name]["Next"] = choice
        scope.states[choice] = {"Type": "Choice", "Choices": [*rules(node.edges)]}
        # In a branch the fan-in would wait forever: without a default, the execution fails.
        if scope.branch is None:
            scope.states[choice]["Default"] = end
            scope.states[end] = {"Type": "Pass", "End": True}
        return [edge.target for edge in node.edges]

    def _iterate(self, node: Node, edge: Edge, scope: _Scope) -> list[str]:
        """Add the loop of `node`, whose number of rounds the event of the start has, as in the original."""
        less = iterations_less(edge.condition or "")
        if less is None or edge.target != node.name or scope.branch is not None or scope.start != node.name:
            edge.place.refuse(f'expected a first function that continues with itself while "$0 < $size - 1"; {_REMEDY}')
        event, choice, following, end = (
            _new_name(f"{node.name} {what}", scope, self.nodes) for what in (_START, "(condition)", "(next)", "(end)")
        )
        variables: dict[str, Json] = {
            "index.$": "$['Fan-out'].Index",
            "last.$": f"States.MathAdd($['Fan-out'].Size, {-less})",
        }
        scope.states = {
            event: {"Type": "Pass", "Assign": variables, "OutputPath": "$.Data.Value", "Next": node.name},
            node.name: {"Type": "Task", "Resource": node.name, "Next": choice},
            choice: {
                "Type": "Choice",
                "Choices": [{"Variable": "$index", "NumericLessThanPath": "$last", "Next": following}],
                "Default": end,
            },
            following: {"Type": "Pass", "Assign": {"index.$": "States.MathAdd($index, 1)"}, "Next": node.name},
            end: {"Type": "Pass", "End": True},
        }
        scope.start = event
        return []


def _is_iteration(edge: Edge) -> bool:
    return _NEXT_INDEX in edge.modifiers


def _check_modifiers(edge: Edge) -> None:
    for modifier in edge.modifiers:
        if modifier == _POP:
            continue
        if modifier == _NEXT_INDEX and edge.kind == "Scalar":
            continue
        edge.place.refuse(f"modifier {modifier!r}: not supported here; {_REMEDY}")


def _check_fan_in(edge: Edge, scope: _Scope) -> None:
    if scope.branch is None:
        edge.place.refuse("a fan-in needs a fan-out before it, and there is none")
    for source in edge.values:
        if source.branch not in ("", None) and source.branch != "*" and not source.branch.isdecimal():
            _refuse_neighbour(edge, source.name, source.branch)
        if scope.branch == "*" and source.branch != "*":
            _refuse_neighbour(edge, source.name, str(source.branch))
        if scope.branch != "*" and source.branch == "*":
            edge.place.refuse(f"Values: {source.name!r} is in a branch of a Parallel, which has one index; got '*'")


def _refuse_neighbour(edge: Edge, name: str, index: str) -> NoReturn:
    edge.place.refuse(f"Values: {name!r} with the index {index!r} is not every branch of a fan-out; {_REMEDY}")


def _in_order(branches: Sequence[_Scope]) -> list[_Scope]:
    """Return `branches` in the order of the fan-in's sources, which receives their results in it."""
    edges = [edge for branch in branches for edge in branch.exits.values()]
    values = edges[0].values if edges else ()
    if any(value.branch == "" for value in values):
        return [*branches]
    names = [value.name for value in values]
    return sorted(branches, key=lambda branch: min((names.index(name) for name in branch.exits), default=0))


def _ends(state: Mapping[str, Any]) -> bool:
    return state.get("End") is True


def _new_name(name: str, scope: _Scope, nodes: Mapping[str, Node]) -> str:
    while name in nodes or name in scope.states:
        name += "'"
    return name


_COMPARED: Mapping[type[ast.cmpop], tuple[str, Callable[[Json, Json], bool]]] = {
    ast.Eq: ("Equals", operator.eq),
    ast.NotEq: ("Equals", operator.ne),
    ast.Lt: ("LessThan", operator.lt),
    ast.LtE: ("LessThanEquals", operator.le),
    ast.Gt: ("GreaterThan", operator.gt),
    ast.GtE: ("GreaterThanEquals", operator.ge),
}
_LITERALS = {str: "String", bool: "Boolean", int: "Numeric", float: "Numeric"}
_RESULT = "_result"
_LAST = re.compile(r"\$0==\$size-1")
_NEXT = re.compile(r"\$0<\$size-(?P<less>\d+)")


def is_last(condition: str) -> bool:
    """Return True if `condition` holds in the last branch alone."""
    return _LAST.fullmatch(re.sub(r"\s", "", condition)) is not None


def iterations_less(condition: str) -> int | None:
    """Parse k in the condition ``$0 < $size - k``; None for other conditions."""
    found = _NEXT.fullmatch(re.sub(r"\s", "", condition))
    return None if found is None else int(found["less"])


def rules(edges: Sequence[Edge]) -> Iterator[dict[str, Json]]:
    """Yield the rule of each edge, with its target.

    Raises:
        DefinitionError: a condition is none of the result, or two may hold at once.
    """
    parsed = [_parsed(edge) for edge in edges]
    for (one, first), (other, second) in combinations(zip(edges, parsed, strict=True), 2):
        if _overlap(first, second):
            message = f"expected conditions of which one holds, but {one.condition!r} and {other.condition!r} may both"
            other.place.refuse(f"Conditional: {message}; compare one value, so that they exclude each other")
    for edge, tree in zip(edges, parsed, strict=True):
        yield {**_rule(tree, edge), "Next": edge.target}


def _parsed(edge: Edge) -> ast.expr:
    text = re.sub(r"\$(?:ret|out)\b", _RESULT, edge.condition or "")
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        _refuse(edge)
    _rule(tree, edge)
    return tree


def _refuse(edge: Edge) -> None:
    message = "expected comparisons of $ret with constants, or of $0 with $size - 1 at the end of a Map's branches"
    edge.place.refuse(f"Conditional: {message}, got {edge.condition!r}; let a function decide, and compare its result")


def _rule(tree: ast.expr, edge: Edge) -> dict[str, Json]:
    match tree:
        case ast.BoolOp(values=values):
            name = "And" if isinstance(tree.op, ast.And) else "Or"
            return {name: [_rule(value, edge) for value in values]}
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return {"Not": _rule(inner, edge)}
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            path, value = _path(left), _constant(right)
            if path is not None and type(value) in _LITERALS:
                return _comparison(path, type(op), value)
    _refuse(edge)
    raise AssertionError


def _comparison(path: str, op: type[ast.cmpop], value: Json) -> dict[str, Json]:
    rule = {"Variable": path, f"{_LITERALS[type(value)]}{_COMPARED[op][0]}": value}
    return {"Not": rule} if op is ast.NotEq else rule


def _path(tree: ast.expr) -> str | None:
    """Return the path of ``$ret['a']`` in the result."""
    match tree:
        case ast.Name(id=name) if name == _RESULT:
            return "$"
        case ast.Subscript(value=value, slice=ast.Constant(value=str() as key)) if around := _path(value):
            return f"{around}['{key}']"
    return None


def _constant(tree: ast.expr) -> Json:
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
    return None


def _comparisons(tree: ast.expr) -> Iterator[tuple[str, Json]]:
    """Yield the paths and constants that `tree` compares."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Compare):
            yield str(_path(each.left)), _constant(each.comparators[0])


def _overlap(first: ast.expr, second: ast.expr) -> bool:
    """Return True unless no value satisfies both."""
    compared = [*_comparisons(first), *_comparisons(second)]
    if len({path for path, _ in compared}) > 1:
        return True
    return any(_holds(first, value) and _holds(second, value) for value in _samples([item for _, item in compared]))


def _samples(constants: Sequence[Json]) -> Iterator[Json]:
    """Yield a value for each interval that `constants` make."""
    texts = sorted({each for each in constants if isinstance(each, str)})
    yield from ("", *texts, *(f"{text}\x00" for text in texts), "\U0010ffff")
    numbers = sorted({each for each in constants if not isinstance(each, str)})
    between = [(one + other) / 2 for one, other in pairwise(numbers)]
    yield from (*numbers, *between, *(numbers and (numbers[0] - 1, numbers[-1] + 1)), True, False)


def _holds(tree: ast.expr, value: Json) -> bool:
    match tree:
        case ast.BoolOp(values=values):
            combine = all if isinstance(tree.op, ast.And) else any
            return combine(_holds(each, value) for each in values)
        case ast.UnaryOp(operand=inner):
            return not _holds(inner, value)
        case ast.Compare(ops=[op], comparators=[right]):
            constant = _constant(right)
            if _LITERALS[type(constant)] != _LITERALS[type(value)]:
                return isinstance(op, ast.NotEq)  # no comparison holds for another type
            return _COMPARED[type(op)][1](value, constant)
    raise AssertionError
