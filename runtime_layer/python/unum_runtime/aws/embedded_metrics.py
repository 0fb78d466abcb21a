"""CloudWatch metrics inside log lines (embedded metric format), without requests to CloudWatch.

Each commit is counted once, by the delivery that wrote it, however often Lambda redelivers the event. A delivery that
dies between commit and log line loses the count.

Source: Amazon CloudWatch User Guide, "Specification: Embedded metric format".
"""

from collections.abc import Mapping
from functools import lru_cache

from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.ir import Workflow
from unum_runtime.model.metrics import NAMESPACE, NODE, TIMES, WORKFLOW, Metrics, NodeMetric, WorkflowMetric, dimension
from unum_runtime.model.states import Json, Task

THROTTLED = "Lambda.TooManyRequestsException"
"""Error name of an event that Lambda dropped because the function had no concurrency left.
Source: AWS Step Functions Developer Guide, "Handle Lambda service exceptions"."""

_ENDS = {
    "SUCCEEDED": WorkflowMetric.SUCCEEDED,
    "FAILED": WorkflowMetric.FAILED,
    "TIMED_OUT": WorkflowMetric.TIMED_OUT,
}

_ALWAYS = {
    "started": WorkflowMetric.STARTED,
    "put off": WorkflowMetric.THROTTLES,
    "silent": WorkflowMetric.SILENT,
    "late": WorkflowMetric.LATE,
    "abandoned": WorkflowMetric.ABANDONED,
    "dead letter": WorkflowMetric.DEAD_LETTERS,
    "malformed": WorkflowMetric.MALFORMED,
    "refused message": WorkflowMetric.REFUSED_MESSAGES,
    "letter retried": WorkflowMetric.LETTERS_RETRIED,
}
"""Metrics by log message, for messages that count in every case."""

_Counts = dict[str, int]


@dataclass(frozen=True)
class EmbeddedMetrics:
    """Metric members for the log lines of one workflow.

    Attributes:
        workflow: workflow of the log lines.
        extent: selected metrics, as in `Metrics`.
        clock: source of timestamps.
    """

    workflow: Workflow
    extent: str
    clock: Clock

    def members(self, message: str, fields: Mapping[str, Json]) -> dict[str, Json]:
        """Return metric members for the log line `message` with `fields`; empty if the line counts nothing."""
        if self.extent == Metrics.NONE:
            return {}
        workflow_counts = _workflow_counts(message, fields)
        node_counts = self._node_counts(message, fields) if self.extent == Metrics.NODES else {}
        if not workflow_counts and not node_counts:
            return {}
        counts: dict[str, Json] = {WORKFLOW: self.workflow.name, **workflow_counts, **node_counts}
        if node_counts:
            counts[NODE] = dimension(fields["state"])
        sets = ((WORKFLOW,), tuple(workflow_counts)), ((WORKFLOW, NODE), tuple(node_counts))
        directives = [_directive(dimensions, names) for dimensions, names in sets if names]
        return {**counts, "_aws": {"Timestamp": self.clock.now_ms(), "CloudWatchMetrics": directives}}

    def _node_counts(self, message: str, fields: Mapping[str, Json]) -> _Counts:
        if message == "retried":
            return {NodeMetric.RETRIES: 1}
        if message not in ("committed", "passed on"):
            return {}
        if not isinstance(self.workflow.states.get(fields["state"]), Task):
            return {}
        counts: _Counts = {NodeMetric.TIME: fields["duration_ms"]}
        return counts | {NodeMetric.ERRORS: 1} if "error" in fields else counts


def _workflow_counts(message: str, fields: Mapping[str, Json]) -> _Counts:
    match message:
        case "committed" if "ended" in fields:
            return {_ENDS[fields["ended"]]: 1, WorkflowMetric.TIME: fields["took_ms"]}
        case "oldest running":
            return {WorkflowMetric.OLDEST_RUNNING: fields["age_ms"]}
        case "finished" if fields["status"] == "ABORTED":  # committed by a stop request, found by a delivery
            return {WorkflowMetric.ABORTED: 1}
        case "given up" if fields["error"] == THROTTLED:
            return {WorkflowMetric.THROTTLES: 1}
    return {_ALWAYS[message]: 1} if message in _ALWAYS else {}


@lru_cache(maxsize=64)
def _directive(dimensions: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Json]:
    """Return CloudWatch's directive for a log line, cached: one shared object, which is only written as JSON."""
    metrics = [{"Name": name, "Unit": "Milliseconds" if name in TIMES else "Count"} for name in names]
    return {"Namespace": NAMESPACE, "Dimensions": [[*dimensions]], "Metrics": metrics}
