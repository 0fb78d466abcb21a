"""Checks paths, payload templates and choice rules, with the parsers that the runtime evaluates them with."""

from collections.abc import Iterator, Mapping

from unum_constructs.compiler.report import Feature, Report, did_you_mean, shown
from unum_runtime.asl.conditions import compile_condition
from unum_runtime.asl.dataflow import check_path, check_result_path
from unum_runtime.asl.path_syntax import PathSyntaxError
from unum_runtime.asl.paths import parse
from unum_runtime.asl.places import element, member
from unum_runtime.asl.templates import compile_template
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Json

_TEMPLATES = ("Parameters", "ItemSelector", "ResultSelector")

_CONTEXT = (
    *("Execution.Id", "Execution.Name", "Execution.StartTime"),
    *("State.EnteredTime", "State.Name", "StateMachine.Id", "StateMachine.Name"),
)
_ITEM = ("Map.Item.Index", "Map.Item.Value")
_REFUSED_CONTEXT = (
    *("Execution.Input", "Execution.RoleArn", "Execution.RedriveCount", "Execution.RedriveTime"),
    *("State.RetryCount", "Task.Token", "Map.Item.Key", "Map.Item.Source"),
)


def check_field(kind: str, field: str, value: Json, place: str, report: Report) -> None:
    """Report what is wrong with the data-flow field `field` of a state of type `kind`."""
    if field in _TEMPLATES:
        selects_items = kind == "Map" and field != "ResultSelector"
        _check_template(value, place, report, known=(*_CONTEXT, *_ITEM) if selects_items else _CONTEXT)
    elif field == "ResultPath":
        report.add(check_result_path(value, place))
    elif field == "ItemsPath" and value is None:
        report.mistake(place, 'expected a path to an array, such as "$.items", got null')
    elif field != "Result":  # of which any JSON value is one
        report.add(check_path(value, place))
        _check_context(value, place, report, known=_CONTEXT)


def check_condition(rule: Mapping[str, Json], place: str, report: Report) -> None:
    """Report what is wrong with the Choice rule `rule`, which is without its ``Next``."""
    if "Condition" in rule:
        report.unsupported(member(place, "Condition"), Feature.JSONATA, 'write "Variable" and a comparison operator')
        return
    try:
        compile_condition(rule, where=place)
    except DefinitionError as error:
        report.add(error.problems)
    for where, key, value in _fields(rule, place):
        if key == "Variable" or key.endswith("Path"):
            _check_context(value, where, report, known=_CONTEXT)


def _check_template(value: Json, place: str, report: Report, *, known: tuple[str, ...]) -> None:
    try:
        compile_template(value, where=place)
    except DefinitionError as error:
        report.add(error.problems)
    for where, key, content in _fields(value, place):
        if key.endswith(".$"):
            _check_context(content, where, report, known=known)


def _check_context(path: Json, place: str, report: Report, *, known: tuple[str, ...]) -> None:
    """Report `path` if it leads to a part of the context object that is not there; anything else is fine."""
    name = _context_field(path)
    if name is None or _is_within(name, known):
        return
    if item := next((field for field in _ITEM if _is_within(name, (field,))), None):
        report.unsupported(place, f"$$.{item}", 'give it to the branch, with the "ItemSelector" of the Map state')
    elif refused := next((field for field in _REFUSED_CONTEXT if _is_within(name, (field,))), None):
        report.unsupported(place, f"$$.{refused}", f"allowed are {_named(known)}")
    elif any(_is_within(field, (name,)) for field in (*_CONTEXT, *_REFUSED_CONTEXT)) or not name:
        report.unsupported(place, f"$$.{name}" if name else "$$", f"take the parts one by one: {_named(known)}")
    else:
        report.mistake(place, f"the context object has no {shown(f'$$.{name}')}; {did_you_mean(name, known)}")


def _context_field(path: Json) -> str | None:
    """The way into the context object, such as ``Execution.Id``, as far as it is certain; None for any other path."""
    if not isinstance(path, str) or not path.startswith("$$"):
        return None
    try:
        keys = parse(path).keys
    except PathSyntaxError:
        return None
    return ".".join(map(str, keys or ()))


def _named(fields: tuple[str, ...]) -> str:
    return ", ".join(f"$$.{field}" for field in fields)


def _is_within(name: str, fields: tuple[str, ...]) -> bool:
    return any(f"{name}.".startswith(f"{field}.") for field in fields)


def _fields(value: Json, place: str) -> Iterator[tuple[str, str, Json]]:
    """(place, key, value) of every field of every object in `value`."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield member(place, key), key, child
            yield from _fields(child, member(place, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _fields(child, element(place, index))
