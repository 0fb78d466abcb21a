"""Memory and timeouts of Lambda functions, shared by the constructs and the cost estimate."""

from unum_runtime.model.called_functions import calls_function
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Form

DEFAULT_MEMORY_MB, DEFAULT_TIMEOUT_S = 128, 3
"""Lambda's own defaults. Source: AWS Lambda API Reference, "CreateFunction", MemorySize and Timeout."""

ALLOWED_MB, ALLOWED_S = range(128, 10_240 + 1), range(1, 900 + 1)
"""Memory and timeout. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

FUNCTION_MB, FUNCTION_TIMEOUT_S = 256, 30
"""Defaults of `UnumFunction`. With less memory, Lambda's share of a CPU makes cold starts of Python take seconds."""

# An entry function invokes all branches of a fan-out by itself: half the memory takes twice as long and costs the same.
OWN_FUNCTION_MB = 512
"""Memory of the functions that a workflow brings along: entry, service function, failure handler, timer, forwarder."""

CALLER_MB = 128
"""Memory of a service function that only calls Lambda functions: it waits most of the time, which costs by memory."""

SERVICES_TIMEOUT_S = ALLOWED_S[-1]
"""Timeout of the service function: a called service may take as long to answer as a Lambda function may run."""

FAILURE_HANDLER_TIMEOUT_S = 300
"""Timeout of the failure handler, which may invoke all branches of a fan-out and retry throttled requests to Lambda."""

FORWARDER_TIMEOUT_S = 30
"""Timeout of the function behind the timer queue, which forwards due events."""


def service_memory_mb(workflow: Workflow) -> int:
    """Return the memory of the service function of `workflow`."""
    services = (task for task in workflow.tasks if task.form is Form.SERVICE)
    return CALLER_MB if all(map(calls_function, services)) else OWN_FUNCTION_MB
