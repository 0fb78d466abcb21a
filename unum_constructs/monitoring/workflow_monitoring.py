"""Alarms and a dashboard for a workflow that this app makes."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.cdk.argument_checks import check_kinds
from unum_constructs.hosting.host import Host
from unum_constructs.metrics import MeteredWorkflow
from unum_constructs.monitoring.alarms import TIMER_AGE_MIN, Alarms, alarm
from unum_constructs.monitoring.dashboard import Parts, rows
from unum_constructs.resources.failure_handler import FailureHandler
from unum_constructs.resources.timer import WorkflowTimer
from unum_constructs.sweep import WorkflowSweep


class MonitoredWorkflow(MeteredWorkflow):
    """A workflow whose parts are known, so that they can be watched."""

    table: dynamodb.ITable
    timer: WorkflowTimer | None
    sweep: WorkflowSweep | None
    failure_handler: FailureHandler
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
    ) -> Alarms:
        """Have somebody told when executions do not do what they should.

        Args:
            actions: what all of them do when they go off, `failure_alarm` included.
            period: over which is counted; 5 minutes where it is not given.
            failed: at how many failed executions in a period one goes off; None for no such alarm.
            timed_out: the same of executions that took longer than they may.
            throttled: the same of events that have to be delivered again.
            timer_age: how old an event that waits may become without being looked at; 20 minutes where it is not given.
            silent: at how many executions that a sweep finds to stand still one goes off, if there is a sweep.

        Raises:
            ConstructError: executions are not counted, or `actions` is no sequence.
        """
        check_kinds(self, Sequence, {"add_alarms: actions": actions})
        scope, over = Construct(self, "Alarms"), period or Duration.minutes(5)
        name = self.workflow_name
        alarms = Alarms(
            failed=alarm(scope, "Failed", self.metric_failed(period=over), failed, f"Executions of {name} failed"),
            timed_out=alarm(
                scope, "TimedOut", self.metric_timed_out(period=over), timed_out, f"Executions of {name} timed out"
            ),
            throttled=alarm(
                scope, "Throttled", self.metric_throttled(period=over), throttled, f"Events of {name} are put off"
            ),
            timer_age=self._timer_alarm(scope, timer_age or Duration.minutes(TIMER_AGE_MIN)),
            silent=self._silence_alarm(scope, over, silent),
            dead_letters=self.failure_alarm,
        )
        alarms.act(actions)
        return alarms

    def dashboard(self, *, dashboard_name: str | None = None) -> cloudwatch.Dashboard:
        """Make a dashboard: rates and durations of executions, functions, Tasks if they are counted, queues, and cost.

        Args:
            dashboard_name: its name; made by CloudFormation where there is none.

        Returns:
            The dashboard, for more widgets.

        Raises:
            ConstructError: executions are not counted.
        """
        return cloudwatch.Dashboard(self, "Dashboard", dashboard_name=dashboard_name, widgets=rows(self, self._parts()))

    def _timer_alarm(self, scope: Construct, age: Duration) -> cloudwatch.Alarm | None:
        if self.timer is None:
            return None
        metric = self.timer.queue.metric_approximate_age_of_oldest_message(
            period=Duration.minutes(5), statistic="Maximum"
        )
        what = f"Events of {self.workflow_name} that wait are not handed on"
        return alarm(scope, "TimerAge", metric, age.to_seconds(), what)

    def _silence_alarm(self, scope: Construct, over: Duration, silent: int | None) -> cloudwatch.Alarm | None:
        if self.sweep is None:
            return None
        return alarm(
            scope, "Silent", self.metric_silent(period=over), silent, f"Executions of {self.workflow_name} stand still"
        )

    def _parts(self) -> Parts:
        functions: dict[str, lambda_.Function] = {
            key.removeprefix("$"): host.function for key, host in self._hosts.items()
        }
        functions["on failure"] = self.failure_handler.function
        if self.timer is not None:
            functions["timer"] = self.timer.forwarder
        return Parts(
            functions=functions,
            table=self.table,
            dead_letters=self.failure_queue,
            waiting=self.timer.queue if self.timer else None,
            is_swept=self.sweep is not None,
        )
