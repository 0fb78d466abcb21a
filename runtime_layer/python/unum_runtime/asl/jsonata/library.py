"""Imports from the package jsonata-python; only this module imports it, and no module imports this one at top level.

At import, the package raises the recursion limit of the process. It also stores the current expression of a thread in a
variable that all its users share. Neither may affect user code in the same process.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_LIMIT = sys.getrecursionlimit()

try:
    from jsonata.datetimeutils import DateTimeUtils
    from jsonata.functions import Functions  # noqa: E402, RUF100 - the limit must be read before
    from jsonata.jexception import JException
    from jsonata.jsonata import Jsonata
    from jsonata.parser import Parser
    from jsonata.regex_engine import RegexFlags
    from jsonata.signature import Signature
    from jsonata.utils import Utils
except ModuleNotFoundError as error:
    if error.name != "jsonata":
        raise
    remedy = (
        "JSONata states need the package jsonata-python; install unum-runtime[jsonata], or unum-constructs[jsonata]"
    )
    raise ModuleNotFoundError(remedy, name=error.name) from None
finally:
    sys.setrecursionlimit(_LIMIT)

__all__ = [
    "DateTimeUtils",
    "Functions",
    "JException",
    "Jsonata",
    "Node",
    "Parser",
    "RegexFlags",
    "Signature",
    "Utils",
    "isolate",
]

Node = Parser.Symbol
"""Node of a syntax tree, and a function at run time."""

_DEEP = 10_000
"""Python frames for an evaluation of depth `engine.MAX_DEPTH`, with a reserve."""


@contextmanager
def isolate() -> Iterator[None]:
    """Raise the recursion limit, and restore it and the library's current expression of this thread afterwards."""
    limit = sys.getrecursionlimit()
    current = vars(Jsonata.CURRENT).get("jsonata")
    sys.setrecursionlimit(max(limit, _DEEP))
    try:
        yield
    finally:
        vars(Jsonata.CURRENT).pop("jsonata", None)
        if current is not None:
            Jsonata.CURRENT.jsonata = current
        sys.setrecursionlimit(limit)
