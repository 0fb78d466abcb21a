"""What is counted of a workflow: under these names the runtime writes it, and dashboards and alarms ask for it."""

from enum import StrEnum

NAMESPACE = "Unum"
"""Of all metrics of all workflows."""

WORKFLOW, NODE = "Workflow", "Node"
"""Dimensions: a workflow's name, and a Task's in it."""


class Metrics(StrEnum):
    """How much is counted. Each metric that has data in a month is paid for: see ``docs/metrics.md``."""

    NONE = "none"
    """Nothing."""

    WORKFLOW = "workflow"
    """Executions: up to seven metrics a workflow, and one more with a sweep."""

    NODES = "nodes"
    """Executions, and what each Task comes to: up to three metrics a Task more."""


class WorkflowMetric(StrEnum):
    """What is counted of executions."""

    STARTED = "ExecutionsStarted"
    SUCCEEDED = "ExecutionsSucceeded"
    FAILED = "ExecutionsFailed"
    TIMED_OUT = "ExecutionsTimedOut"
    ABORTED = "ExecutionsAborted"

    TIME = "ExecutionTime"
    """From the start to the commit that ended the execution, in milliseconds."""

    THROTTLES = "Throttles"
    """Deliveries that have to come again, because the table, Lambda or a queue did not take a request, or because
    another holds a lease; and those that Lambda has thrown away because it could run no more of a function."""
    SILENT = "ExecutionsSilent"
    """Executions that a sweep has found to stand still."""


class NodeMetric(StrEnum):
    """What is counted of a Task."""

    TIME = "NodeTime"
    """How long the try took that the outcome came from, in milliseconds."""

    ERRORS = "NodeErrors"
    """Outcomes that are errors, also those that a catcher takes."""

    RETRIES = "NodeRetries"
    """Tries that failed and that another try follows."""


TIMES: frozenset[str] = frozenset({WorkflowMetric.TIME, NodeMetric.TIME})
"""Metrics in milliseconds; all others are counts."""


def dimension(name: str) -> str:
    """`name` as the value of a dimension, which is ASCII that prints, no mere space, and does not begin with a colon.

    Source: Amazon CloudWatch API Reference, "Dimension".
    """
    text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in name)
    is_refused = text.startswith(":") or text.isspace()
    return (rf"\{text}" if is_refused else text).encode("ascii", "backslashreplace").decode()
