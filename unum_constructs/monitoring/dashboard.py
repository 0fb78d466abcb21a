"""Dashboard of a workflow: executions, functions, Tasks, queues, table, and cost."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aws_cdk import Tokenization
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from unum_compiler.cost.prices import list_prices
from unum_compiler.lambda_settings import DEFAULT_MEMORY_MB
from unum_constructs.cdk.lookup import resource_of
from unum_constructs.metrics import MeteredWorkflow
from unum_constructs.monitoring.lost_events import Loss
from unum_runtime.model.metrics import Metrics, NodeMetric

COLUMNS = 24
"""Source: Amazon CloudWatch User Guide, "Dashboard body structure and syntax"."""

Row: TypeAlias = list[cloudwatch.IWidget]
Functions: TypeAlias = Mapping[str, lambda_.Function]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredParts:
    """Parts of a workflow with CloudWatch metrics.

    Attributes:
        functions: functions by their name in graphs.
        table: table with execution state; None where S3 has it, whose metrics of requests have a price.
        dead_letters: failure queue.
        waiting: timer queue; None without one.
        is_swept: True if a sweep finds stalled executions.
    """

    functions: Functions
    table: dynamodb.ITable | None
    dead_letters: sqs.IQueue
    waiting: sqs.IQueue | None
    is_swept: bool


def dashboard_rows(workflow: MeteredWorkflow, parts: MonitoredParts) -> list[Row]:
    """Return the rows of the dashboard."""
    of_nodes = [_nodes(workflow)] if workflow.metrics is Metrics.NODES else []
    of_functions = [_functions(parts.functions), _given_up(parts.functions)]
    return [_executions(workflow, parts), *of_functions, *of_nodes, _resources(workflow, parts)]


def cost_per_thousand(
    workflow: MeteredWorkflow, parts: MonitoredParts, table: dynamodb.ITable
) -> cloudwatch.MathExpression:
    """Return the cost of 1,000 executions in US dollars: requests and duration of functions, requests of the table.

    It divides usage of a period by executions started in the period, at list prices of us-east-1, without free tiers,
    storage, queues, logs and initialization. Usage by other workflows of a shared function or table is included.
    """
    usd = list_prices().usd
    metrics: dict[str, cloudwatch.IMetric] = {
        "started": workflow.metric_started(),
        "writes": table.metric_consumed_write_capacity_units(statistic="Sum"),
        "reads": table.metric_consumed_read_capacity_units(statistic="Sum"),
    }
    prices = {"writes": _decimal(usd["dynamodb_write_unit"]), "reads": _decimal(usd["dynamodb_read_unit"])}
    for number, function in enumerate(parts.functions.values()):
        requests, time_ms = f"requests{number}", f"time{number}"
        metrics |= {requests: function.metric_invocations(), time_ms: function.metric_duration(statistic="Sum")}
        prices |= {requests: _decimal(usd["lambda_request"]), time_ms: _usd_per_ms(function, usd)}
    # FILL: a metric without data in a period would make the whole sum empty.
    paid = " + ".join(f"FILL({name}, 0) * {price}" for name, price in prices.items())
    return cloudwatch.MathExpression(
        expression=f"1000 * ({paid}) / started", using_metrics=metrics, label="USD per 1,000 executions"
    )


def _executions(workflow: MeteredWorkflow, parts: MonitoredParts) -> Row:
    swept = {
        "standing still": workflow.metric_silent,
        "abandoned": workflow.metric_abandoned,
        "dead letters": workflow.metric_dead_letters,
        "refused messages": workflow.metric_refused_messages,
        "malformed": workflow.metric_malformed,
        "letters tried again": workflow.metric_letters_retried,
    }
    counts = {
        "started": workflow.metric_started,
        "succeeded": workflow.metric_succeeded,
        "failed": workflow.metric_failed,
        "timed out": workflow.metric_timed_out,
        "aborted": workflow.metric_aborted,
        "put off": workflow.metric_throttled,
        **(swept if parts.is_swept else {}),
        "late events": workflow.metric_late,
    }
    times = (workflow.metric_time(statistic=each, label=each) for each in ("p50", "p90", "p99"))
    oldest = [workflow.metric_oldest_running(label="oldest running")] if parts.is_swept else []
    executions = (metric(label=label) for label, metric in counts.items())
    return _row(("Executions", executions), ("Duration, ms", [*times, *oldest]))


def _functions(functions: Functions) -> Row:
    def of_each(metric: Callable[[lambda_.Function, str], cloudwatch.Metric]) -> list[cloudwatch.Metric]:
        return [metric(function, label) for label, function in functions.items()]

    return _row(
        ("Errors of functions", of_each(lambda each, label: each.metric_errors(label=label))),
        ("Throttles of functions", of_each(lambda each, label: each.metric_throttles(label=label))),
        ("Duration p99, ms", of_each(lambda each, label: each.metric_duration(label=label, statistic="p99"))),
        (
            "Running at once",
            of_each(lambda each, label: each.metric("ConcurrentExecutions", label=label, statistic="Maximum")),
        ),
    )


def _given_up(functions: Functions) -> Row:
    def of_each(loss: Loss) -> list[cloudwatch.Metric]:
        return [each.metric(str(loss), label=label, statistic="Sum") for label, each in functions.items()]

    return _row(
        ("Events that Lambda gave up", of_each(Loss.DROPPED)),
        ("Records of them that were not delivered", of_each(Loss.UNDELIVERED)),
    )


def _nodes(workflow: MeteredWorkflow) -> Row:
    titles = {
        NodeMetric.ERRORS: "Errors of Tasks",
        NodeMetric.RETRIES: "Tries of Tasks that failed",
        NodeMetric.TIME: "Duration of Tasks, ms",
    }
    nodes = workflow.nodes or ()
    return _row(
        *((title, [workflow.metric_node(node, name, label=node) for node in nodes]) for name, title in titles.items())
    )


def _resources(workflow: MeteredWorkflow, parts: MonitoredParts) -> Row:
    table = parts.table
    if table is None:
        return _row(("Events in queues", _queued(parts)))
    units = [
        table.metric_consumed_write_capacity_units(label="write units"),
        table.metric_consumed_read_capacity_units(label="read units"),
    ]
    cost = cost_per_thousand(workflow, parts, table)
    return _row(("Events in queues", _queued(parts)), ("Table", units), ("Cost", [cost]))


def _queued(parts: MonitoredParts) -> list[cloudwatch.IMetric]:
    dead = parts.dead_letters.metric_approximate_number_of_messages_visible(label="dead letters", statistic="Maximum")
    if parts.waiting is None:
        return [dead]
    waiting = parts.waiting.metric_approximate_number_of_messages_delayed(label="waiting", statistic="Maximum")
    due = parts.waiting.metric_approximate_number_of_messages_visible(label="due", statistic="Maximum")
    return [dead, waiting, due]


def _row(*graphs: tuple[str, Iterable[cloudwatch.IMetric]]) -> Row:
    width = COLUMNS // len(graphs)
    return [cloudwatch.GraphWidget(title=title, left=[*metrics], width=width) for title, metrics in graphs]


def _usd_per_ms(function: lambda_.Function, usd: Mapping[str, float]) -> str:
    """Return the price per millisecond of `function`, as a metric math term."""
    is_arm = function.architecture.name == lambda_.Architecture.ARM_64.name
    memory_mb = resource_of(function, lambda_.CfnFunction).memory_size or DEFAULT_MEMORY_MB
    per_gb_s = usd["lambda_gb_s" if is_arm else "lambda_gb_s_x86"]
    # `memory_mb` may be a token: `stringify_number` keeps it resolvable in the middle of the expression.
    return f"{Tokenization.stringify_number(memory_mb)} / 1024000 * {_decimal(per_gb_s)}"


def _decimal(usd: float) -> str:
    """Return `usd` without an exponent, which metric math does not accept."""
    return f"{usd:.12f}".rstrip("0")
