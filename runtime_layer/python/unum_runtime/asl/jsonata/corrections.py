"""JSONata's functions as expressions call them: corrected where the library deviates, and with their work counted.

Sources: https://docs.jsonata.org, and the reference implementation, JSONata 2.0.6, for open questions.
"""

from collections.abc import Callable, Mapping
from typing import Any

from unum_runtime.asl.jsonata import array_functions, dates, number_functions, text_functions
from unum_runtime.asl.jsonata.evaluation_limits import CALL, COPY, VISIT, current
from unum_runtime.asl.jsonata.failures import NO_MATCH, Failure
from unum_runtime.asl.jsonata.library import Functions, JException, Jsonata, Signature, Utils
from unum_runtime.asl.jsonata.limited_functions import join, join_arrays, pad
from unum_runtime.asl.jsonata.matching import contains, match, replace, split
from unum_runtime.asl.jsonata.navigation import keys, lookup, spread
from unum_runtime.asl.jsonata.number_pictures import format_number
from unum_runtime.asl.jsonata.states_functions import Function
from unum_runtime.asl.jsonata.string_form import to_string

_COPYING = frozenset(
    {"append", "count", "exists", "type", "reverse", "zip", "keys", "lookup", "spread", "boolean", "not"}
)
"""Functions without a loop in Python over their arrays, or whose loop counts its own work."""

_ARITIES: Mapping[str, int] = {
    **dict.fromkeys(("zip",), 0),
    **dict.fromkeys(("error",), 1),
    **dict.fromkeys(("substringBefore", "substringAfter", "contains", "join", "formatBase", "formatInteger"), 2),
    **dict.fromkeys(("parseInteger", "round", "power", "single", "sift", "each", "lookup", "assert", "sort"), 2),
    **dict.fromkeys(("toMillis",), 2),
    **dict.fromkeys(("substring", "pad", "match", "split", "formatNumber", "reduce", "fromMillis"), 3),
    **dict.fromkeys(("replace",), 4),
}
"""Arguments that ``$map`` and its like give to a function, where they are not the required ones of its signature."""


class _Builtin(Jsonata.JFunction):  # type: ignore[misc] # the library has no types
    """Library function that counts work, accepts null values, converts Python errors."""

    def __init__(self, native: Any) -> None:
        super().__init__(native.function, None)
        self.function_name = native.function_name
        self.signature = _Signature(native.signature, _ARITIES.get(native.function_name))
        self._native = native
        self._item = COPY if native.function_name in _COPYING else VISIT

    def validate(self, args: Any, context: Any) -> Any:
        self._spend(args)
        return _Validated(super().validate(args, context))

    def call(self, input: Any, args: Any) -> Any:  # noqa: A002 - the library's parameter name
        """Call the function, after validation of arguments that come from ``$map`` and other functions.

        Raises:
            JException: the function fails, in Python's words too.
        """
        validated = args if isinstance(args, _Validated) else self.validate(args, Utils.NULL_VALUE)
        try:
            return self._native.call(input, validated)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            text = f"The function ${self.function_name} cannot be evaluated with these arguments"
            raise Failure(NO_MATCH, text) from None

    def get_number_of_args(self) -> int:
        return int(self._native.get_number_of_args())

    def _spend(self, args: list[Any]) -> None:
        """Count work: one function call, plus reading its arguments."""
        work = CALL
        for argument in args:
            if isinstance(argument, str):
                work += len(argument)
            elif isinstance(argument, list | dict):
                work += self._item * len(argument)
        current().spend(work)


class _Validated(list[Any]):
    """Arguments that match the function's signature."""


class _Signature(Signature):  # type: ignore[misc] # the library has no types
    """Copy of a parsed library signature with null as a separate type."""

    def __init__(self, parsed: Signature, arity: int | None) -> None:
        self.__dict__.update(vars(parsed))
        self._arity = arity

    def get_symbol(self, value: Any) -> str:
        return "l" if value is Utils.NULL_VALUE else str(super().get_symbol(value))

    def get_min_number_of_args(self) -> int:
        """Return the number of arguments that ``$map`` and its like give."""
        return int(super().get_min_number_of_args()) if self._arity is None else self._arity


def builtin(name: str) -> Any:
    """Return JSONata's function `name`, without ``$``; None for unknown names."""
    if name in CORRECTED:
        return CORRECTED[name]
    native = Jsonata.static_frame.bindings.get(name)
    return None if native is None else _Builtin(native)


def _error(message: str | None) -> Any:
    return Functions.error(message or None)


def _assert(condition: bool | None, message: str | None) -> None:  # noqa: FBT001 - a parameter of ``$assert``
    if not condition:
        raise JException("D3141", -1, message or "$assert() statement failed")


def _function(name: str, signature: str, implementation: Callable[..., Any]) -> _Builtin:
    return _Builtin(Function(name, signature, implementation))


CORRECTED: dict[str, _Builtin] = {
    name: _function(name, signature, implementation)
    for name, signature, implementation in (
        ("string", "<x-b?:s>", to_string),
        ("substring", "<s-nn?:s>", text_functions.substring),
        ("lowercase", "<s-:s>", text_functions.lowercase),
        ("contains", "<s-(sf):b>", contains),
        ("match", "<s-f<s:o>n?:a<o>>", match),
        ("replace", "<s-(sf)(sf)n?:s>", replace),
        ("split", "<s-(sf)n?:a<s>>", split),
        ("pad", "<s-ns?:s>", pad),
        ("join", "<a<s>s?:s>", join),
        ("base64encode", "<s-:s>", text_functions.base64_encode),
        ("base64decode", "<s-:s>", text_functions.base64_decode),
        ("encodeUrl", "<s-:s>", text_functions.encode_url),
        ("encodeUrlComponent", "<s-:s>", text_functions.encode_url_component),
        ("decodeUrl", "<s-:s>", text_functions.decode_url),
        ("decodeUrlComponent", "<s-:s>", text_functions.decode_url_component),
        ("sum", "<a<n>:n>", number_functions.total),
        ("average", "<a<n>:n>", number_functions.average),
        ("max", "<a<n>:n>", number_functions.largest),
        ("min", "<a<n>:n>", number_functions.smallest),
        ("number", "<(nsb)-:n>", number_functions.number),
        ("floor", "<n-:n>", number_functions.floor),
        ("ceil", "<n-:n>", number_functions.ceil),
        ("abs", "<n-:n>", number_functions.absolute),
        ("sqrt", "<n-:n>", number_functions.square_root),
        ("power", "<n-n:n>", number_functions.power),
        ("round", "<n-n?:n>", number_functions.round_half_even),
        ("formatBase", "<n-n?:s>", number_functions.format_base),
        ("formatNumber", "<n-so?:s>", format_number),
        ("formatInteger", "<n-s:s>", dates.format_integer),
        ("parseInteger", "<s-s:n>", dates.parse_integer),
        ("fromMillis", "<n-s?s?:s>", dates.from_millis),
        ("type", "<x:s>", array_functions.type_name),
        ("boolean", "<x-:b>", array_functions.boolean),
        ("not", "<x-:b>", array_functions.negation),
        ("sort", "<af?:a>", array_functions.sort),
        ("distinct", "<x:x>", array_functions.distinct),
        ("filter", "<af>", array_functions.select),
        ("single", "<af?>", array_functions.single),
        ("sift", "<o-f?:o>", array_functions.sift),
        ("merge", "<a<o>:o>", array_functions.merge),
        ("clone", "<(oa)-:o>", array_functions.clone),
        ("zip", "<a+>", join_arrays),
        ("keys", "<x-:a<s>>", keys),
        ("lookup", "<x-s:x>", lookup),
        ("spread", "<x-:a<o>>", spread),
        ("error", "<s?:x>", _error),
        ("assert", "<bs?:x>", _assert),
    )
}
"""Corrected functions by name, without ``$``."""


def to_millis(now_ms: int) -> _Builtin:
    """Return ``$toMillis`` of an execution at `now_ms`."""
    return _function("toMillis", "<s-s?:n>", dates.to_millis(now_ms))
