"""AWS CDK constructs for workflows of Lambda functions that orchestrate themselves.

Names are imported on first use (PEP 562), so that the compiler and the command line start without the CDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unum_compiler.compatibility import Compatibility
    from unum_compiler.memoization import Memoization
    from unum_compiler.options import FunctionOptions
    from unum_constructs.definition import Definition
    from unum_constructs.errors import ConstructError
    from unum_constructs.function import UnumFunction
    from unum_constructs.grants import IUnumWorkflow
    from unum_constructs.layer.opentelemetry import OpenTelemetry
    from unum_constructs.payload import Payload
    from unum_constructs.resources.upgrades import Keep, OnRemoved
    from unum_constructs.store import Store
    from unum_constructs.sweep import Sweep
    from unum_constructs.targets import UnumScheduleTarget, UnumSignalTarget, UnumWorkflowTarget, start_by_messages
    from unum_constructs.workflow import UnumWorkflow
    from unum_runtime.model.envelope import start_event
    from unum_runtime.model.ir import Collection
    from unum_runtime.model.log_level import LogLevel
    from unum_runtime.model.metrics import Metrics, NodeMetric, WorkflowMetric
    from unum_runtime.model.states import Guard, MemoScope

__all__ = [
    "Collection",
    "Compatibility",
    "ConstructError",
    "Definition",
    "FunctionOptions",
    "Guard",
    "IUnumWorkflow",
    "Keep",
    "LogLevel",
    "MemoScope",
    "Memoization",
    "Metrics",
    "NodeMetric",
    "OnRemoved",
    "OpenTelemetry",
    "Payload",
    "Store",
    "Sweep",
    "UnumFunction",
    "UnumScheduleTarget",
    "UnumSignalTarget",
    "UnumWorkflow",
    "UnumWorkflowTarget",
    "WorkflowMetric",
    "start_by_messages",
    "start_event",
]

_MODULES = {
    "Collection": "unum_runtime.model.ir",
    "Compatibility": "unum_compiler.compatibility",
    "ConstructError": "unum_constructs.errors",
    "Definition": "unum_constructs.definition",
    "FunctionOptions": "unum_compiler.options",
    "Guard": "unum_runtime.model.states",
    "IUnumWorkflow": "unum_constructs.grants",
    "Keep": "unum_constructs.resources.upgrades",
    "LogLevel": "unum_runtime.model.log_level",
    "MemoScope": "unum_runtime.model.states",
    "Memoization": "unum_compiler.memoization",
    "Metrics": "unum_runtime.model.metrics",
    "NodeMetric": "unum_runtime.model.metrics",
    "OnRemoved": "unum_constructs.resources.upgrades",
    "OpenTelemetry": "unum_constructs.layer.opentelemetry",
    "Payload": "unum_constructs.payload",
    "Store": "unum_constructs.store",
    "Sweep": "unum_constructs.sweep",
    "UnumFunction": "unum_constructs.function",
    "UnumScheduleTarget": "unum_constructs.targets",
    "UnumWorkflow": "unum_constructs.workflow",
    "UnumSignalTarget": "unum_constructs.targets",
    "UnumWorkflowTarget": "unum_constructs.targets",
    "start_by_messages": "unum_constructs.targets",
    "WorkflowMetric": "unum_runtime.model.metrics",
    "start_event": "unum_runtime.model.envelope",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
