"""Conversion of graphs to the Amazon States Language: every use of a node becomes a state, with a unique name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, NamedTuple

from unum_compiler.frontends.function_keys import unique_keys
from unum_compiler.frontends.graph.graph_expressions import call, out, payload, var
from unum_compiler.frontends.graph.nodes import Choose, Fold, Goto, Map, Parallel, Piece, Step, Task, Work
from unum_compiler.frontends.graph.service_nodes import Ask, Call
from unum_runtime.model.states import Json


class Rendered(NamedTuple):
    """A graph as a definition.

    Attributes:
        machine: state machine in the Amazon States Language.
        functions: functions that are constructs, by key.
        extensions: fields of the IR that the Amazon States Language lacks, by state.
    """

    machine: Json
    functions: Mapping[str, Any]
    extensions: Mapping[str, Mapping[str, Json]]


def render(graph: Piece) -> Rendered:
    """Return the definition of `graph`."""
    functions = [task.function for task in _tasks(graph)]
    keys = unique_keys(
        (each for each in functions if not isinstance(each, str)),
        taken={each for each in functions if isinstance(each, str)},
    )
    shared = _Shared(keys)
    machine = _Scope(shared).machine(graph)
    return Rendered(machine, {key: function for function, key in keys.items()}, shared.extensions)


def _tasks(piece: Piece | None) -> Iterator[Task]:
    for step in piece.steps if piece is not None else ():
        if isinstance(step, Task):
            yield step
        for inner in _inside(step):
            yield from _tasks(inner)


def _inside(step: Step) -> Iterator[Piece | None]:
    match step:
        case Choose():
            yield from (then for _, then in step.ways)
            yield step.default
        case Fold():
            yield step.body
        case Map():
            yield step.branch
        case Parallel():
            yield from step.branches
    if isinstance(step, Work):
        yield from (handler.then for handler in step.handlers)


class _Shared:
    """Names and keys shared by all scopes of a machine; names are unique across scopes.

    Args:
        keys: keys of functions that are constructs.
    """

    def __init__(self, keys: Mapping[Any, str]) -> None:
        self.keys = keys
        self.extensions: dict[str, Mapping[str, Json]] = {}
        self._taken: set[str] = set()
        self._folds = count(1)

    def take(self, name: str) -> str:
        """Return `name`, numbered if necessary."""
        names = chain((name,), (f"{name} {number}" for number in count(2)))
        free = next(each for each in names if each not in self._taken)
        self._taken.add(free)
        return free

    def fold(self) -> Iterator[str]:
        """Yield names for a fold's variables, unique because inner scopes cannot set variables of outer scopes."""
        prefix = f"fold{next(self._folds)}"
        return (f"{prefix}_{part}" for part in ("items", "size", "position", "value"))


@dataclass
class _Scope:
    """States of one machine or branch, under construction.

    Attributes:
        shared: names and keys of all scopes.
        states: written states, in the order of the graph.
        names: name of the first state for each name of a node.
        waiting: states that wait for a result of the previous branch.
    """

    shared: _Shared
    states: dict[str, dict[str, Json]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    _end: str | None = None

    def machine(self, piece: Piece) -> Json:
        start = self.lay(piece, None) or self._ending()
        for name in self.waiting:
            fields = self.shared.extensions[name]
            # States of a repeated name are numbered: the first in this scope is meant, as a Goto means.
            self.shared.extensions[name] = {
                **fields,
                "after_previous": self.names.get(fields["after_previous"], fields["after_previous"]),
            }
        return {"StartAt": start, "States": self.states}

    def lay(self, piece: Piece | None, after: str | None) -> str | None:
        """Write the states of `piece`, followed by state `after` or the scope's end.

        Returns:
            The first state.
        """
        steps = () if piece is None else piece.steps
        names = [step.name if isinstance(step, Goto) else self.shared.take(step.name) for step in steps]
        targets = (*names, after)
        for step, name, following in zip(steps, names, targets[1:], strict=True):
            if not isinstance(step, Goto):
                self.states[name] = {}  # reserves its position before nested states
                self.states[name] = self._state(step, name, following)
                self.names.setdefault(step.name, name)
                if step.extensions:
                    self.shared.extensions[name] = {**step.extensions}
                    self.waiting += [name] if "after_previous" in step.extensions else []
        return targets[0]

    def _state(self, step: Step, name: str, after: str | None) -> dict[str, Json]:
        match step:
            case Choose():
                return self._choose(step, after)
            case Fold():
                return self._fold(step, name, after)
            case Work():
                fields = {**self._work(step), **step.fields, **self._asked(step)}
                return {**fields, **self._handlers(step, after), **_onward(after)}
            case _:
                return {**step.fields, **({} if step.is_last else _onward(after))}

    def _work(self, step: Work) -> dict[str, Json]:
        match step:
            case Map():
                return {"Type": "Map", "ItemProcessor": {**step.config, **self._branch(step.branch)}}
            case Parallel():
                return {"Type": "Parallel", "Branches": [self._branch(branch) for branch in step.branches]}
            case Ask():
                return {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken"}
            case Call():
                return {"Type": "Task"}
            case Task():
                return {"Type": "Task", "Resource": self.shared.keys.get(step.function, step.function)}
        raise TypeError(f"expected a node of unum_compiler.graph, got {step!r}")

    def _asked(self, step: Work) -> dict[str, Json]:
        """Return the parameters of a function that hands on its task token."""
        if not isinstance(step, Ask):
            return {}
        return {
            "Parameters": {
                "FunctionName": self.shared.keys.get(step.function, step.function),
                **step.fields["Parameters"],
            }
        }

    def _branch(self, piece: Piece) -> Json:
        return _Scope(self.shared).machine(piece)

    def _handlers(self, step: Work, after: str | None) -> dict[str, Json]:
        catch = [{**each.fields, "Next": self._target(each.then, after)} for each in step.handlers]
        return {"Catch": catch} if catch else {}

    def _choose(self, step: Choose, after: str | None) -> dict[str, Json]:
        rules = [{**condition.rule, "Next": self._target(then, after)} for condition, then in step.ways]
        return {**step.fields, "Type": "Choice", "Choices": rules, "Default": self._target(step.default, after)}

    def _fold(self, step: Fold, name: str, after: str | None) -> dict[str, Json]:
        """Return the state that sets a fold's variables, and write its loop: test, select item, body, collect."""
        # Variables, because a loop's state must survive the output of `body`, which replaces the input.
        items, size, position, value = self.shared.fold()
        more, select, collect, done = (self.shared.take(f"{name}: {part}") for part in _FOLD)
        begin = {items: step.items, size: call("ArrayLength", step.items), position: 0, value: step.initial}
        at_item = {"item": call("ArrayGetItem", var(items), var(position)), "accumulated": var(value)}
        collected = {value: out, position: call("MathAdd", var(position), 1)}
        is_more = {"Variable": var(position).text, "NumericLessThanPath": var(size).text}
        self.states[more] = {"Type": "Choice", "Choices": [{**is_more, "Next": select}], "Default": done}
        self.states[select] = {"Type": "Pass", "Parameters": payload(at_item)}
        self.states[select] |= _onward(self.lay(step.body, collect))
        self.states[collect] = {"Type": "Pass", "Assign": payload(collected), "Next": more}
        self.states[done] = {"Type": "Pass", "Parameters": payload({"value": var(value)}), "OutputPath": "$.value"}
        self.states[done] |= _onward(after)
        return {"Type": "Pass", "Assign": payload(begin), "Next": more}

    def _target(self, piece: Piece | None, after: str | None) -> str:
        return self.lay(piece, after) or self._ending()

    def _ending(self) -> str:
        """Return the state that ends the scope after an empty continuation."""
        if self._end is None:
            self._end = self.shared.take("end")
            self.states[self._end] = {"Type": "Succeed"}
        return self._end


_FOLD = ("more?", "item", "collect", "done")


def _onward(name: str | None) -> dict[str, Json]:
    return {"End": True} if name is None else {"Next": name}
