"""What is counted of a workflow, be it of this app or imported, as metrics for alarms and dashboards."""

from collections.abc import Collection
from typing import TypedDict, Unpack

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from unum_constructs.errors import ConstructError
from unum_runtime.model.metrics import (
    NAMESPACE,
    NODE,
    TIMES,
    WORKFLOW,
    Metrics,
    NodeMetric,
    WorkflowMetric,
    dimension,
)


class MetricOptions(TypedDict, total=False):
    """How a metric is shown; what is not given is as the CDK has it.

    Attributes:
        account: that the metric comes from.
        color: six hexadecimal digits behind ``#``.
        label: its name in graphs.
        period: over which values are summed up; 5 minutes where it is not given.
        region: that the metric comes from.
        statistic: ``Sum`` for counts and ``Average`` for times where it is not given.
        unit: only values with this unit.
    """

    account: str
    color: str
    label: str
    period: Duration
    region: str
    statistic: str
    unit: cloudwatch.Unit


class MeteredWorkflow(Construct):
    """A workflow whose executions are counted.

    Attributes:
        workflow_name: its name, in events and in the table.
        metrics: how much is counted; None where that is not known, because the workflow is imported.
        nodes: names of its Tasks; None where they are not known.
    """

    workflow_name: str
    metrics: Metrics | None = None
    nodes: Collection[str] | None = None

    def metric(self, name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """The metric `name` of the workflow's executions, one of `WorkflowMetric`.

        Raises:
            ConstructError: nothing is counted.
        """
        if self.metrics is Metrics.NONE:
            raise ConstructError(self, f"metric {str(name)!r}: expected that executions are counted, got metrics=NONE")
        return self._metric(name, {WORKFLOW: self.workflow_name}, options)

    def metric_node(self, node: str, name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """The metric `name` of the Task `node`, one of `NodeMetric`.

        Raises:
            ConstructError: there is no such Task or no such metric, or Tasks are not counted.
        """
        if name not in [*NodeMetric]:
            raise ConstructError(
                self, f"metric of {node!r}: expected one of {[str(each) for each in NodeMetric]}, got {name!r}"
            )
        if self.metrics not in (None, Metrics.NODES):
            raise ConstructError(
                self, f"metric {str(name)!r} of {node!r}: expected metrics=NODES, got {self.metrics.name}"
            )
        if self.nodes is not None and node not in self.nodes:
            raise ConstructError(
                self, f"metric {str(name)!r}: expected one of the Tasks {sorted(self.nodes)}, got {node!r}"
            )
        return self._metric(name, {WORKFLOW: self.workflow_name, NODE: dimension(node)}, options)

    def metric_started(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How many executions were started."""
        return self.metric(WorkflowMetric.STARTED, **options)

    def metric_succeeded(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How many executions succeeded."""
        return self.metric(WorkflowMetric.SUCCEEDED, **options)

    def metric_failed(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How many executions failed."""
        return self.metric(WorkflowMetric.FAILED, **options)

    def metric_timed_out(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How many executions took longer than they may."""
        return self.metric(WorkflowMetric.TIMED_OUT, **options)

    def metric_aborted(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How many executions were stopped."""
        return self.metric(WorkflowMetric.ABORTED, **options)

    def metric_throttled(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How often an event has to be delivered again, because something did not answer or was at work on it."""
        return self.metric(WorkflowMetric.THROTTLES, **options)

    def metric_silent(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How many executions a sweep has found to stand still; each sweep counts them anew."""
        return self.metric(WorkflowMetric.SILENT, **options)

    def metric_time(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """How long executions take, from start to end, in milliseconds."""
        return self.metric(WorkflowMetric.TIME, **options)

    def _metric(self, name: str, dimensions: dict[str, str], options: MetricOptions) -> cloudwatch.Metric:
        shown: MetricOptions = {"statistic": "Average" if name in TIMES else "Sum", **options}
        return cloudwatch.Metric(namespace=NAMESPACE, metric_name=name, dimensions_map=dimensions, **shown).attach_to(
            self
        )
