"""AWS CDK constructs for workflows of Lambda functions that orchestrate themselves.

Names are imported on first use (PEP 562), so that the compiler and the command line start without the CDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unum_compiler.compatibility import Compatibility
    from unum_compiler.memoization import Memoization
    from unum_compiler.options import FunctionOptions
    from unum_constructs.control_plane import UnumControlPlane
    from unum_constructs.definition import Definition
    from unum_constructs.errors import ConstructError
    from unum_constructs.function import UnumFunction
    from unum_constructs.grants import IUnumWorkflow
    from unum_constructs.layer.opentelemetry import OpenTelemetry
    from unum_constructs.options.delivery import Delivery
    from unum_constructs.options.execution_data import ExecutionData
    from unum_constructs.options.limits import Limits
    from unum_constructs.options.monitoring import Monitoring
    from unum_constructs.options.stack_outputs import Outputs
    from unum_constructs.payload import Payload
    from unum_constructs.resources.own_functions import OwnFunctions
    from unum_constructs.resources.upgrades import Keep, OnRemoved, Upgrades
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
    "Delivery",
    "ExecutionData",
    "FunctionOptions",
    "Guard",
    "IUnumWorkflow",
    "Keep",
    "Limits",
    "LogLevel",
    "MemoScope",
    "Memoization",
    "Metrics",
    "Monitoring",
    "NodeMetric",
    "OnRemoved",
    "OpenTelemetry",
    "Outputs",
    "OwnFunctions",
    "Payload",
    "Store",
    "Sweep",
    "UnumControlPlane",
    "UnumFunction",
    "UnumScheduleTarget",
    "UnumSignalTarget",
    "UnumWorkflow",
    "UnumWorkflowTarget",
    "Upgrades",
    "WorkflowMetric",
    "start_by_messages",
    "start_event",
]

_MODULES = {
    "Collection": "unum_runtime.model.ir",
    "Compatibility": "unum_compiler.compatibility",
    "ConstructError": "unum_constructs.errors",
    "Definition": "unum_constructs.definition",
    "Delivery": "unum_constructs.options.delivery",
    "ExecutionData": "unum_constructs.options.execution_data",
    "FunctionOptions": "unum_compiler.options",
    "Guard": "unum_runtime.model.states",
    "IUnumWorkflow": "unum_constructs.grants",
    "Keep": "unum_constructs.resources.upgrades",
    "Limits": "unum_constructs.options.limits",
    "LogLevel": "unum_runtime.model.log_level",
    "MemoScope": "unum_runtime.model.states",
    "Memoization": "unum_compiler.memoization",
    "Metrics": "unum_runtime.model.metrics",
    "Monitoring": "unum_constructs.options.monitoring",
    "NodeMetric": "unum_runtime.model.metrics",
    "OnRemoved": "unum_constructs.resources.upgrades",
    "OpenTelemetry": "unum_constructs.layer.opentelemetry",
    "Outputs": "unum_constructs.options.stack_outputs",
    "OwnFunctions": "unum_constructs.resources.own_functions",
    "Payload": "unum_constructs.payload",
    "Store": "unum_constructs.store",
    "Sweep": "unum_constructs.sweep",
    "UnumControlPlane": "unum_constructs.control_plane",
    "UnumFunction": "unum_constructs.function",
    "UnumScheduleTarget": "unum_constructs.targets",
    "UnumSignalTarget": "unum_constructs.targets",
    "UnumWorkflow": "unum_constructs.workflow",
    "UnumWorkflowTarget": "unum_constructs.targets",
    "Upgrades": "unum_constructs.resources.upgrades",
    "WorkflowMetric": "unum_runtime.model.metrics",
    "start_by_messages": "unum_constructs.targets",
    "start_event": "unum_runtime.model.envelope",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
