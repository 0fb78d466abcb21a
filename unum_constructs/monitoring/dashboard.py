"""What a workflow's dashboard shows: executions, functions, Tasks, what waits, and what it costs."""

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
from unum_runtime.model.metrics import Metrics, NodeMetric

COLUMNS = 24
"""Source: Amazon CloudWatch User Guide, "Dashboard body structure and syntax"."""

Row: TypeAlias = list[cloudwatch.IWidget]
Functions: TypeAlias = Mapping[str, lambda_.Function]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a workflow is made of, as far as CloudWatch knows it.

    Attributes:
        functions: by the name that graphs give them.
        table: the state of executions.
        dead_letters: what nothing could go on from.
        waiting: events that are not due yet; None where none have to wait.
        is_swept: whether executions are found that stand still.
    """

    functions: Functions
    table: dynamodb.ITable
    dead_letters: sqs.IQueue
    waiting: sqs.IQueue | None
    is_swept: bool


def rows(workflow: MeteredWorkflow, parts: Parts) -> list[Row]:
    """The rows of the dashboard."""
    of_nodes = [_nodes(workflow)] if workflow.metrics is Metrics.NODES else []
    return [_executions(workflow, parts), _functions(parts.functions), *of_nodes, _resources(workflow, parts)]


def cost(workflow: MeteredWorkflow, parts: Parts) -> cloudwatch.MathExpression:
    """What 1,000 executions cost, in US dollars: the functions' requests and time, and the table's requests.

    Of what was used in a period, divided by the executions that were started in it. List prices of us-east-1; without
    free tiers, storage, queues, logs and initialization. What a function does for others is in it as well.
    """
    usd = list_prices().usd
    metrics: dict[str, cloudwatch.IMetric] = {
        "started": workflow.metric_started(),
        "writes": parts.table.metric_consumed_write_capacity_units(statistic="Sum"),
        "reads": parts.table.metric_consumed_read_capacity_units(statistic="Sum"),
    }
    prices = {"writes": _decimal(usd["dynamodb_write_unit"]), "reads": _decimal(usd["dynamodb_read_unit"])}
    for number, function in enumerate(parts.functions.values()):
        requests, time_ms = f"requests{number}", f"time{number}"
        metrics |= {requests: function.metric_invocations(), time_ms: function.metric_duration(statistic="Sum")}
        prices |= {requests: _decimal(usd["lambda_request"]), time_ms: _usd_per_ms(function, usd)}
    paid = " + ".join(f"FILL({name}, 0) * {price}" for name, price in prices.items())
    return cloudwatch.MathExpression(
        expression=f"1000 * ({paid}) / started", using_metrics=metrics, label="USD per 1,000 executions"
    )


def _executions(workflow: MeteredWorkflow, parts: Parts) -> Row:
    counts = {
        "started": workflow.metric_started,
        "succeeded": workflow.metric_succeeded,
        "failed": workflow.metric_failed,
        "timed out": workflow.metric_timed_out,
        "aborted": workflow.metric_aborted,
        "put off": workflow.metric_throttled,
        **({"standing still": workflow.metric_silent} if parts.is_swept else {}),
    }
    times = (workflow.metric_time(statistic=each, label=each) for each in ("p50", "p90", "p99"))
    return _row(("Executions", (metric(label=label) for label, metric in counts.items())), ("Duration, ms", times))


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


def _resources(workflow: MeteredWorkflow, parts: Parts) -> Row:
    units = [
        parts.table.metric_consumed_write_capacity_units(label="write units"),
        parts.table.metric_consumed_read_capacity_units(label="read units"),
    ]
    return _row(("Events in queues", _queued(parts)), ("Table", units), ("Cost", [cost(workflow, parts)]))


def _queued(parts: Parts) -> list[cloudwatch.IMetric]:
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
    """What a millisecond of `function` costs, as a term."""
    is_arm = function.architecture.name == lambda_.Architecture.ARM_64.name
    memory_mb = resource_of(function, lambda_.CfnFunction).memory_size or DEFAULT_MEMORY_MB
    per_gb_s = usd["lambda_gb_s" if is_arm else "lambda_gb_s_x86"]
    # The memory may be known to the deployment alone.
    return f"{Tokenization.stringify_number(memory_mb)} / 1024000 * {_decimal(per_gb_s)}"


def _decimal(usd: float) -> str:
    """`usd` without an exponent, which expressions do not have."""
    return f"{usd:.12f}".rstrip("0")
