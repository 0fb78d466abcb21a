"""Metrics as a part of log lines, which CloudWatch reads from there: no request is made for them.

What happens once is written by the one delivery that committed it, so it is counted once however often events are
delivered. A delivery that dies between the commit and the line leaves that out.

Source: Amazon CloudWatch User Guide, "Specification: Embedded metric format".
"""

from collections.abc import Mapping
from functools import lru_cache

from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.ir import Json, Task, Workflow
from unum_runtime.model.metrics import NAMESPACE, NODE, TIMES, WORKFLOW, Metrics, NodeMetric, WorkflowMetric, dimension

THROTTLED = "Lambda.TooManyRequestsException"
"""What an event came to that Lambda has thrown away because it could run no more of the function.

Source: AWS Step Functions Developer Guide, "Handle Lambda service exceptions".
"""

_ENDS = {
    "SUCCEEDED": WorkflowMetric.SUCCEEDED,
    "FAILED": WorkflowMetric.FAILED,
    "TIMED_OUT": WorkflowMetric.TIMED_OUT,
}

_ALWAYS = {
    "started": WorkflowMetric.STARTED,
    "put off": WorkflowMetric.THROTTLES,
    "silent": WorkflowMetric.SILENT,
}
"""What messages count that always count."""

_Counts = dict[str, int]


@dataclass(frozen=True)
class EmbeddedMetrics:
    """Makes the log lines of a workflow count.

    Attributes:
        workflow: the workflow.
        extent: how much is counted, as in `Metrics`.
        clock: tells the time.
    """

    workflow: Workflow
    extent: str
    clock: Clock

    def members(self, message: str, fields: Mapping[str, Json]) -> dict[str, Json]:
        """What the line `message` with `fields` has to say beside; nothing where it counts nothing."""
        if self.extent == Metrics.NONE:
            return {}
        of_workflow = _of_workflow(message, fields)
        of_node = self._of_node(message, fields) if self.extent == Metrics.NODES else {}
        if not of_workflow and not of_node:
            return {}
        counts: dict[str, Json] = {WORKFLOW: self.workflow.name, **of_workflow, **of_node}
        if of_node:
            counts[NODE] = dimension(fields["state"])
        sets = ((WORKFLOW,), tuple(of_workflow)), ((WORKFLOW, NODE), tuple(of_node))
        directives = [_directive(dimensions, names) for dimensions, names in sets if names]
        return {**counts, "_aws": {"Timestamp": self.clock.now_ms(), "CloudWatchMetrics": directives}}

    def _of_node(self, message: str, fields: Mapping[str, Json]) -> _Counts:
        if message == "retried":
            return {NodeMetric.RETRIES: 1}
        if message not in ("committed", "passed on"):
            return {}
        if not isinstance(self.workflow.states.get(fields["state"]), Task):
            return {}
        counts: _Counts = {NodeMetric.TIME: fields["duration_ms"]}
        return counts | {NodeMetric.ERRORS: 1} if "error" in fields else counts


def _of_workflow(message: str, fields: Mapping[str, Json]) -> _Counts:
    match message:
        case "committed" if "ended" in fields:
            return {_ENDS[fields["ended"]]: 1, WorkflowMetric.TIME: fields["took_ms"]}
        case "finished" if fields["status"] == "ABORTED":  # committed by whoever stopped it, and met by a delivery
            return {WorkflowMetric.ABORTED: 1}
        case "given up" if fields["error"] == THROTTLED:
            return {WorkflowMetric.THROTTLES: 1}
    return {_ALWAYS[message]: 1} if message in _ALWAYS else {}


@lru_cache(maxsize=64)
def _directive(dimensions: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Json]:
    """What CloudWatch is to read from a line: one object for all lines, which only are written."""
    metrics = [{"Name": name, "Unit": "Milliseconds" if name in TIMES else "Count"} for name in names]
    return {"Namespace": NAMESPACE, "Dimensions": [[*dimensions]], "Metrics": metrics}
