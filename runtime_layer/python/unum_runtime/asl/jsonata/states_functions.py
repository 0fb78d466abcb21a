"""JSONata functions of Step Functions, and JSONata's functions of time and random numbers.

Source: AWS Step Functions Developer Guide, "JSONata functions provided by Step Functions". Open questions follow
observed behaviour: a range of one value is that value, a step of zero gives nothing, sizes round towards zero.
"""

import hashlib
import random
import uuid
from collections.abc import Callable
from itertools import islice
from typing import Any

from unum_runtime.asl.jsonata.evaluation_limits import MAX_ITEMS, current
from unum_runtime.asl.jsonata.library import JException, Jsonata, Utils
from unum_runtime.asl.jsonata.pictures import from_millis
from unum_runtime.asl.jsonata.values import to_library
from unum_runtime.json_text import parse_foreign

_ALGORITHMS = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
_FAILED = "D3137"
"""JSONata's code of errors with their own message."""

_NO_MATCH = "T0410"
"""JSONata's code of an argument that does not match the signature."""


class Function(Jsonata.JFunction):  # type: ignore[misc] # the library has no types
    """Function for expressions, implemented in Python; undefined arguments are None.

    Attributes:
        name: name without ``$``.
        signature: JSONata signature, such as ``<s-n?:s>``.
        implementation: Python function with the parameters of the signature.
    """

    def __init__(self, name: str, signature: str, implementation: Callable[..., Any]) -> None:
        super().__init__(Jsonata.JLambda(implementation), signature)
        self.function_name = name
        self.signature.set_function_name(name)

    def validate(self, args: Any, context: Any) -> Any:
        """Validate like the library, but reject null as AWS does; the library treats null as missing."""
        for position, argument in enumerate(args, 1):
            if argument is Utils.NULL_VALUE:
                raise JException(_NO_MATCH, -1, position, self.function_name)
        return super().validate(args, context)

    def get_number_of_args(self) -> int:
        """Return the number of parameters, needed for partial application."""
        return int(self.signature.get_number_of_args())


def partition(items: list[Any] | None, size: float | None) -> list[Any] | None:
    """Implement ``$partition``: arrays of `size` items, the last array maybe shorter."""
    if size is not None and size < 0 and int(size) != 0:
        raise _failure("Second argument must be zero or greater")
    if not items or size is None:
        return [items] if items else None
    rest, whole = iter(items), int(size)
    return [list(islice(rest, whole)) for _ in range(0, len(items), whole)] if whole else None


def stepped_range(first: float | None, last: float | None, step: float | None) -> list[int] | int | None:
    """Implement ``$range``: every step-th integer from `first` to `last`, both inclusive."""
    if first is None or last is None or step is None or int(step) == 0:
        return None
    numbers = range(int(first), int(last) + (1 if step > 0 else -1), int(step))
    if len(numbers) > MAX_ITEMS:
        raise _failure(f"A range has at most {MAX_ITEMS} items, got {len(numbers)}")
    current().charge_range(len(numbers))
    return numbers[0] if len(numbers) == 1 else list(numbers) or None


def digest(text: str | None, algorithm: str | None) -> str | None:
    """Implement ``$hash``: digest in hexadecimal digits."""
    if text is None or algorithm is None:
        return None
    if algorithm not in _ALGORITHMS:
        raise _failure(f"Invalid hashing algorithm '{algorithm}'; allowed: {', '.join(_ALGORITHMS)}")
    return hashlib.new(_ALGORITHMS[algorithm], text.encode(), usedforsecurity=False).hexdigest()


def parse(text: str | None) -> Any:
    """Implement ``$parse``: value of a JSON text."""
    if text is None:
        return None
    try:
        value = parse_foreign(text, pairs=_unique)
    except ValueError as error:
        raise _failure(f"Invalid JSON: {error}") from None
    return to_library(value)


def random_functions(seed: str) -> dict[str, Function]:
    """Return the functions of random numbers, all from one source with `seed`."""
    source = random.Random(seed)  # noqa: S311 - repeatable on purpose, never used for secrets
    return {
        "random": Function("random", "<n?:n>", lambda own: source.random() if own is None else java_random(int(own))),
        "uuid": Function("uuid", "<:s>", lambda: str(uuid.UUID(int=source.getrandbits(128), version=4))),
        "shuffle": Function("shuffle", "<a:a>", lambda items: items and source.sample(items, len(items))),
    }


def time_functions(now_ms: int) -> dict[str, Function]:
    """Return the functions of time, which always return the same time."""
    return {
        "now": Function("now", "<s?s?:s>", lambda picture, zone: from_millis(now_ms, picture, zone)),
        "millis": Function("millis", "<:n>", lambda: now_ms),
    }


def java_random(seed: int) -> float:
    """Implement ``$random`` with a seed: first `nextDouble` of Java's `java.util.Random`, as in AWS."""
    state = (seed ^ 0x5DEECE66D) & _BITS
    high = _next(state)
    low = _next(high)
    return ((high >> 22 << 27) + (low >> 21)) / (1 << 53)


PURE = {
    function.function_name: function
    for function in (
        Function("partition", "<an?:a>", partition),
        Function("range", "<nnn?:x>", stepped_range),
        Function("hash", "<ss?:s>", digest),
        Function("parse", "<s?:x>", parse),
    )
}
"""Functions that depend on their arguments only."""

IMPURE = frozenset({"now", "millis", "random", "uuid", "shuffle"})
"""Names of the functions of `time_functions` and `random_functions`."""

_BITS = (1 << 48) - 1


def _next(state: int) -> int:
    return (state * 0x5DEECE66D + 0xB) & _BITS


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("expected one value for each field, got two")
    return found


def _failure(message: str) -> JException:
    return JException(_FAILED, -1, message)
