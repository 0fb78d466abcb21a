"""Uses of data in a definition: which fields its states read, and with which constants they compare them.

Sample values have the fields that somebody reads, so that a workflow runs without real data. The analysis is
approximate: it does not follow values from state to state, but unites what all states of a scope read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from unum_runtime.json_text import parse_json
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Choice, Json, Map, Parallel, State, Work

_STEP = r"(?:\.[A-Za-z_][\w-]*|\[(?:'[^']*'|\"[^\"]*\"|\*|-?\d+|-?\d*:-?\d*)\])"
_PATH = re.compile(rf"(?<![\w$])(?P<root>\$\$|\$states\.(?:input|result|context)|\$[A-Za-z_]\w*|\$)(?P<steps>{_STEP}*)")
_ONE_STEP = re.compile(_STEP)
_COMPARISON = re.compile(rf"(?P<path>{_PATH.pattern})\s*!?=\s*(?P<text>'[^']*'|\"[^\"]*\"|-?\d+|true|false|null)")
_PATH_FIELDS: dict[str, Json] = {
    "InputPath": None,
    "OutputPath": None,
    "SecondsPath": 1,
    "TimestampPath": "2020-01-01T00:00:00Z",
    # Loading the first model of a service takes more than a second on a busy machine.
    "TimeoutSecondsPath": 120,
    "HeartbeatSecondsPath": 60,
}
"""Fields that hold a path of a value, with a sample of it."""

_LISTS = re.compile(r"States\.Array(?:Contains|GetItem|Length|Partition|Unique)\(\s*$|\$(?:count|map|filter|sum)\(\s*$")
_NUMBERS = re.compile(r"States\.(?:MathAdd|MathRandom|ArrayRange)\([^()]*$|\$(?:round|floor|number)\(\s*$")
_TEXTS_OF_JSON = re.compile(r"States\.StringToJson\(\s*$|\$parse\(\s*$")

INPUT, ITEM, RESULT = "$", "$$.Map.Item.Value", "$states.result"
"""Roots of paths: the input of a scope's states, the item of a Map in the scope, and a Task's own result."""

EXECUTION_INPUT = "$$.Execution.Input"


@dataclass
class Use:
    """What a definition reads of a value.

    Attributes:
        members: fields that it reads, if the value is an object.
        element: use of each element, if it is an array.
        length: number of elements that it needs.
        constants: values with which it is compared.
        sample: value of the kind that a function or field expects; None if any kind will do.
    """

    members: "dict[str, Use]" = field(default_factory=dict)
    element: "Use | None" = None
    length: int = 1
    constants: list[Json] = field(default_factory=list)
    sample: Json = None

    def at(self, steps: tuple[str, ...]) -> "Use":
        """Return the use of a part of the value, added if absent."""
        use = self
        for step in steps:
            if step.startswith("["):
                use.length = max(use.length, int(step.strip("[]") or 0) + 1)
                use.element = use.element or Use()
                use = use.element
            else:
                use = use.members.setdefault(step, Use())
        return use

    def add(self, other: "Use") -> None:
        """Unite with `other`."""
        for name, use in [*other.members.items()]:
            self.members.setdefault(name, Use()).add(use)
        if other.element is not None:
            self.element = self.element or Use()
            self.element.add(other.element)
            self.length = max(self.length, other.length)
        self.constants += [each for each in other.constants if each not in self.constants]
        self.sample = other.sample if self.sample is None else self.sample

    @property
    def is_read(self) -> bool:
        """True if anything is known about the value."""
        return bool(self.members or self.element or self.constants) or self.sample is not None


def uses(workflow: Workflow) -> Mapping[str | None, Mapping[str, Use]]:
    """Return the uses in each scope, by the root of the path: `INPUT`, `ITEM`, variables, and results by state."""
    found: dict[str | None, dict[str, Use]] = {None: {}}
    for state in workflow.states.values():
        own = found.setdefault(state.scope, {})
        for path, constants, sample in _reads(state):
            root, steps = split(path)
            key = f"{state.name} {RESULT}" if root == RESULT else root
            use = own.setdefault(key, Use()).at(steps)
            use.constants += [each for each in constants if each not in use.constants]
            use.sample = sample if use.sample is None else use.sample
    # Inner scopes come after the states around them, so the innermost are united first.
    for state in reversed([*workflow.states.values()]):
        if isinstance(state, Map | Parallel):
            _unite(state, found[state.scope], found.setdefault(state.name, {}))
    for inside in [*found.values()]:
        found[None].setdefault(INPUT, Use()).add(inside.get(EXECUTION_INPUT, Use()))
    return found


def split(path: str) -> tuple[str, tuple[str, ...]]:
    """Return root and steps of a path: names, indexes such as ``[2]``, and ``[]`` for several elements."""
    found = _PATH.fullmatch(path)
    if found is None:
        return path, ()
    root, steps = found["root"], tuple(_step(step) for step in _ONE_STEP.findall(found["steps"]))
    if root in ("$$", "$states.context"):
        size = 2 if steps[:1] == ("Execution",) else 3
        return ".".join(("$$", *steps[:size])), steps[size:]
    return (INPUT if root == "$states.input" else root), steps


def paths(text: str) -> Iterator[tuple[str, Json]]:
    """Yield the paths in `text`, each with a sample of the kind that the function around it takes."""
    for found in _PATH.finditer(text):
        before = text[: found.start()]
        sample: Json = None
        if _LISTS.search(before):
            sample = []
        elif _NUMBERS.search(before):
            sample = 1
        elif _TEXTS_OF_JSON.search(before):
            sample = "{}"
        yield found[0], sample


def _unite(state: Map | Parallel, around: dict[str, Use], inside: dict[str, Use]) -> None:
    """Add fields read by branches of `state` to its own input's fields."""
    for name, use in [*inside.items()]:
        if name.startswith("$") and name not in (INPUT, ITEM):
            around.setdefault(name, Use()).add(use)
    own = around.setdefault(INPUT, Use())
    if isinstance(state, Parallel):
        own.add(inside.get(INPUT, Use()))
        return
    selector = state.data.get("ItemSelector", state.data.get("Parameters", ITEM))
    item = around.pop(ITEM, Use())
    relate(item, selector, inside.get(INPUT, Use()), (ITEM,))
    inside[ITEM] = item  # where a data set has the items
    selection = state.data.get("ItemsPath") or state.data.get("Items") or "$"
    for path, _ in paths(selection) if isinstance(selection, str) and not state.reads else ():
        root, steps = split(path)
        around.setdefault(root, Use()).at((*steps, "[]")).add(item)


def _reads(state: State) -> Iterator[tuple[str, list[Json], Json]]:
    """Yield what `state` reads: path, constants that it is compared with, and a sample of the expected kind."""
    is_replaced = isinstance(state, Work) and state.data.get("ResultPath", "$") == "$"
    for name, value in state.data.items():
        if name == "Result":
            continue
        if name == "ResultSelector" or (name == "OutputPath" and is_replaced):
            texts = [value] if name == "OutputPath" else _texts(value)
            read = [each for text in texts if isinstance(text, str) for each in paths(text)]
            yield from ((RESULT + path[1:] if split(path)[0] == INPUT else path, [], sample) for path, sample in read)
        elif name in _PATH_FIELDS and isinstance(value, str):
            yield value, [], _PATH_FIELDS[name]
        elif name == "ItemsPath":
            yield value, [], []
        else:
            yield from ((path, [], sample) for text in _texts(value) for path, sample in paths(text))
    if isinstance(state, Choice):
        for rule, _ in state.rules:
            yield from _compared(rule)


def relate(found: Use, template: Json, after: Use, roots: tuple[str, ...] = (INPUT, RESULT)) -> None:
    """Add to the use of a result, from which `template` makes a value, what is read of that value.

    Args:
        found: use of the result.
        template: path, expression, or object of them.
        after: use of the value.
        roots: roots of the paths that lead into the result.
    """
    if isinstance(template, Mapping):
        for key, value in template.items():
            relate(found, value, after.at((key.removesuffix(".$"),)), roots)
    elif isinstance(template, str):
        root, steps = split(template.removeprefix("{%").removesuffix("%}").strip())
        if root in roots:
            found.at(steps).add(after)


def _texts(value: Json) -> Iterator[str]:
    """Yield the texts of a template that are paths or expressions."""
    match value:
        case dict():
            for key, item in value.items():
                if not isinstance(item, str) or key.endswith(".$") or item.startswith("{%"):
                    yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case str():
            yield value


def _compared(rule: Json) -> Iterator[tuple[str, list[Json], Json]]:
    """Yield what a rule of a Choice compares."""
    if not isinstance(rule, Mapping):
        return
    for name, value in rule.items():
        match value:
            case list():
                for inner in value:
                    yield from _compared(inner)
            case Mapping():
                yield from _compared(value)
            case str() if name.endswith("Path") or name == "Condition":
                yield from ((path, [], sample) for path, sample in paths(value))
                yield from _constants(value)
            case _ if "Variable" in rule and name not in ("Variable", "Next", "Comment") and not name.startswith("Is"):
                yield rule["Variable"], [_fitting(name, value)], None
    if "Variable" in rule:
        yield rule["Variable"], [], None


def _constants(condition: str) -> Iterator[tuple[str, list[Json], Json]]:
    """Yield comparisons with constants in a JSONata condition."""
    for found in _COMPARISON.finditer(condition):
        text = found["text"]
        yield found["path"], [text[1:-1] if text[0] in "'\"" else parse_json(text)], None


def _fitting(operator: str, constant: Json) -> Json:
    """Return a value for which the comparison holds, where that is simple."""
    if operator == "StringMatches":
        return str(constant).replace("*", "")
    if isinstance(constant, bool | str):
        return constant
    if operator.endswith("GreaterThan"):
        return constant + 1
    return constant - 1 if operator.endswith("LessThan") else constant


def _step(step: str) -> str:
    if step.startswith("."):
        return step[1:]
    if step[1] in "'\"":
        return step[2:-2]
    return step if step[1:-1].isdecimal() else "[]"
