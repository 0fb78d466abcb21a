"""Choice rules of JSONPath states: data tests and And, Or, Not.

A comparison of different types is false; true and 1 are different types.

Source: specification, "JSONPath Choice Rules" and "Data-test expression".
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias, TypeVar

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.paths import Path, PathNotFound, parse, read
from unum_runtime.asl.numbers import is_number
from unum_runtime.asl.places import element, member
from unum_runtime.asl.states_errors import NoChoiceMatched, RuntimeFailure
from unum_runtime.asl.timestamps import parse_timestamp
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json

# Patterns of ``StringMatches``: ``*`` matches any text, ``\*`` and ``\\`` match the characters themselves.

_TOKEN = re.compile(r"\\(?P<escaped>[*\\])|(?P<open>\\)|(?P<star>\*)|(?P<text>[^*\\]+)", re.DOTALL)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that matches texts with `pattern` in time proportional to their length.

    Raises:
        ValueError: a backslash without ``*`` or another backslash after it.
    """
    first, *middle = _pieces(pattern)
    if not middle:
        return lambda text: text == first
    last = middle.pop()
    return lambda text: _matches(text, first, middle, last)


def _pieces(pattern: str) -> list[str]:
    pieces = [""]
    for token in _TOKEN.finditer(pattern):
        if token["open"]:
            raise ValueError(f"character {token.start()}: expected * or another backslash after a backslash")
        if token["star"]:
            pieces.append("")
        else:
            pieces[-1] += token["escaped"] or token["text"]
    return pieces


def _matches(text: str, first: str, middle: Sequence[str], last: str) -> bool:
    end = len(text) - len(last)
    if not (text.startswith(first) and text.endswith(last)) or end < len(first):
        return False
    position = len(first)
    for piece in middle:  # the leftmost match of each piece leaves most text for the next, so no search goes back
        found = text.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True


ValueTest: TypeAlias = Callable[[Json], bool]
"""Function from a value to True if the test holds."""

_PLACEHOLDER = re.compile(r"\$\{[^{}]+\}")
_SCALAR = re.compile(r"true|false|-?\d+(\.\d+)?", re.ASCII)
_SAMPLES: tuple[tuple[str, Json], ...] = (("Numeric", 0), ("Boolean", True), ("Timestamp", "1970-01-01T00:00:00Z"))
"""A literal for each kind of operator whose literal is not any text."""

_Kind: TypeAlias = Callable[[Json], Json]
"""Function from a value to its comparable form; None for values of other types."""


@dataclass(frozen=True)
class Operator:
    """A comparison operator.

    Attributes:
        against: function from the literal in the rule to a test; raises ValueError for an invalid literal.
        compare: comparison of two values for the operator's form with ``Path``; None without that form.
    """

    against: Callable[[Json], ValueTest]
    compare: Callable[[Json, Json], bool] | None = None


def placeholder_or_literal(operator: str, literal: Json) -> Json:
    """Return `literal`, or a value that `operator` allows in place of a placeholder such as ``${Name}``."""
    is_placeholder = isinstance(literal, str) and _PLACEHOLDER.fullmatch(literal)
    return next((value for kind, value in _SAMPLES if is_placeholder and operator.startswith(kind)), literal)


def deployed(operator: str, literal: Json) -> Json:
    """Return `literal`, converted to a number or truth value if the deployment gave its text."""
    if isinstance(literal, str) and operator.startswith(("Numeric", "Boolean")) and _SCALAR.fullmatch(literal):
        return parse_foreign(literal)
    return literal


def _string(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Json) -> float | None:
    return value if is_number(value) else None


def _boolean(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def _comparison(kind: _Kind, relation: Callable[[Json, Json], bool], allowed: str) -> Operator:
    def against(literal: Json) -> ValueTest:
        right = _require(kind, literal, allowed)

        def holds(value: Json) -> bool:
            left = kind(value)
            return left is not None and relation(left, right)

        return holds

    def compare(value: Json, other: Json) -> bool:
        left, right = kind(value), kind(other)
        return left is not None and right is not None and relation(left, right)

    return Operator(against, compare)


def _type_test(holds: ValueTest) -> Operator:
    def against(literal: Json) -> ValueTest:
        expected = _require(_boolean, literal, "true or false")
        return lambda value: holds(value) is expected

    return Operator(against)


def _string_matches(literal: Json) -> ValueTest:
    matches = matcher(_require(_string, literal, "a string"))
    return lambda value: isinstance(value, str) and matches(value)


def _require(kind: _Kind, literal: Json, allowed: str) -> Json:
    value = kind(literal)
    if value is None:
        raise ValueError(f"expected {allowed}, got {literal!r}")
    return value


_RELATIONS: dict[str, Callable[[Json, Json], bool]] = {
    "Equals": operator.eq,
    "LessThan": operator.lt,
    "GreaterThan": operator.gt,
    "LessThanEquals": operator.le,
    "GreaterThanEquals": operator.ge,
}

_ORDERED: dict[str, tuple[_Kind, str]] = {
    "String": (_string, "a string"),
    "Numeric": (_number, "a number"),
    "Timestamp": (parse_timestamp, "a timestamp like '2016-03-14T01:59:00Z'"),
}

OPERATORS: dict[str, Operator] = {
    **{
        f"{name}{suffix}": _comparison(kind, relation, allowed)
        for name, (kind, allowed) in _ORDERED.items()
        for suffix, relation in _RELATIONS.items()
    },
    "BooleanEquals": _comparison(_boolean, operator.eq, "true or false"),
    "StringMatches": Operator(_string_matches),
    "IsNull": _type_test(lambda value: value is None),
    "IsNumeric": _type_test(is_number),
    "IsString": _type_test(lambda value: isinstance(value, str)),
    "IsBoolean": _type_test(lambda value: isinstance(value, bool)),
    "IsTimestamp": _type_test(lambda value: parse_timestamp(value) is not None),
}
"""All operators on values; ``IsPresent`` is missing, because it needs the path."""


_Test: TypeAlias = Callable[[Json, ExpressionContext], bool]
"""A compiled rule: function from (effective input, context) to True if the rule holds."""

_CONNECTIVES = ("And", "Or", "Not")
_PATH_FORMS = {f"{name}Path": compare for name, operator in OPERATORS.items() if (compare := operator.compare)}
_IS_PRESENT = "IsPresent"
_TESTS = frozenset({*OPERATORS, *_PATH_FORMS, _IS_PRESENT})
_PLAIN_FIELDS = frozenset({"Comment"})
_TOP_LEVEL_FIELDS = frozenset({"Assign", "Comment", "Next"})
_ROOT = parse("$")
_JSONATA_FIELDS = frozenset({"Condition", "Output"})
_Branch = TypeVar("_Branch")


@dataclass(frozen=True)
class Condition:
    """A Choice rule, compiled at its first use.

    Attributes:
        rule: rule from the definition, with or without ``Next``.
    """

    rule: Json

    def holds(self, data: Json, context: ExpressionContext) -> bool:
        """Return True if the rule holds for the effective input `data`.

        Raises:
            RuntimeFailure: a path has no value, and the operator is not ``IsPresent``.
        """
        return self._test(data, context)

    @cached_property
    def _test(self) -> _Test:
        try:
            return _compile(self.rule, "$", deployed)
        except DefinitionError as error:  # the deployment filled a placeholder with text that breaks the grammar
            raise RuntimeFailure(str(error)) from None


def compile_condition(rule: Json, *, where: str = "$") -> Condition:
    """Check and return the Choice rule `rule`; its ``Next`` is checked with the other states.

    Args:
        rule: rule from the definition.
        where: JSON path of `rule` in the definition.

    Raises:
        DefinitionError: contains every problem of the rule with its JSON path.
    """
    _compile(rule, where, placeholder_or_literal)
    return Condition(rule)


def choose(
    rules: Iterable[tuple[Condition, _Branch]], default: _Branch | None, data: Json, context: ExpressionContext
) -> _Branch:
    """Return the branch of the first condition that holds, else `default`.

    Raises:
        NoChoiceMatched: no condition holds, and `default` is None.
        RuntimeFailure: a path of a condition has no value.
    """
    for condition, branch in rules:
        if condition.holds(data, context):
            return branch
    if default is None:
        raise NoChoiceMatched
    return default


def _compile(rule: Json, where: str, literal: Callable[[str, Json], Json]) -> _Test:
    compiler = _Compiler(literal)
    test = compiler.rule(rule, where, allowed=_TOP_LEVEL_FIELDS)
    if compiler.problems:
        raise DefinitionError(tuple(compiler.problems))
    return test


class _Compiler:
    """Compiler of a rule and its nested rules; collects all problems instead of stopping at the first."""

    def __init__(self, literal: Callable[[str, Json], Json]) -> None:
        self.problems: list[Problem] = []
        self._literal = literal

    def rule(self, rule: Json, where: str, *, allowed: frozenset[str] = _PLAIN_FIELDS) -> _Test:
        if not isinstance(rule, dict):
            return self._report(where, f"expected a Choice rule, which is an object; got {rule!r}")
        connectives = [name for name in _CONNECTIVES if name in rule]
        if not connectives:
            return self._data_test(rule, where, allowed)
        self._check_fields(rule, where, {*connectives, *allowed})
        if len(connectives) > 1:
            return self._report(where, f"expected one of And, Or and Not, got {' and '.join(connectives)}")
        return self._connective(connectives[0], rule[connectives[0]], member(where, connectives[0]))

    def _connective(self, name: str, inner: Json, where: str) -> _Test:
        if name == "Not":
            test = self.rule(inner, where)
            return lambda data, context: not test(data, context)
        if not isinstance(inner, list) or not inner:
            return self._report(where, f"expected an array of at least one Choice rule, got {inner!r}")
        tests = tuple(self.rule(part, element(where, index)) for index, part in enumerate(inner))
        combine = all if name == "And" else any
        return lambda data, context: combine(test(data, context) for test in tests)

    def _data_test(self, rule: Mapping[str, Json], where: str, allowed: frozenset[str]) -> _Test:
        names = [name for name in rule if name in _TESTS]
        self._check_fields(rule, where, {"Variable", *names, *allowed})
        variable = self._path(rule.get("Variable"), member(where, "Variable"))
        if len(names) != 1:
            got = " and ".join(names) or "none"
            return self._report(where, f"expected one comparison operator, or And, Or or Not; got {got}")
        operator = names[0]
        compare = self._compare_with_path if operator in _PATH_FORMS else self._compare_with_literal
        return compare(operator, variable, rule[operator], member(where, operator))

    def _compare_with_path(self, name: str, variable: Path, text: Json, where: str) -> _Test:
        other = self._path(text, where)
        compare = _PATH_FORMS[name]
        return lambda data, context: compare(_look_up(variable, data, context), _look_up(other, data, context))

    def _compare_with_literal(self, name: str, variable: Path, literal: Json, where: str) -> _Test:
        if name == _IS_PRESENT:
            if not isinstance(literal, bool):
                return self._report(where, f"expected true or false, got {literal!r}")
            return lambda data, context: _is_present(variable, data, context) is literal
        try:
            test = OPERATORS[name].against(self._literal(name, literal))
        except ValueError as error:
            return self._report(where, str(error))
        return lambda data, context: test(_look_up(variable, data, context))

    def _path(self, text: Json, where: str) -> Path:
        if not isinstance(text, str):
            self._report(where, f"expected a path like $.value, got {text!r}")
            return _ROOT
        try:
            return parse(text)
        except PathSyntaxError as error:
            self._report(where, str(error), error.feature)
            return _ROOT

    def _check_fields(self, rule: Mapping[str, Json], where: str, allowed: set[str]) -> None:
        for name in rule:
            if name in allowed:
                continue
            if name in _JSONATA_FIELDS:
                message = f'{name} belongs to JSONata; set "QueryLanguage": "JSONata", or drop it'
            elif name in _TOP_LEVEL_FIELDS:
                message = f"{name} is allowed in the rules of Choices only, not in nested rules"
            else:
                message = f"unknown field of a Choice rule; operators: {', '.join(sorted(_TESTS))}"
            self._report(member(where, name), message)

    def _report(self, where: str, message: str, feature: str | None = None) -> _Test:
        self.problems.append(Problem(where, message, feature))
        return lambda _data, _context: False  # never runs: the compiled rule is dropped


def _look_up(path: Path, data: Json, context: ExpressionContext) -> Json:
    try:
        return read(path, data, context)
    except PathNotFound:  # the cause is AWS's, as recorded
        cause = f"Invalid path '{path.text}': The choice state's condition path references an invalid value."
        raise RuntimeFailure(cause) from None


def _is_present(path: Path, data: Json, context: ExpressionContext) -> bool:
    try:
        read(path, data, context)
    except PathNotFound:
        return False
    return True
