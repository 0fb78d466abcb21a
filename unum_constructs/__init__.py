"""AWS CDK constructs for workflows of Lambda functions that orchestrate themselves.

Names are resolved when they are used (PEP 562), so that the compiler and the command line start without the CDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unum_constructs.compiler.options import FunctionOptions
    from unum_constructs.definition import Definition
    from unum_constructs.errors import ConstructError
    from unum_constructs.function import UnumFunction
    from unum_constructs.workflow import UnumWorkflow
    from unum_runtime.model.ir import Collection, Guard
    from unum_runtime.model.metrics import Metrics, NodeMetric, WorkflowMetric

__all__ = [
    "Collection",
    "ConstructError",
    "Definition",
    "FunctionOptions",
    "Guard",
    "Metrics",
    "NodeMetric",
    "UnumFunction",
    "UnumWorkflow",
    "WorkflowMetric",
]

_MODULES = {
    "Collection": "unum_runtime.model.ir",
    "ConstructError": "unum_constructs.errors",
    "Definition": "unum_constructs.definition",
    "FunctionOptions": "unum_constructs.compiler.options",
    "Guard": "unum_runtime.model.ir",
    "Metrics": "unum_runtime.model.metrics",
    "NodeMetric": "unum_runtime.model.metrics",
    "UnumFunction": "unum_constructs.function",
    "UnumWorkflow": "unum_constructs.workflow",
    "WorkflowMetric": "unum_runtime.model.metrics",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
