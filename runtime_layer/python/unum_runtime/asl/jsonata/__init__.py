"""JSONata states: expressions between ``{%`` and ``%}``, in JSONata 2 (specification, JSONata Concepts).

The language itself is the package jsonata-python, the extra ``jsonata`` of this distribution. It costs a cold start
tens of milliseconds, so `library` alone imports it, and is itself imported where the first expression is compiled.
The names of this package are resolved when they are used (PEP 562), for the same reason.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unum_runtime.asl.jsonata.check import check_expression, check_template, reads

__all__ = ["check_expression", "check_template", "reads"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from unum_runtime.asl.jsonata import check  # noqa: PLC0415 - loads the language

    return getattr(check, name)


def __dir__() -> list[str]:
    return __all__
