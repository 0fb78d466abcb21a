"""Telling of Tasks: what their events are called and say, of a function, a service, or an activity.

Source: AWS Step Functions API Reference, "HistoryEvent".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.client.events.journal import Known, assigned, data, failure_data
from unum_runtime.client.events.scope_events import Account
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Checkpoint, Failure, Success, to_text
from unum_runtime.model.envelope import Value
from unum_runtime.model.ir import ACTIVITY, Form, Home, Json, Language, Pattern, Task, Workflow
from unum_runtime.model.naming import Name
from unum_runtime.protocol.history.timeline import failed_with
from unum_runtime.protocol.planning import dataset_variables
from unum_runtime.protocol.planning.evaluation import EvaluationContext, compiled
from unum_runtime.protocol.planning.plan import out_of_time

EVALUATION = "States.QueryEvaluationError"
"""What a failure of an expression in JSONata is called; it has an event of its own."""

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
    """A kind of Task.

    Attributes:
        prefix: what the types of its events begin with.
        where: members that all of its events have.
        work: members that say what is to be done.
        carries: the member that has what it gets.
    """

    prefix: str
    where: Mapping[str, Json]
    work: Mapping[str, Json]
    carries: str


def kind_of(task: Task, home: Home) -> Kind:
    """The kind of `task` in a workflow at `home`; of a function of the workflow only its key is known."""
    resource = task.resource
    if task.form is Form.DIRECT:
        return Kind("LambdaFunction", {}, {"resource": task.function}, "input")
    if resource is not None and resource.startswith("arn:"):
        return Kind("LambdaFunction", {}, {"resource": resource}, "input")
    if resource is not None and resource.startswith(ACTIVITY):
        return Kind("Activity", {}, {"resource": home.arn(resource)}, "input")
    service, _, action = (resource or "lambda:invoke").rpartition(":")
    where = {"resourceType": service, "resource": action + _SUFFIXES[task.pattern]}
    return Kind("Task", where, {"region": home.region}, "parameters")


@dataclass(frozen=True, slots=True)
class Try:
    """The try of a Task that its outcome is of.

    Attributes:
        workflow: the workflow.
        task: the Task.
        name: the invocation.
        entered: what it was entered with; None where nothing tells.
        checkpoint: what it came to; None while that is not known.
    """

    workflow: Workflow
    task: Task
    name: Name
    entered: Value | None
    checkpoint: Checkpoint | None

    def tell_start(self, account: Account) -> None:
        """Tell that it was scheduled, and begun; neither if its data flow failed before."""
        details = self._scheduled()
        if details is None:
            return
        account.add(f"{self.kind.prefix}Scheduled", details, approximate=self.entered is None)
        if self.checkpoint is not None:
            account.add(f"{self.kind.prefix}Started", self.kind.where or None, self._begun_ms)

    def tell_end(self, account: Account, checkpoint: Checkpoint, *, succeeded: bool) -> None:
        """Tell what it came to, `checkpoint`, as far as that is known."""
        at_ms, outcome = checkpoint.committed_ms, checkpoint.outcome
        output = outcome if isinstance(outcome, Success) else None
        failure = failed_with(checkpoint)
        if failure is not None:
            self._tell_failure(account, failure, checkpoint)
        elif succeeded:
            details = {**self.kind.where, **data(output=_result(self.task, output))}
            account.add(f"{self.kind.prefix}Succeeded", details, at_ms, retries=checkpoint.attempt)
        if succeeded or checkpoint.continuation.caught is not None:
            before = checkpoint.continuation.variables if self.entered is None else self.entered.variables
            account.exit(self.task, output, at_ms, assigned(before, checkpoint.continuation.variables))

    def tell_passing(self, account: Account) -> None:
        """Tell that it succeeded, of which nothing is stored: another Task commits for it."""
        account.add(f"{self.kind.prefix}Succeeded", self.kind.where, approximate=True)
        account.exit(self.task, None)

    @property
    def kind(self) -> Kind:
        """What its events are called."""
        return kind_of(self.task, self.workflow.home)

    @property
    def _begun_ms(self) -> int | None:
        return None if self.checkpoint is None else self.checkpoint.committed_ms - self.checkpoint.duration_ms

    def _tell_failure(self, account: Account, failure: Failure, checkpoint: Checkpoint) -> None:
        """Tell of a failure, unless it had not begun because the execution's time was over."""
        if failure.error == EVALUATION:
            account.fail_to_evaluate(self.task, failure, checkpoint.committed_ms)
        elif failure.error not in _OF_DATA_FLOW and failure != out_of_time(self.workflow):
            event_type = self.kind.prefix + ("TimedOut" if failure.error in _TIMEOUTS else "Failed")
            details = {**self.kind.where, **failure_data(failure)}
            account.add(event_type, details, checkpoint.committed_ms, retries=checkpoint.attempt)

    def _scheduled(self) -> dict[str, Json] | None:
        """What its event says; None if it never was, because its data flow failed before."""
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
            return given if "Task.Token" in to_text(dict(self.task.data)) else None  # the token is a secret of its own
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
    """The result of `task`, where its `output` is just that."""
    if task.language is Language.JSONATA:
        return None if "Output" in task.data else output
    shaping = {task.data.get(name, "$") for name in ("ResultPath", "OutputPath")} | {"$"}
    return output if shaping == {"$"} and "ResultSelector" not in task.data else None
