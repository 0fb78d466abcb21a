"""Deploy-time values and ``DefinitionSubstitutions``, removed from a definition: its IR has no token or ``${Name}``.

A Task's function becomes its key. Every other token in a text becomes a placeholder such as ``${Value1}``. The
functions' environments have its value, which replaces the placeholder when a function loads the IR. A token of a number
becomes a placeholder in fields of numbers, an expression in templates, and in constants a text such as ``${Number1}``,
which the number replaces with its quotes; so does a token of an array of texts in templates and constants. Tokens
cannot be keys, other numbers and arrays, or parts of the control flow; such tokens stay, and the compiler reports them.

An object that the CDK resolves at synthesis, such as `Lazy.any` or `Fn.condition_if`, becomes a placeholder such as
``${Json1}`` in the definition. Its value is a token of JSON text, which replaces the placeholder with its quotes when a
function loads the IR: `StateMachine` writes the same JSON.

Source: AWS CloudFormation User Guide, AWS::StepFunctions::StateMachine, DefinitionSubstitutions.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count
from typing import Any, NamedTuple

from unum_compiler.parsing.fields import COMPARED, NUMBERS
from unum_compiler.parsing.task_resources import UNPUBLISHED
from unum_compiler.parsing.tokens import is_token
from unum_compiler.problems import did_you_mean, shown
from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.json_text import parse_foreign, to_readable
from unum_runtime.model.placeholders import ARRAY, JSON, NUMBER, SEPARATOR
from unum_runtime.model.states import Json

TOKEN = re.compile(r"\$\{Token\[[^\]]*\]\}")
"""The CDK's form of a token in a text."""

_ARRAY = re.compile(r"#\{Token\[[^\]]*\]\}")
"""The CDK's form of a token of an array: it is the array's only element."""

_TEXT = "Value"

_SERVICE = re.compile(rf"arn:{TOKEN.pattern}:states:::(?=[a-z])")
_INVOKE = ":states:::lambda:invoke"
_CONTROL = ("Type", "Next", "Default", "End", "QueryLanguage")
_LIMITS = ("Comment", "TimeoutSeconds")
"""Fields of a state machine that may have tokens."""

_PART = rf"(?:{TOKEN.pattern}|[^:$])*"
_FUNCTION = re.compile(
    rf"(?:arn:{_PART}:lambda:{_PART}:{_PART}:function:)?(?P<token>{TOKEN.pattern})(?::(?:\$LATEST|[A-Za-z0-9_-]+))?"
)
_ELSEWHERE = re.compile(rf"arn:{_PART}:lambda:{_PART}:{_PART}:function:[A-Za-z0-9_-]+(?::(?:\$LATEST|[A-Za-z0-9_-]+))?")
"""ARN of a function by its name, which may have tokens before the name: partition, region and account."""

_TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "JSONPath": ("Parameters", "ItemSelector", "ResultSelector", "Assign"),
    "JSONata": ("Arguments", "ItemSelector", "Output", "Assign"),
}
"""Fields with expressions at any depth."""

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z0-9_.:-]+)\}")
_FUNCTIONS = ("Resource", "FunctionName")
"""Fields whose ``${Name}`` may be the key of a function instead of a substitution."""


class Taken(NamedTuple):
    """A token-free definition, plus the removed tokens.

    Attributes:
        machine: state machine in the Amazon States Language.
        values: tokens by the name of their placeholder.
    """

    machine: Json
    values: Mapping[str, str]


def take_values(machine: Json, keys: Mapping[str, str]) -> Taken:
    """Return a copy of `machine`: Tasks name functions by key, texts contain placeholders instead of tokens.

    Args:
        machine: state machine, or any other JSON.
        keys: key of each function, by its ARN, its name, or the token of either.
    """
    taking = _Taking(machine, keys)
    return Taken(taking.machine(machine), taking.values)


def named_functions(machine: Json) -> Iterator[str]:
    """Yield function names in Tasks of `machine`, in document order."""
    if not isinstance(machine, dict):
        return
    for state in machine.get("States", {}).values():
        if state.get("Type") == "Task":
            yield from (text for text in (state["Resource"], *_invoked(state)) if isinstance(text, str))
        for inner in (state.get("ItemProcessor"), state.get("Iterator"), *state.get("Branches", ())):
            yield from named_functions(inner)


def _invoked(task: Mapping[str, Json]) -> Iterator[Json]:
    """Yield the name of the function that `task` invokes with ``lambda:invoke``."""
    for field in ("Parameters", "Arguments"):
        parameters = task.get(field)
        if _INVOKE in task["Resource"] and isinstance(parameters, dict) and "FunctionName" in parameters:
            yield parameters["FunctionName"]


class _Taking:
    """One pass over a definition, with one name per token."""

    def __init__(self, machine: Json, keys: Mapping[str, str]) -> None:
        self._keys = keys
        self._language = machine.get("QueryLanguage", "JSONPath") if isinstance(machine, dict) else "JSONPath"
        text = to_readable(machine)
        self._names = {kind: _free_names(text, kind) for kind in (_TEXT, NUMBER, ARRAY)}
        self.values: dict[str, str] = {}

    def machine(self, machine: Json) -> Json:
        if not isinstance(machine, dict) or not isinstance(machine.get("States"), dict):
            return machine
        states = {name: self._state(state) for name, state in machine["States"].items()}
        fields = {field: self._field({}, field, machine[field]) for field in _LIMITS if field in machine}
        return {**machine, **fields, "States": states}

    def _state(self, state: Json) -> Json:
        if not isinstance(state, dict):
            return state
        language = str(state.get("QueryLanguage", self._language))
        templates = _TEMPLATES.get(language, ())
        numbered = {
            field: self._numbers(value, language)
            if field in templates
            else self._constant(value)
            if field == "Result"
            else value
            for field, value in state.items()
        }
        return {field: self._field(numbered, field, value) for field, value in numbered.items()}

    def _numbers(self, value: Json, language: str) -> Json:
        """Return the template `value` with expressions instead of tokens of numbers, which stay numbers that way."""
        match value:
            case [str() as only] if _ARRAY.fullmatch(only):
                return self._constant(value)
            case dict() if language == "JSONPath":
                return dict(self._member(name, item) for name, item in value.items())
            case dict():
                return {name: self._numbers(item, language) for name, item in value.items()}
            case list():
                return [self._numbers(item, language) for item in value]
            case float() if language == "JSONata" and is_token(value):
                return f"{{% {_text_of(value)} %}}"
            case _:
                return self._constant(value)

    def _constant(self, value: Json) -> Json:
        """Return `value` with texts instead of tokens of numbers and arrays, at any depth."""
        match value:
            case [str() as only] if _ARRAY.fullmatch(only):
                return self._placeholder(_joined(only), ARRAY)
            case dict():
                return {name: self._constant(item) for name, item in value.items()}
            case list():
                return [self._constant(item) for item in value]
            case float() if is_token(value):
                return self._placeholder(_text_of(value), NUMBER)
            case _:
                return value

    def _member(self, name: str, value: Json) -> tuple[str, Json]:
        if isinstance(value, float) and is_token(value):
            return f"{name}.$", f"States.StringToJson('{_text_of(value)}')"
        return name, self._numbers(value, "JSONPath")

    # Control flow is compiled, so it cannot contain placeholders: tokens stay there, and the compiler reports them.
    def _field(self, state: Mapping[str, Json], field: str, value: Json) -> Json:
        is_task = state.get("Type") == "Task"
        match field, value:
            case "ItemProcessor" | "Iterator", _:
                return self.machine(value)
            case "Comment", str():
                return TOKEN.sub("…", value)  # nothing reads it
            case "Branches", list():
                return [self.machine(branch) for branch in value]
            case "Resource", str() if is_task:
                return self._function(_plain_resource(value))
            case "Parameters" | "Arguments", dict() if is_task and _INVOKE in str(state.get("Resource")):
                return {name: self._parameter(name, item) for name, item in value.items()}
        return value if field in _CONTROL else self._data(value, field)

    def _parameter(self, name: str, value: Json) -> Json:
        is_function = name == "FunctionName" and isinstance(value, str)
        return self._function(value) if is_function else self._data(value)

    def _function(self, text: str) -> str:
        if text in self._keys:
            return self._keys[text]
        if (key := self._keys.get(token_of_function(text))) is not None:
            # Such a qualifier has no effect, and the compiler says so.
            *_, qualifier = text.rpartition(token_of_function(text))
            return key if qualifier in ("", f":{UNPUBLISHED}") else f"${{{key}}}{qualifier}"
        # The compiler calls what is outside of the workflow; its address is a value like any other.
        return self._data(text) if _ELSEWHERE.fullmatch(text) else text

    def _data(self, value: Json, field: str = "") -> Json:
        match value:
            case float() if field in NUMBERS | COMPARED and is_token(value):
                return self._data(_text_of(value))
            case str():
                return TOKEN.sub(lambda token: self._placeholder(token[0]), _plain_resource(value))
            case dict():
                return {key: self._data(item, key) for key, item in value.items()}
            case list():
                return [self._data(item) for item in value]
            case _:
                return value

    def _placeholder(self, token: str, kind: str = _TEXT) -> str:
        # One name for equal tokens: environments are limited to 4 KB (AWS Lambda quotas).
        same = (name for name, value in self.values.items() if value == token and name.startswith(kind))
        name = next(same, None) or next(self._names[kind])
        self.values[name] = token
        return f"${{{name}}}"


def token_of_function(text: str) -> str:
    """Return the token in the name or ARN of a function, without version or alias; `text` itself without a token."""
    match = _FUNCTION.fullmatch(text)
    return match["token"] if match else text


def _text_of(number: float) -> str:
    """Return a token of text for the token `number`."""
    from aws_cdk import Token, Tokenization  # noqa: PLC0415 - the compiler works without the CDK, and no number is a token then

    return Token.as_string(Tokenization.reverse_number(number))


@cache
def _joined(element: str) -> str:
    """Return a text token for an array token with the single element `element`."""
    from aws_cdk import Fn  # noqa: PLC0415 - as above

    return Fn.join(SEPARATOR, [element])


def _plain_resource(value: Json) -> Json:
    """Return an integration's ARN with partition ``aws`` instead of the partition's token."""
    return _SERVICE.sub("arn:aws:states:::", value) if isinstance(value, str) else value


def _free_names(text: str, kind: str) -> Iterator[str]:
    """Yield names of placeholders that begin with `kind` and that `text` does not contain."""
    return (name for name in (f"{kind}{number}" for number in count(1)) if f"${{{name}}}" not in text)


class Given(NamedTuple):
    """A definition without such objects, and their tokens of JSON text by the name of their placeholder."""

    machine: Any
    values: Mapping[str, str]


def take_objects(machine: Any) -> Given:
    """Return `machine` with placeholders in place of the objects that the CDK resolves."""
    text, values = str(machine), dict[str, str]()
    names = (name for name in (f"{JSON}{number}" for number in count(1)) if f"${{{name}}}" not in text)
    placeholders: dict[int, str] = {}  # one for each object: environments are limited to 4 KB (AWS Lambda quotas)

    def taken(value: Any) -> Any:
        match value:
            case Mapping():
                return {name: taken(item) for name, item in value.items()}
            case list() | tuple():
                return [taken(item) for item in value]
            case _ if not hasattr(value, "resolve") or hasattr(value, "node"):  # constructs have both
                return value
        if id(value) not in placeholders:
            values[name := next(names)] = _json_text(value)
            placeholders[id(value)] = f"${{{name}}}"
        return placeholders[id(value)]

    return Given(taken(machine), values)


def _json_text(resolvable: Any) -> str:
    from aws_cdk import Stack  # noqa: PLC0415 - the compiler works without the CDK, and has no such object then

    # The token belongs to no stack: it is resolved where it is used.
    return Stack().to_json_string(resolvable)


def substitute(document: Json, substitutions: Mapping[str, str]) -> Json:
    """Return `document` with every ``${Name}`` replaced by its text.

    Args:
        document: definition.
        substitutions: text or CDK token by name.

    Raises:
        DefinitionError: with every name without a substitution, every unused substitution, and every substitution that
            is no text.
    """
    problems = [*_no_text(substitutions), *_unknown(document, substitutions), *_unused(document, substitutions)]
    if problems:
        raise DefinitionError(tuple(problems))
    return _substituted(document, substitutions)


def _substituted(value: Json, substitutions: Mapping[str, str], field: str = "") -> Json:
    match value:
        case str():
            text = _PLACEHOLDER.sub(lambda found: substitutions.get(found[1], found[0]), value)
            return _number(text) if field in NUMBERS | COMPARED and _PLACEHOLDER.fullmatch(value) else text
        case dict():
            # The key selects the type of a number, so values come before keys.
            changed = {key: _substituted(item, substitutions, key) for key, item in value.items()}
            return {_substituted(key, substitutions): item for key, item in changed.items()}
        case list():
            return [_substituted(item, substitutions, field) for item in value]
        case _:
            return value


def _number(text: str) -> Json:
    """Return `text` parsed as a number, or unchanged if parsing fails."""
    try:
        found = parse_foreign(text)
    except ValueError:
        return text
    return found if isinstance(found, int | float) and not isinstance(found, bool) else text


def _no_text(substitutions: Mapping[str, object]) -> Iterator[Problem]:
    for name, value in substitutions.items():
        if not isinstance(value, str):
            message = f"expected text or a CDK token of text, got {value!r}; write it as text"
            yield Problem(member("substitutions", name), message)


def _unknown(document: Json, substitutions: Mapping[str, str]) -> Iterator[Problem]:
    for place, field, name in _placeholders(document, "$", ""):
        if name not in substitutions and field not in _FUNCTIONS:
            remedy = did_you_mean(name, substitutions)
            yield Problem(place, f"there is no substitution for {shown(f'${{{name}}}')}; {remedy}")


def _unused(document: Json, substitutions: Mapping[str, str]) -> Iterator[Problem]:
    names = {name for _, _, name in _placeholders(document, "$", "")}
    for name in substitutions.keys() - names:
        missing = names - substitutions.keys()
        remedy = did_you_mean(name, missing) if missing else "remove it"
        yield Problem(member("substitutions", name), f"the definition has no {shown(f'${{{name}}}')}; {remedy}")


def _placeholders(value: Json, place: str, field: str) -> Iterator[tuple[str, str, str]]:
    """Yield (place, field, name) of every placeholder."""
    match value:
        case str():
            yield from ((place, field, name) for name in _PLACEHOLDER.findall(value))
        case dict():
            for key, item in value.items():
                yield from ((place, "", name) for name in _PLACEHOLDER.findall(key))
                yield from _placeholders(item, member(place, key), key)
        case list():
            for index, item in enumerate(value):
                yield from _placeholders(item, element(place, index), field)
