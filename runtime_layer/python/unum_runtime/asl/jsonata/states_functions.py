"""Functions of Step Functions for JSONata, and those of JSONata that ask for the time or for chance.

Source: AWS Step Functions Developer Guide, "JSONata functions provided by Step Functions". What it leaves open (a range
of one value is that value, a step of zero gives nothing, sizes round towards zero) is what AWS was seen to do.
"""

import hashlib
import json
import random
import uuid
from collections.abc import Callable
from itertools import islice
from typing import Any

from unum_runtime.asl.jsonata.library import JException, Jsonata, Utils
from unum_runtime.asl.jsonata.values import inward

MAX_ITEMS = 1_000_000
"""Items that a range may have; AWS refuses ten million as well, and runs out of memory below that."""

_ALGORITHMS = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
_FAILED = "D3137"
"""JSONata's code for errors that bring their own message."""

_NO_MATCH = "T0410"
"""JSONata's code for an argument that does not fit the signature."""


class Function(Jsonata.JFunction):  # type: ignore[misc] # the library has no types
    """A function of ours for expressions; undefined arguments are None.

    Attributes:
        name: without ``$``.
        signature: as JSONata writes signatures, such as ``<s-n?:s>``.
        implementation: has as many parameters as the signature.
    """

    def __init__(self, name: str, signature: str, implementation: Callable[..., Any]) -> None:
        super().__init__(Jsonata.JLambda(implementation), signature)
        self.function_name = name
        self.signature.set_function_name(name)

    def validate(self, args: Any, context: Any) -> Any:
        """As the library does, which takes null for an argument that is not there; AWS does not."""
        for position, argument in enumerate(args, 1):
            if argument is Utils.NULL_VALUE:
                raise JException(_NO_MATCH, -1, position, self.function_name)
        return super().validate(args, context)

    def get_number_of_args(self) -> int:
        """How many there may be; the library asks when a function is applied in part."""
        return int(self.signature.get_number_of_args())


def partition(items: list[Any] | None, size: float | None) -> list[Any] | None:
    """``$partition``: `items` in arrays of `size`, the last of which may be shorter."""
    if size is not None and size < 0 and int(size) != 0:
        raise _failure("Second argument must be zero or greater")
    if not items or size is None:
        return [items] if items else None
    rest, whole = iter(items), int(size)
    return [list(islice(rest, whole)) for _ in range(0, len(items), whole)] if whole else None


def stepped_range(first: float | None, last: float | None, step: float | None) -> list[int] | int | None:
    """``$range``: every step-th integer from `first` to `last`, both included."""
    if first is None or last is None or step is None or int(step) == 0:
        return None
    numbers = range(int(first), int(last) + (1 if step > 0 else -1), int(step))
    if len(numbers) > MAX_ITEMS:
        raise _failure(f"A range has at most {MAX_ITEMS} items; got {len(numbers)}")
    return numbers[0] if len(numbers) == 1 else list(numbers) or None


def digest(text: str | None, algorithm: str | None) -> str | None:
    """``$hash``: in hexadecimal digits."""
    if text is None or algorithm is None:
        return None
    if algorithm not in _ALGORITHMS:
        raise _failure(f"Invalid hashing algorithm '{algorithm}'; allowed: {', '.join(_ALGORITHMS)}")
    return hashlib.new(_ALGORITHMS[algorithm], text.encode(), usedforsecurity=False).hexdigest()


def parse(text: str | None) -> Any:
    """``$parse``: the value that the JSON text stands for."""
    if text is None:
        return None
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refused, parse_float=_finite)
    except ValueError as error:
        raise _failure(f"Invalid JSON: {error}") from None
    return inward(value)


def chance(seed: str) -> dict[str, Function]:
    """The functions that draw numbers, all from one row that begins at `seed`."""
    row = random.Random(seed)  # noqa: S311 - to be repeatable is the point; nothing secret is made of it
    return {
        "random": Function("random", "<n?:n>", lambda own: row.random() if own is None else drawn(int(own))),
        "uuid": Function("uuid", "<:s>", lambda: str(uuid.UUID(int=row.getrandbits(128), version=4))),
        "shuffle": Function("shuffle", "<a:a>", lambda items: items and row.sample(items, len(items))),
    }


def time(now_ms: int) -> dict[str, Function]:
    """The functions that tell the time, for which it stands still."""
    written = Jsonata.static_frame.lookup("fromMillis")
    return {
        "now": Function("now", "<s?s?:s>", lambda picture, zone: written.call(None, [now_ms, picture, zone])),
        "millis": Function("millis", "<:n>", lambda: now_ms),
    }


def drawn(seed: int) -> float:
    """``$random`` with a seed: the first number of Java's generator, which AWS uses (java.util.Random, nextDouble)."""
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
"""Those whose result follows from their arguments."""

IMPURE = frozenset({"now", "millis", "random", "uuid", "shuffle"})
"""Names of those of `time` and `chance`."""

_BITS = (1 << 48) - 1


def _next(state: int) -> int:
    return (state * 0x5DEECE66D + 0xB) & _BITS


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field has two values")
    return found


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if abs(number) != float("inf") else _refused(text)


def _failure(message: str) -> JException:
    return JException(_FAILED, -1, message)
