"""What is used of the package jsonata-python; nothing else imports it, and nothing imports this at its top level.

The package raises the recursion limit of the process when it is imported, and keeps the expression that a thread
evaluates in a place that all its users share. Neither may reach user code, which lives in the same process.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_LIMIT = sys.getrecursionlimit()

try:
    from jsonata.functions import Functions  # noqa: E402, RUF100 - only now is the limit known
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

__all__ = ["Functions", "JException", "Jsonata", "Node", "RegexFlags", "Signature", "Utils", "borrowed"]

Node = Parser.Symbol
"""A node of a syntax tree; a function at run time, too."""

_DEEP = 10_000
"""Frames of Python that the deepest evaluation allowed needs, and some more (`engine.MAX_DEPTH`)."""


@contextmanager
def borrowed() -> Iterator[None]:
    """Room for deep recursion, and the thread's place for an expression in use; both are given back at the end."""
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
