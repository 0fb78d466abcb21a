"""The grammar of paths, as far as Step Functions supports Jayway JsonPath.

The developer guide (Paths) excludes functions, lexical operators, regular expressions, and filters that refer to other
values; these are refused by name. Not in any guide, but used by definitions that run on AWS: field names with a hyphen,
``$.[0]``, unquoted words in filters (``@.Name==Receipt``), and ``[(@.length-1)]``.
"""

import json
import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from unum_runtime.asl.filters import RELATIONS, Filter, Key, all_of, any_of, compares, exists, negated
from unum_runtime.asl.steps import (
    Step,
    between,
    child,
    children,
    everything,
    everywhere,
    items,
    itself_where,
    subset,
    where,
)
from unum_runtime.model.ir import Json

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
_SPACE = re.compile(r"\s*")
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_Part = TypeVar("_Part")
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None}


class PathSyntaxError(ValueError):
    """A text is no path, or none that is supported.

    Attributes:
        text: the text.
        position: index of the character at which reading stopped.
        feature: name of the feature if Step Functions has it and this runtime has not; None for a mistake.
    """

    def __init__(self, text: str, position: int, allowed: str, *, feature: str | None = None) -> None:
        self.text = text
        self.position = position
        self.feature = feature
        super().__init__(f"{text!r}, character {position}: {allowed}")


class PathParser:
    """Reads one path from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def path(self) -> tuple[bool, tuple[Step, ...]]:
        """Whether the path begins at the context object, and its steps.

        Raises:
            PathSyntaxError: says where and what is allowed there.
        """
        if not self._accept("$"):
            self._refuse("a path begins with $ (the input) or $$ (the context object)")
        is_context = self._accept("$")
        if self._peek() not in {"", ".", "["}:
            self._refuse_after_root(is_context=is_context)
        steps: list[Step] = []
        while self._position < len(self._text):
            steps.append(self._step())
        return is_context, tuple(steps)

    def _refuse_after_root(self, *, is_context: bool) -> NoReturn:
        variable = _NAME.match(self._text, self._position)
        if variable and not is_context:
            name = f"${variable[0]}"
            self._refuse(
                f"workflow variables ({name}) are not supported yet; pass the value in the input", "workflow variables"
            )
        self._refuse("expected . or [ or the end")

    def _step(self) -> Step:
        if self._accept(".."):
            return self._descent()
        if self._accept("["):
            return self._bracket()
        if not self._accept("."):
            self._refuse("expected . or [ or the end")
        if self._accept("["):
            return self._bracket()
        return self._dotted()

    def _descent(self) -> Step:
        return everywhere(self._bracket(descending=True) if self._accept("[") else self._dotted())

    def _dotted(self) -> Step:
        if self._accept("*"):
            return everything()
        return self._named(_NAME)

    def _named(self, pattern: re.Pattern[str]) -> Step:
        name = self._match(pattern)
        if name is None:
            self._refuse("expected a field name or *; names with other characters stand in brackets: ['my name']")
        if self._peek() == "(":
            self._refuse(f"the function {name[0]}() is not supported: paths have no functions in Step Functions")
        return child(_unescape(name[0], controls=False))

    def _bracket(self, *, descending: bool = False) -> Step:
        self._skip_space()
        step = self._inside_bracket(descending=descending)
        self._skip_space()
        if not self._accept("]"):
            self._refuse("expected ]")
        return step

    def _inside_bracket(self, *, descending: bool) -> Step:
        if self._accept("*"):
            return everything()
        if self._accept("?"):
            condition = self._parenthesized()
            return itself_where(condition) if descending else where(condition)
        if from_end := self._match(_FROM_END):
            return child(-int(from_end[1]))
        if self._peek() in {"'", '"'}:
            return self._names(descending=descending)
        return self._indexes()

    def _names(self, *, descending: bool) -> Step:
        names = self._separated(",", self._quoted)
        if len(names) == 1:
            return child(names[0])
        if descending:
            self._refuse("several names after .. are not supported; write one name, index, slice, * or filter")
        return subset(names) if _LAST_BRACKET.match(self._text, self._position) else children(names)

    def _indexes(self) -> Step:
        start = self._match(_INTEGER)
        self._skip_space()
        if self._accept(":"):
            return self._slice(int(start[0]) if start else None)
        if start is None:
            self._refuse("expected 'name', an index, a slice like 1:3, *, or a filter ?(...)")
        if not self._accept(","):
            return child(int(start[0]))
        return items((int(start[0]), *self._separated(",", self._integer)))

    def _slice(self, start: int | None) -> Step:
        self._skip_space()
        stop = self._match(_INTEGER)
        self._skip_space()
        if self._peek() == ":":
            self._refuse("a slice has no step in Step Functions; write [start:end]")
        if start is None and stop is None:
            self._refuse("a slice needs a start or an end; write [*] for all items")
        return between(start, int(stop[0]) if stop else None)

    def _parenthesized(self) -> Filter:
        self._skip_space()
        if not self._accept("("):
            self._refuse("expected (: a filter is written [?(@.field == 'value')]")
        condition = self._any_of()
        if not self._accept(")"):
            self._refuse("expected ), && or ||")
        return condition

    def _any_of(self) -> Filter:
        return any_of(self._separated("||", self._all_of))

    def _all_of(self) -> Filter:
        return all_of(self._separated("&&", self._test))

    def _test(self) -> Filter:
        if self._accept("!"):
            self._skip_space()
            return negated(self._test())
        if self._peek() == "(":
            return self._parenthesized()
        if not self._accept("@"):
            self._refuse("expected @.field, which may be compared with a literal on its right")
        keys = self._relative_keys()
        self._skip_space()
        if relation := self._match(_RELATION):
            return compares(keys, relation[0], self._literal())
        if lexical := _LEXICAL.match(self._text, self._position):
            self._refuse(f"Step Functions has no operator {lexical[0]} in filters; allowed: {', '.join(RELATIONS)}")
        return exists(keys)

    def _relative_keys(self) -> tuple[Key, ...]:
        keys: list[Key] = []
        while self._peek() in {".", "["}:
            start = self._position
            step = self._bracket() if self._accept("[") else self._step_in_filter()
            if step.key is None:
                self._position = start
                self._refuse("in a filter only names and indexes may follow @")
            keys.append(step.key)
        if not keys:
            self._refuse("@ stands for objects only in Step Functions; test one of its fields: @.field")
        return tuple(keys)

    def _step_in_filter(self) -> Step:
        self._accept(".")
        return self._bracket() if self._accept("[") else self._named(_NAME_IN_FILTER)

    def _literal(self) -> Json:
        self._skip_space()
        if self._peek() in {"'", '"'}:
            return self._quoted()
        if self._peek() in {"$", "@"}:
            self._refuse("Step Functions has no filters that refer to another value; compare with a literal")
        word = self._match(_WORD)
        if word is None:
            self._refuse("expected a literal: 'text', a number, true, false or null")
        if _NUMBER.fullmatch(word[0]):
            return json.loads(word[0])
        return _CONSTANTS.get(word[0], word[0])

    def _quoted(self) -> str:
        quoted = self._match(_QUOTED)
        if quoted is None:
            self._refuse("expected a name or text between quotes, closed by the same quote")
        return _unescape(quoted[1] if quoted[1] is not None else quoted[2], controls=True)

    def _integer(self) -> int:
        integer = self._match(_INTEGER)
        if integer is None:
            self._refuse("expected an index")
        return int(integer[0])

    def _separated(self, separator: str, part: Callable[[], _Part]) -> tuple[_Part, ...]:
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

    def _refuse(self, allowed: str, feature: str | None = None) -> NoReturn:
        raise PathSyntaxError(self._text, self._position, allowed, feature=feature)


def _unescape(text: str, *, controls: bool) -> str:
    if "\\" not in text:
        return text
    named = _CONTROLS if controls else {}

    def replace(match: re.Match[str]) -> str:
        code, character = match.groups()
        return chr(int(code, 16)) if code else named.get(character, character)

    # Two \u escapes may stand for one character beyond the basic plane; UTF-16 joins them.
    return _ESCAPE.sub(replace, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
