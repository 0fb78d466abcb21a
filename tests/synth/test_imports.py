"""Modules that the package loads, and their moment."""

import subprocess
import sys

import pytest

import unum_constructs


@pytest.mark.parametrize("module", ["unum_constructs", "unum_compiler", "unum_compiler.definition", "unum_cli.main"])
def test_the_cdk_is_not_loaded(module: str) -> None:
    code = f"import sys, {module}; print(sorted({{'aws_cdk', 'constructs', 'jsii', 'boto3'}} & sys.modules.keys()))"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert completed.stdout == "[]\n"


def test_public_names() -> None:
    assert unum_constructs.__all__ == [
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
    for name in unum_constructs.__all__:
        assert getattr(unum_constructs, name).__name__ == name
    assert dir(unum_constructs) == unum_constructs.__all__


def test_other_names() -> None:
    with pytest.raises(AttributeError, match=r"module 'unum_constructs' has no attribute 'Other'"):
        _ = unum_constructs.Other
