"""CloudWatch metrics of workflows, made by this app or imported."""

from collections.abc import Collection, Mapping
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
    """Options of a metric, those of `aws_cloudwatch.MetricOptions`; the CDK's defaults apply unless stated otherwise.

    Attributes:
        account: account of the metric.
        color: six hexadecimal digits after ``#``.
        dimensions_map: further dimensions.
        id: id in metric expressions.
        label: name in graphs.
        period: period of one value. Default: 5 minutes.
        region: region of the metric.
        stack_account: account of the stack that shows the metric.
        stack_region: region of the stack that shows the metric.
        statistic: statistic of one value. Default: ``Sum`` for counts, ``Average`` for durations, ``Maximum`` for the
            age of the oldest running execution.
        unit: unit of the values to include. Default: all.
        visible: False hides the metric in graphs.
    """

    account: str | None
    color: str | None
    dimensions_map: Mapping[str, str] | None
    id: str | None
    label: str | None
    period: Duration | None
    region: str | None
    stack_account: str | None
    stack_region: str | None
    statistic: str | None
    unit: cloudwatch.Unit | None
    visible: bool | None


class MeteredWorkflow(Construct):
    """Workflow with counted executions.

    Attributes:
        workflow_name: name in events and keys.
        metrics: level of metrics; None if unknown, because the workflow is imported.
        nodes: names of its Tasks; None if unknown.
    """

    workflow_name: str
    metrics: Metrics | None = None
    nodes: Collection[str] | None = None

    def metric(self, metric_name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the metric `metric_name` of executions, a `WorkflowMetric`.

        Raises:
            ConstructError: executions are not counted.
        """
        if self.metrics is Metrics.NONE:
            raise ConstructError(self, f"metric {str(metric_name)!r}: expected counted executions, got metrics=NONE")
        return self._metric(metric_name, {WORKFLOW: self.workflow_name}, options)

    def metric_node(self, node: str, name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the metric `name` of the Task `node`, a `NodeMetric`.

        Raises:
            ConstructError: the Task or the metric is unknown, or Tasks are not counted.
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
        """Return the number of started executions."""
        return self.metric(WorkflowMetric.STARTED, **options)

    def metric_succeeded(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of succeeded executions."""
        return self.metric(WorkflowMetric.SUCCEEDED, **options)

    def metric_failed(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of failed executions."""
        return self.metric(WorkflowMetric.FAILED, **options)

    def metric_timed_out(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of executions past their time limit."""
        return self.metric(WorkflowMetric.TIMED_OUT, **options)

    def metric_aborted(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of stopped executions."""
        return self.metric(WorkflowMetric.ABORTED, **options)

    def metric_throttled(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of throttled events, which Lambda retries.

        A service did not answer, or another client held the lease on a start.
        """
        return self.metric(WorkflowMetric.THROTTLES, **options)

    def metric_silent(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of stalled executions that a sweep found; each sweep counts them again."""
        return self.metric(WorkflowMetric.SILENT, **options)

    def metric_late(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of events that arrived after the last moment of their execution."""
        return self.metric(WorkflowMetric.LATE, **options)

    def metric_abandoned(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of executions without an end at their last moment, which a sweep ended."""
        return self.metric(WorkflowMetric.ABANDONED, **options)

    def metric_oldest_running(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the time since the start of the oldest running execution that a sweep looked at, in milliseconds.

        Sweeps leave out what started within their time of silence.
        """
        return self.metric(WorkflowMetric.OLDEST_RUNNING, **options)

    def metric_dead_letters(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of dead letters that a sweep left in the failure queue; each sweep counts them again."""
        return self.metric(WorkflowMetric.DEAD_LETTERS, **options)

    def metric_refused_messages(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of messages in the timer queue that are no events of the workflow."""
        return self.metric(WorkflowMetric.REFUSED_MESSAGES, **options)

    def metric_malformed(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of malformed entries of the list of executions that sweeps skipped."""
        return self.metric(WorkflowMetric.MALFORMED, **options)

    def metric_letters_retried(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the number of dead letters that a sweep delivered again with success."""
        return self.metric(WorkflowMetric.LETTERS_RETRIED, **options)

    def metric_time(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Return the duration of executions from start to end, in milliseconds."""
        return self.metric(WorkflowMetric.TIME, **options)

    def _metric(self, name: str, dimensions: dict[str, str], options: MetricOptions) -> cloudwatch.Metric:
        # The sum of durations has no meaning, nor has the average of counts. A long sweep reports several ages.
        statistic = "Maximum" if name == WorkflowMetric.OLDEST_RUNNING else "Average" if name in TIMES else "Sum"
        shown: MetricOptions = {"statistic": statistic, **options}
        shown["dimensions_map"] = {**dimensions, **(options.get("dimensions_map") or {})}
        return cloudwatch.Metric(namespace=NAMESPACE, metric_name=name, **shown).attach_to(self)
