"""Alarms and dashboard of this app's workflows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TypeAlias
from weakref import WeakKeyDictionary

from aws_cdk import Duration, Tokenization
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.cost.prices import list_prices
from unum_compiler.lambda_settings import DEFAULT_MEMORY_MB
from unum_constructs.cdk.argument_checks import check_types
from unum_constructs.cdk.lookup import path_of, resource_of
from unum_constructs.cdk.storage import Storage, TableStorage
from unum_constructs.cdk.threshold_alarm import new_alarm
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host
from unum_constructs.metrics import MeteredWorkflow
from unum_constructs.resources.control_function import ControlFunction
from unum_constructs.resources.failure_handling import FailureHandler
from unum_constructs.resources.plane_members import WorkflowControl, WorkflowIntake
from unum_constructs.resources.timer_queue import WorkflowTimer
from unum_constructs.sweep import WorkflowSweep
from unum_runtime.model.metrics import Metrics, NodeMetric

TIMER_AGE_MIN = 20
"""Minutes. The forwarder receives a waiting event every 15 minutes at the latest; an older message is stuck. Source:
Amazon SQS Developer Guide, "Amazon SQS delay queues"."""

MOST_IN_ALARM = 10
"""Most metrics in the expression of one alarm. Source: Amazon CloudWatch User Guide, "Create a CloudWatch alarm based
on a metric math expression"."""

# Dashboard of a workflow: executions, functions, Tasks, queues, table, and cost.

COLUMNS = 24
"""Source: Amazon CloudWatch User Guide, "Dashboard body structure and syntax"."""

Row: TypeAlias = list[cloudwatch.IWidget]
Functions: TypeAlias = Mapping[str, lambda_.Function]


_ACTIONS: WeakKeyDictionary[cloudwatch.Alarm, list[cloudwatch.IAlarmAction]] = WeakKeyDictionary()
"""Actions that workflows have added to alarms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """Alarms of a workflow; None without threshold or metric.

    Attributes:
        failed: failed executions.
        timed_out: executions past their time limit.
        throttled: events that Lambda has to retry.
        timer_age: waiting events that the forwarder does not receive.
        silent: stalled executions that a sweep found.
        abandoned: executions without an end at their last moment.
        late: events after the last moment of their execution, which have no effect.
        oldest_running: an execution that runs for longer than was allowed.
        dead_letters: events in the failure queue; they need an operator.
        dropped: events that Lambda gave up; several alarms for more than ten functions.
        undelivered: records of such events that did not reach the failure handler; several, likewise.
    """

    failed: cloudwatch.Alarm | None
    timed_out: cloudwatch.Alarm | None
    throttled: cloudwatch.Alarm | None
    timer_age: cloudwatch.Alarm | None
    silent: cloudwatch.Alarm | None
    abandoned: cloudwatch.Alarm | None
    late: cloudwatch.Alarm | None
    oldest_running: cloudwatch.Alarm | None
    dead_letters: cloudwatch.Alarm
    dropped: tuple[cloudwatch.Alarm, ...] = ()
    undelivered: tuple[cloudwatch.Alarm, ...] = ()

    def act(self, actions: Sequence[cloudwatch.IAlarmAction]) -> None:
        """Add `actions` to all alarms."""
        for each in self._all:
            # Workflows of a control plane share an alarm, and may add the same action.
            known = _ACTIONS.setdefault(each, [])
            new = [action for action in actions if action not in known]
            known += new
            each.add_alarm_action(*new)

    @property
    def _all(self) -> list[cloudwatch.Alarm]:
        every = (getattr(self, each.name) for each in fields(self))
        lists = (each if isinstance(each, tuple) else (each,) for each in every)
        return [each for several in lists for each in several if each is not None]


def optional_alarm(
    scope: Construct, construct_id: str, metric: cloudwatch.IMetric, threshold: float | None, description: str
) -> cloudwatch.Alarm | None:
    """Alarm if `metric` reaches a given `threshold`.

    Raises:
        ConstructError: the threshold is no number above 0, so the alarm would always be on.
    """
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or threshold <= 0:
        raise ConstructError(
            scope, f"expected a number above 0, or None for no alarm, got {threshold!r}", child=construct_id
        )
    return new_alarm(scope, construct_id, metric, threshold, description)


class Loss(StrEnum):
    """Lambda's metrics of asynchronous events. Source: AWS Lambda Developer Guide, "Types of metrics"."""

    DROPPED = "AsyncEventsDropped"
    """Events that Lambda gave up, whether or not the failure handler gets a record of them."""

    UNDELIVERED = "DestinationDeliveryFailures"
    """Records that Lambda could not deliver to the failure handler: nobody knows of their events."""


def distinct(functions: Sequence[lambda_.Function]) -> list[lambda_.Function]:
    """Return `functions`, each once: several Tasks may share one."""
    return [*{path_of(each): each for each in functions}.values()]


def sum_of(
    functions: Sequence[lambda_.Function], loss: Loss, *, period: Duration | None, label: str | None
) -> cloudwatch.MathExpression:
    """Return the sum of `loss` over `functions`."""
    each = {f"f{number}": function for number, function in enumerate(functions)}
    return cloudwatch.MathExpression(
        # A function without any such event has no data, and a sum with a part without data would have none.
        expression=" + ".join(f"FILL({name}, 0)" for name in each),
        using_metrics={
            name: function.metric(str(loss), statistic="Sum", period=period) for name, function in each.items()
        },
        label=label or str(loss),
        period=period,
    )


def alarms_on(  # noqa: PLR0913 - what an alarm needs
    scope: Construct,
    construct_id: str,
    functions: Sequence[lambda_.Function],
    loss: Loss,
    *,
    period: Duration,
    threshold: int | None,
    description: str,
) -> tuple[cloudwatch.Alarm, ...]:
    """Alarm if `loss` reaches `threshold` in one period; more than `MOST_IN_ALARM` functions need several alarms."""
    made = (
        optional_alarm(
            scope,
            f"{construct_id}{number or ''}",
            sum_of(part, loss, period=period, label=None),
            threshold,
            description,
        )
        for number, part in enumerate(_parts(functions))
    )
    return tuple(each for each in made if each is not None)


def _parts(functions: Sequence[lambda_.Function]) -> Iterator[Sequence[lambda_.Function]]:
    for begin in range(0, len(functions), MOST_IN_ALARM):
        yield functions[begin : begin + MOST_IN_ALARM]


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


class MonitoredWorkflow(MeteredWorkflow):
    """Workflow with known parts, alarms, and dashboard."""

    storage: Storage
    timer: WorkflowTimer | None
    sweep: WorkflowSweep | None
    failure_handler: FailureHandler | WorkflowIntake
    control: ControlFunction | WorkflowControl
    failure_queue: sqs.Queue
    failure_alarm: cloudwatch.Alarm
    _hosts: dict[str, Host]

    def add_alarms(  # noqa: PLR0913 - one keyword for each alarm
        self,
        *,
        actions: Sequence[cloudwatch.IAlarmAction] = (),
        period: Duration | None = None,
        failed: int | None = 1,
        timed_out: int | None = 1,
        throttled: int | None = 10,
        timer_age: Duration | None = None,
        silent: int | None = 1,
        abandoned: int | None = 1,
        late: int | None = 1,
        oldest_running: Duration | None = None,
        dropped: int | None = 1,
        undelivered: int | None = 1,
    ) -> Alarms:
        """Add alarms on failed, late, throttled and stalled executions, and on events that Lambda gave up.

        Args:
            actions: actions of all alarms, `failure_alarm` included.
            period: period of the counts. Default: 5 minutes.
            failed: failed executions in a period that raise the alarm; None for no alarm.
            timed_out: timed-out executions in a period; None for no alarm.
            throttled: events in a period that Lambda has to retry; None for no alarm.
            timer_age: age of a waiting event that the forwarder has not received. Default: 20 minutes.
            silent: stalled executions that a sweep finds in a period, if there is a sweep; None for no alarm.
            abandoned: executions in a period that a sweep ends because their last moment has passed; None for no alarm.
            late: events in a period that arrive after the last moment of their execution; None for no alarm.
            oldest_running: time since the start of a running execution, as sweeps see it; None for no alarm.
            dropped: events in a period that Lambda gave up, for lack of concurrency or after its last attempt; None for
                no alarm.
            undelivered: records of such events in a period that did not reach the failure handler; None for no alarm.

        Returns:
            The alarms.

        Raises:
            ConstructError: executions are not counted (``metrics=NONE``), `actions` is no sequence, or
                `oldest_running` is given for a workflow without a sweep.
        """
        check_types(self, Sequence, {"add_alarms: actions": actions})
        if oldest_running is not None and self.sweep is None:
            got = f"got {oldest_running.to_seconds():.0f} seconds"
            raise ConstructError(self, f"add_alarms: oldest_running: expected None, {got}: not known without a sweep")
        scope, over = Construct(self, "Alarms"), period or Duration.minutes(5)
        name = self.workflow_name
        alarms = Alarms(
            failed=optional_alarm(
                scope, "Failed", self.metric_failed(period=over), failed, f"Executions of {name} failed"
            ),
            timed_out=optional_alarm(
                scope, "TimedOut", self.metric_timed_out(period=over), timed_out, f"Executions of {name} timed out"
            ),
            throttled=optional_alarm(
                scope, "Throttled", self.metric_throttled(period=over), throttled, f"Events of {name} are put off"
            ),
            timer_age=self._timer_alarm(scope, timer_age or Duration.minutes(TIMER_AGE_MIN)),
            silent=self._sweep_alarm(
                scope, "Silent", self.metric_silent(period=over), silent, f"Executions of {name} stand still"
            ),
            abandoned=self._sweep_alarm(
                scope, "Abandoned", self.metric_abandoned(period=over), abandoned, f"Executions of {name} never ended"
            ),
            late=optional_alarm(scope, "Late", self.metric_late(period=over), late, f"Events of {name} came too late"),
            oldest_running=self._sweep_alarm(
                scope,
                "OldestRunning",
                self.metric_oldest_running(period=over),
                None if oldest_running is None else oldest_running.to_milliseconds(),
                f"An execution of {name} runs for too long",
            ),
            dead_letters=self.failure_alarm,
            dropped=alarms_on(
                scope,
                "Dropped",
                self._called_by_events(),
                Loss.DROPPED,
                period=over,
                threshold=dropped,
                description=f"Lambda gave up events of {name}",
            ),
            undelivered=alarms_on(
                scope,
                "Undelivered",
                self._called_by_events(),
                Loss.UNDELIVERED,
                period=over,
                threshold=undelivered,
                description=f"Records of events of {name} that Lambda gave up are lost",
            ),
        )
        alarms.act(actions)
        return alarms

    def metric_dropped_events(
        self, *, period: Duration | None = None, label: str | None = None
    ) -> cloudwatch.MathExpression:
        """Return the number of dropped events, summed over workflow functions.

        The failure handler gets a record of each, see `metric_undelivered_records`.

        Args:
            period: period of one value. Default: 5 minutes.
            label: name in graphs. Default: Lambda's name of the metric.
        """
        return sum_of(self._called_by_events(), Loss.DROPPED, period=period, label=label)

    def metric_undelivered_records(
        self, *, period: Duration | None = None, label: str | None = None
    ) -> cloudwatch.MathExpression:
        """Return the number of undelivered failure records, summed over workflow functions.

        The arguments are those of `metric_dropped_events`.
        """
        return sum_of(self._called_by_events(), Loss.UNDELIVERED, period=period, label=label)

    def dashboard(self, *, dashboard_name: str | None = None) -> cloudwatch.Dashboard:
        """Make a dashboard: rates and durations of executions, functions, Tasks if counted, queues, and cost.

        Args:
            dashboard_name: name of the dashboard. Default: made by CloudFormation.

        Returns:
            The dashboard, for more widgets.

        Raises:
            ConstructError: executions are not counted (``metrics=NONE``).
        """
        return cloudwatch.Dashboard(
            self, "Dashboard", dashboard_name=dashboard_name, widgets=dashboard_rows(self, self._parts())
        )

    def _timer_alarm(self, scope: Construct, age: Duration) -> cloudwatch.Alarm | None:
        if self.timer is None:
            return None
        metric = self.timer.queue.metric_approximate_age_of_oldest_message(
            period=Duration.minutes(5), statistic="Maximum"
        )
        what = f"Events of {self.workflow_name} that wait are not handed on"
        return optional_alarm(scope, "TimerAge", metric, age.to_seconds(), what)

    def _sweep_alarm(
        self, scope: Construct, construct_id: str, metric: cloudwatch.Metric, threshold: float | None, what: str
    ) -> cloudwatch.Alarm | None:
        return None if self.sweep is None else optional_alarm(scope, construct_id, metric, threshold, what)

    def _called_by_events(self) -> list[lambda_.Function]:
        """Return the functions that Lambda calls with asynchronous events."""
        hosts = [host.function for host in self._hosts.values()]
        return distinct([*hosts, self.failure_handler.function, self.control.function])

    def _parts(self) -> MonitoredParts:
        functions: dict[str, lambda_.Function] = {
            key.removeprefix("$"): host.function for key, host in self._hosts.items()
        }
        functions |= {"on failure": self.failure_handler.function, "control": self.control.function}
        if self.timer is not None:
            functions["timer"] = self.timer.forwarder
        return MonitoredParts(
            functions=functions,
            table=self.storage.table if isinstance(self.storage, TableStorage) else None,
            dead_letters=self.failure_queue,
            waiting=self.timer.queue if self.timer else None,
            is_swept=self.sweep is not None,
        )
