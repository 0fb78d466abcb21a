"""Events of Tasks: types and details for functions, services and activities.

Source: AWS Step Functions API Reference, "HistoryEvent".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from unum_client.events.journal import Known, assigned, data, failure_data
from unum_client.events.scope_events import Account
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.errors import StatesError
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Checkpoint, Failure, Success
from unum_runtime.model.envelope import Value
from unum_runtime.model.ir import Home, Workflow
from unum_runtime.model.naming import Name
from unum_runtime.model.states import ACTIVITY, Form, Json, Language, Pattern, Task
from unum_runtime.protocol.history.timeline import failed_with
from unum_runtime.protocol.planning import dataset_variables
from unum_runtime.protocol.planning.evaluation import EvaluationContext, compiled
from unum_runtime.protocol.planning.plan import out_of_time

EVALUATION = "States.QueryEvaluationError"
"""Error name of a failed JSONata expression, which has its own event type."""

_OF_DATA_FLOW = frozenset(
    (
        EVALUATION,
        "States.IntrinsicFailure",
        "States.ParameterPathFailure",
        "States.ResultPathMatchFailure",
        "States.Runtime",
    )
)
_TIMEOUTS = frozenset(("States.Timeout", "States.HeartbeatTimeout"))
_SUFFIXES: Mapping[Pattern, str] = {
    Pattern.RESPONSE: "",
    Pattern.SYNC: ".sync",
    Pattern.CALLBACK: ".waitForTaskToken",
}


class Kind(NamedTuple):
    """Event names and members of a kind of Task.

    Attributes:
        prefix: prefix of its event types.
        where: members of all its events.
        work: members that describe the work.
        carries: member with the input.
    """

    prefix: str
    where: Mapping[str, Json]
    work: Mapping[str, Json]
    carries: str


def kind_of(task: Task, home: Home) -> Kind:
    """Return the kind of `task` in a workflow at `home`; functions of the workflow are known by key only."""
    resource = task.resource
    if task.form is Form.DIRECT:
        return Kind("LambdaFunction", {}, {"resource": task.handler or task.function}, "input")
    if resource is not None and resource.startswith("arn:"):
        return Kind("LambdaFunction", {}, {"resource": resource}, "input")
    if resource is not None and resource.startswith(ACTIVITY):
        return Kind("Activity", {}, {"resource": home.arn(resource)}, "input")
    service, _, action = (resource or "lambda:invoke").rpartition(":")
    where = {"resourceType": service, "resource": action + _SUFFIXES[task.pattern]}
    return Kind("Task", where, {"region": home.region}, "parameters")


@dataclass(frozen=True, slots=True)
class TaskAttempt:
    """Last attempt of a Task.

    Attributes:
        workflow: the workflow.
        task: the Task.
        name: name of the invocation.
        entered: its input; None if unknown.
        checkpoint: its commit; None before it.
    """

    workflow: Workflow
    task: Task
    name: Name
    entered: Value | None
    checkpoint: Checkpoint | None

    def report_start(self, account: Account) -> None:
        """Report schedule and start; neither after a failed data flow."""
        details = self._scheduled()
        if details is None:
            return
        account.add(f"{self.kind.prefix}Scheduled", details, approximate=self.entered is None)
        if self.checkpoint is not None:
            account.add(f"{self.kind.prefix}Started", self.kind.where or None, self._begun_ms)

    def report_end(self, account: Account, checkpoint: Checkpoint, *, succeeded: bool) -> None:
        """Report the outcome in `checkpoint`, as far as known."""
        at_ms, outcome = checkpoint.committed_ms, checkpoint.outcome
        output = outcome if isinstance(outcome, Success) else None
        failure = failed_with(checkpoint)
        if failure is not None:
            self._report_failure(account, failure, checkpoint)
        elif succeeded:
            details = {**self.kind.where, **data(output=_result(self.task, output))}
            account.add(f"{self.kind.prefix}Succeeded", details, at_ms, retries=checkpoint.attempt)
        if succeeded or checkpoint.continuation.caught is not None:
            before = checkpoint.continuation.variables if self.entered is None else self.entered.variables
            account.exit(self.task, output, at_ms, assigned(before, checkpoint.continuation.variables))

    def report_passing(self, account: Account) -> None:
        """Report success without stored data: another Task commits for this one."""
        account.add(f"{self.kind.prefix}Succeeded", self.kind.where, approximate=True)
        account.exit(self.task, None)

    @property
    def kind(self) -> Kind:
        """Kind of the Task."""
        return kind_of(self.task, self.workflow.home)

    @property
    def _begun_ms(self) -> int | None:
        return None if self.checkpoint is None else self.checkpoint.committed_ms - self.checkpoint.duration_ms

    def _report_failure(self, account: Account, failure: Failure, checkpoint: Checkpoint) -> None:
        """Report a failure, unless the execution's deadline prevented the start."""
        if failure.error == EVALUATION:
            account.fail_to_evaluate(self.task, failure, checkpoint.committed_ms)
        # Data-flow errors and the execution's deadline fail a Task before its work starts.
        elif failure.error not in _OF_DATA_FLOW and failure != out_of_time(self.workflow):
            event_type = self.kind.prefix + ("TimedOut" if failure.error in _TIMEOUTS else "Failed")
            details = {**self.kind.where, **failure_data(failure)}
            account.add(event_type, details, checkpoint.committed_ms, retries=checkpoint.attempt)

    def _scheduled(self) -> dict[str, Json] | None:
        """Return details of the schedule event; None if the data flow failed before it."""
        kind = self.kind
        given = {**kind.where, **kind.work}
        if self.entered is None:
            return given
        program, context = compiled(self.workflow, self.task), self._context_of(self.entered)
        try:
            arguments: Known = Success(program.arguments(self.entered.value, context))
            limits = {
                f"{each.lower()}InSeconds": program.number(f"{each}Seconds", self.entered.value, context)
                for each in (("Timeout",) if kind.prefix == "LambdaFunction" else ("Timeout", "Heartbeat"))
            }
        except StatesError:
            return given if "Task.Token" in to_text(dict(self.task.data)) else None  # the token is unknown to readers
        given |= {name: int(limit) for name, limit in limits.items() if limit is not None}
        return given | data(**{kind.carries: arguments})

    def _context_of(self, entered: Value) -> ExpressionContext:
        attempt = 0 if self.checkpoint is None else self.checkpoint.attempt
        variables = dataset_variables.without(entered.variables)
        evaluation = EvaluationContext(
            self.workflow, self.name.execution, entered.entered_ms, str(self.name), variables
        )
        return evaluation.context_of(self.task.name, retries=(attempt,), now_ms=self._begun_ms)


def _result(task: Task, output: Known) -> Known:
    """Return `output` if it equals the result of `task`; None otherwise."""
    if task.language is Language.JSONATA:
        return None if "Output" in task.data else output
    shaping = {task.data.get(name, "$") for name in ("ResultPath", "OutputPath")} | {"$"}
    return output if shaping == {"$"} and "ResultSelector" not in task.data else None
