"""AWS CDK constructs for workflows of Lambda functions that orchestrate themselves.

Names are resolved when they are used (PEP 562), so that the compiler and the command line start without the CDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unum_constructs.definition import Definition
    from unum_constructs.errors import ConstructError
    from unum_constructs.function import UnumFunction
    from unum_constructs.workflow import UnumWorkflow

__all__ = ["ConstructError", "Definition", "UnumFunction", "UnumWorkflow"]

_MODULES = {
    "ConstructError": "errors",
    "Definition": "definition",
    "UnumFunction": "function",
    "UnumWorkflow": "workflow",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
