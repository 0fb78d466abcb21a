"""Grammar of paths: the part of Jayway JsonPath that Step Functions supports.

The Step Functions Developer Guide ("Paths") excludes functions, lexical operators and regular expressions; errors name
these features. Definitions on AWS also use syntax outside of the guide: field names with a hyphen, ``$.[0]``, unquoted
words in filters (``@.Name==Receipt``), ``[(@.length-1)]``, and filters that compare with another value (``@.a==$.b``).
"""

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from unum_runtime.asl.jsonpath import path_steps
from unum_runtime.asl.jsonpath.path_steps import (
    RELATIONS,
    Filter,
    Key,
    Operand,
    Step,
    all_of,
    any_of,
    child,
    compare,
    exists,
    literal,
    negate,
    of_item,
    of_root,
)
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json

__all__ = ["RESERVED_VARIABLE", "PathParser", "PathSyntaxError"]

RESERVED_VARIABLE = "states"
"""Name that no variable may have. Source: specification, 'Reserved "states" Variable'."""

MAX_NESTING = 100
"""Most parentheses and negations around a condition of a filter; each is a call of a Python function."""

_Part = TypeVar("_Part")

_SPACE = re.compile(r"\s*")
_CALL = re.compile(r"\s*[A-Za-z0-9._]+\(")
_VARIABLE = re.compile(r"[^\W\d]\w*")
_NAME = re.compile(r"(?:\\.|[^\s.\[\]()@,:?*'\"\\])+", re.DOTALL)
_NAME_IN_FILTER = re.compile(r"(?:\\.|[^\s.\[\]()@,:?*'\"\\=!<>~&|])+", re.DOTALL)
_QUOTED = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_INTEGER = re.compile(r"-?\d{1,9}", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_WORD = re.compile(r"[^\s()\[\]&|!<>='\"@$,]+")
_FROM_END = re.compile(r"\(\s*@\s*\.\s*length\s*-\s*([1-9]\d{0,8})\s*\)", re.ASCII)
_LAST_BRACKET = re.compile(r"\s*\]\Z")
_RELATION = re.compile(r"==|!=|<=|>=|<|>")
_LEXICAL = re.compile(r"=~|[a-zA-Z]+\b")
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None}


class PathSyntaxError(ValueError):
    """Invalid or unsupported path or intrinsic function.

    Attributes:
        text: the whole text.
        position: index of the character with the error.
        feature: name of a Step Functions feature that this runtime does not support; None for a mistake.
    """

    def __init__(self, text: str, position: int, allowed: str, *, feature: str | None = None) -> None:
        self.text = text
        self.position = position
        self.feature = feature
        super().__init__(f"{text!r}, character {position}: {allowed}")


class Reader:
    """A text with the current position."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def _read_list(self, separator: str, part: Callable[[], _Part]) -> tuple[_Part, ...]:
        parts: list[_Part] = []
        while not parts or self._accept(separator):
            self._skip_space()
            parts.append(part())
            self._skip_space()
        return tuple(parts)

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _accept(self, token: str) -> bool:
        accepted = self._text.startswith(token, self._position)
        if accepted:
            self._position += len(token)
        return accepted

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._position)
        if match:
            self._position = match.end()
        return match

    def _skip_space(self) -> None:
        self._match(_SPACE)

    def _refuse(self, allowed: str, *, at: int | None = None) -> NoReturn:
        raise PathSyntaxError(self._text, self._position if at is None else at, allowed)


class PathParser(Reader):
    """Parser of one path."""

    def path(self) -> tuple[bool, str | None, tuple[Step, ...]]:
        """Parse the path and return its parts.

        Returns:
            True if the path begins at the context object; the variable at the beginning, or None; and the steps.

        Raises:
            PathSyntaxError: names the position of the error and the allowed syntax there.
        """
        is_context, variable, steps = self._path()
        if self._text[self._position :].strip():  # blanks at the end have no meaning: Jayway trims its paths
            self._refuse("expected . or [ or the end")
        return is_context, variable, steps

    def _path(self) -> tuple[bool, str | None, tuple[Step, ...]]:
        is_context, variable = self._root()
        self._nesting = 0
        self._is_of_input = not is_context and variable is None
        steps: list[Step] = []
        while self._peek() in {".", "["}:
            steps.append(self._step())
        return is_context, variable, tuple(steps)

    def _root(self) -> tuple[bool, str | None]:
        if _CALL.match(self._text, self._position):
            self._refuse("expected a path; write intrinsic functions in fields ending in .$, ErrorPath or CausePath")
        if not self._accept("$"):
            self._refuse("a path begins with $ (the input), $$ (the context object) or $name (a variable)")
        if self._accept("$"):
            return True, None
        name = self._match(_VARIABLE)
        if name and name[0] == RESERVED_VARIABLE:
            self._refuse("$states belongs to JSONata; write $ for the input and $$ for the context object")
        return False, name[0] if name else None

    def _step(self) -> Step:
        if self._accept(".."):
            return path_steps.descend(self._bracket_step(descending=True) if self._accept("[") else self._dot_step())
        self._accept(".")  # optional before a bracket: ``$.[0]``
        return self._bracket_step() if self._accept("[") else self._dot_step()

    def _dot_step(self) -> Step:
        if self._accept("*"):
            return path_steps.wildcard()
        return self._name_step(_NAME)

    def _name_step(self, pattern: re.Pattern[str]) -> Step:
        name = self._match(pattern)
        if name is None:
            self._refuse("expected a field name or *; write names with other characters in brackets: ['my name']")
        if self._peek() == "(":
            self._refuse(f"the function {name[0]}() is not supported: paths have no functions in Step Functions")
        return child(_unescape(name[0], controls=False))

    def _bracket_step(self, *, descending: bool = False) -> Step:
        self._skip_space()
        step = self._inside_bracket(descending=descending)
        self._skip_space()
        if not self._accept("]"):
            self._refuse("expected ]")
        return step

    def _inside_bracket(self, *, descending: bool) -> Step:
        if self._accept("*"):
            return path_steps.wildcard()
        if self._accept("?"):
            condition = self._filter()
            return path_steps.filter_itself(condition) if descending else path_steps.filter_items(condition)
        if from_end := self._match(_FROM_END):
            return child(-int(from_end[1]))
        if self._peek() in {"'", '"'}:
            return self._names(descending=descending)
        return self._indexes()

    def _names(self, *, descending: bool) -> Step:
        names = self._read_list(",", self._quoted_text)
        if len(names) == 1:
            return child(names[0])
        if descending:
            self._refuse("several names after .. are not supported; write one name, index, slice, * or filter")
        is_last = _LAST_BRACKET.match(self._text, self._position)
        return path_steps.subset(names) if is_last else path_steps.children(names)

    def _indexes(self) -> Step:
        start = self._match(_INTEGER)
        self._skip_space()
        if self._accept(":"):
            return self._slice(int(start[0]) if start else None)
        if start is None:
            self._refuse("expected 'name', an index, a slice like 1:3, *, or a filter ?(...)")
        if not self._accept(","):
            return child(int(start[0]))
        return path_steps.items((int(start[0]), *self._read_list(",", self._integer)))

    def _slice(self, start: int | None) -> Step:
        self._skip_space()
        stop = self._match(_INTEGER)
        self._skip_space()
        if self._accept(":"):
            self._skip_space()
            self._match(_INTEGER)  # Jayway accepts a step and ignores it: ArraySliceOperation
        if start is None and stop is None:
            self._refuse("a slice needs a start or an end; write [*] for all items")
        return path_steps.slice_items(start, int(stop[0]) if stop else None)

    def _filter(self) -> Filter:
        self._skip_space()
        if not self._accept("("):
            self._refuse("expected (: a filter has the form [?(@.field == 'value')]")
        condition = self._any_of()
        if not self._accept(")"):
            self._refuse("expected ), && or ||")
        return condition

    def _any_of(self) -> Filter:
        return any_of(self._read_list("||", self._all_of))

    def _all_of(self) -> Filter:
        return all_of(self._read_list("&&", self._test))

    def _test(self) -> Filter:
        if self._peek() in {"!", "("}:
            return self._nested_test()
        if not self._accept("@"):
            self._refuse("expected @.field, alone or compared with a literal or a path on its right")
        keys = self._relative_keys()
        self._skip_space()
        if relation := self._match(_RELATION):
            return compare(keys, relation[0], self._operand())
        if lexical := _LEXICAL.match(self._text, self._position):
            self._refuse(f"Step Functions has no operator {lexical[0]} in filters; allowed: {', '.join(RELATIONS)}")
        return exists(keys)

    def _nested_test(self) -> Filter:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            self._refuse(f"expected at most {MAX_NESTING} parentheses and ! around a condition")
        negated = self._accept("!")
        self._skip_space()
        condition = negate(self._test()) if negated else self._filter()
        self._nesting -= 1
        return condition

    def _operand(self) -> Operand:
        self._skip_space()
        if self._accept("@"):
            return of_item(self._relative_keys())
        if self._peek() != "$":
            return literal(self._literal())
        if not self._is_of_input:
            self._refuse("only paths into the input may compare with a value at $: its meaning elsewhere is not known")
        self._accept("$")
        return of_root(self._relative_keys())

    def _relative_keys(self) -> tuple[Key, ...]:
        keys: list[Key] = []
        while self._peek() in {".", "["}:
            start = self._position
            step = self._bracket_step() if self._accept("[") else self._step_in_filter()
            if step.key is None:
                self._position = start
                self._refuse("expected names and indexes only after @ or $ in a filter")
            keys.append(step.key)
        if not keys:
            self._refuse("expected a field, such as @.field: in Step Functions @ refers to objects only")
        return tuple(keys)

    def _step_in_filter(self) -> Step:
        self._accept(".")
        return self._bracket_step() if self._accept("[") else self._name_step(_NAME_IN_FILTER)

    def _literal(self) -> Json:
        if self._peek() in {"'", '"'}:
            return self._quoted_text()
        word = self._match(_WORD)
        if word is None:
            self._refuse("expected a literal: 'text', a number, true, false or null")
        if _NUMBER.fullmatch(word[0]):
            return parse_foreign(word[0])
        return _CONSTANTS.get(word[0], word[0])

    def _quoted_text(self) -> str:
        quoted = self._match(_QUOTED)
        if quoted is None:
            self._refuse("expected a name or text between quotes, closed by the same quote")
        return _unescape(quoted[1] if quoted[1] is not None else quoted[2], controls=True)

    def _integer(self) -> int:
        integer = self._match(_INTEGER)
        if integer is None:
            self._refuse("expected an index")
        return int(integer[0])


def _unescape(text: str, *, controls: bool) -> str:
    if "\\" not in text:
        return text
    named = _CONTROLS if controls else {}

    def replace(match: re.Match[str]) -> str:
        code, character = match.groups()
        return chr(int(code, 16)) if code else named.get(character, character)

    # Two \u escapes may encode one character beyond the basic plane; UTF-16 joins them.
    return _ESCAPE.sub(replace, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
