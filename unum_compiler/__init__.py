"""Compiler from the Amazon States Language to IR, independent of the CDK.

The compiler is imported on first use, because commands that start an execution read JSON with a part of it alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unum_compiler.compile import compile_workflow, warnings_of
    from unum_compiler.frontends.from_ir import to_compiled

__all__ = ["compile_workflow", "to_compiled", "warnings_of"]

_MODULES = {"to_compiled": "unum_compiler.frontends.from_ir"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "unum_compiler.compile")), name)


def __dir__() -> list[str]:
    return __all__
