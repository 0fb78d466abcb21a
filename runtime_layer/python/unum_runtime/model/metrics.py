"""Names of a workflow's CloudWatch metrics, shared by the runtime, dashboards and alarms."""

from enum import StrEnum

NAMESPACE = "Unum"
"""Namespace of all metrics."""

WORKFLOW, NODE = "Workflow", "Node"
"""Dimensions: the name of a workflow, and the name of a Task in it."""


class Metrics(StrEnum):
    """Selection of metrics. CloudWatch bills each metric with data in a month: see ``docs/metrics.md``."""

    NONE = "none"
    """No metrics."""

    WORKFLOW = "workflow"
    """Metrics of executions: up to seven per workflow, and more if a sweep finds something or events are late."""

    NODES = "nodes"
    """Metrics of executions and of each Task: up to three more per Task."""


class WorkflowMetric(StrEnum):
    """Metrics of executions."""

    STARTED = "ExecutionsStarted"
    SUCCEEDED = "ExecutionsSucceeded"
    FAILED = "ExecutionsFailed"
    TIMED_OUT = "ExecutionsTimedOut"
    ABORTED = "ExecutionsAborted"

    TIME = "ExecutionTime"
    """Time from the start to the commit that ended the execution, in milliseconds."""

    THROTTLES = "Throttles"
    """Deliveries that Lambda repeats, because the table, Lambda or a queue refused a request or another client holds
    the lease on a start; and events that Lambda dropped for lack of concurrency."""

    SILENT = "ExecutionsSilent"
    """Stalled executions that a sweep found."""

    LATE = "LateEvents"
    """Events that arrived after the last moment of their execution; they have no effect."""

    ABANDONED = "ExecutionsAbandoned"
    """Executions without an end when their last moment had passed; a sweep ends them."""

    OLDEST_RUNNING = "OldestRunningTime"
    """Time since the start of the oldest running execution that a sweep looked at, in milliseconds."""

    DEAD_LETTERS = "DeadLetters"
    """Letters that a sweep left in the failure queue; each sweep counts them again."""

    REFUSED_MESSAGES = "RefusedMessages"
    """Messages in the timer queue that are no events of the workflow; they become dead letters at once."""

    MALFORMED = "MalformedEntries"
    """Entries in the list of executions that are none of the workflow's own, and executions that cannot be read; each
    sweep counts them again."""

    LETTERS_RETRIED = "LettersRetried"
    """Letters of the failure queue that a sweep delivered again with success."""


class NodeMetric(StrEnum):
    """Metrics of a Task."""

    TIME = "NodeTime"
    """Duration of the attempt with the committed outcome, in milliseconds."""

    ERRORS = "NodeErrors"
    """Failed outcomes, including those that a catcher handles."""

    RETRIES = "NodeRetries"
    """Failed attempts before another attempt."""


TIMES: frozenset[str] = frozenset({WorkflowMetric.TIME, WorkflowMetric.OLDEST_RUNNING, NodeMetric.TIME})
"""Metrics in milliseconds; all others are counts."""


def dimension(name: str) -> str:
    """Escape `name` as a dimension value: printable ASCII, not only spaces, without a leading colon.

    Source: Amazon CloudWatch API Reference, "Dimension".
    """
    # CloudWatch refuses metrics with an invalid dimension value; state names may contain any character.
    text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in name)
    is_refused = text.startswith(":") or text.isspace()
    return (rf"\{text}" if is_refused else text).encode("ascii", "backslashreplace").decode()
