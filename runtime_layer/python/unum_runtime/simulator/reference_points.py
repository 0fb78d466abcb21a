"""How far a failure-free run has come, what user code is to see there, and how its scopes end."""

from dataclasses import dataclass, replace

from unum_runtime.model.checkpoint import Outcome
from unum_runtime.model.ir import Json, Task
from unum_runtime.model.naming import Name
from unum_runtime.protocol.delivery.user_code import event_of
from unum_runtime.protocol.planning.compiled_fields import compiled
from unum_runtime.protocol.planning.evaluation import EvaluationContext


@dataclass(frozen=True, slots=True)
class Visit:
    """What user code of an invocation is to see, and from when on.

    Attributes:
        task: the Task.
        raw: its input before its data flow.
        moment: when it is entered.
        due_ms: when it may run, in milliseconds since 1970; None for at once.
    """

    task: Task
    raw: Json
    evaluation: EvaluationContext
    due_ms: int | None

    def event(self, retries: tuple[int, ...], now_ms: int) -> Json:
        """The event of user code that runs at `now_ms` after `retries`.

        Raises:
            StatesError: the Task fails before user code runs.
        """
        context = self.evaluation.context_of(self.task.name, retries=retries, now_ms=now_ms)
        return event_of(self.task, compiled(self.evaluation.workflow, self.task).arguments(self.raw, context))


@dataclass(frozen=True, slots=True)
class End:
    """What a scope came to, and when its last outcome was committed.

    Attributes:
        outcome: what it came to.
        at_ms: when, in milliseconds since 1970.
        name: of the outcome that ended it, if that is the scope's own.
    """

    outcome: Outcome
    at_ms: int
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """How far a scope has come: the next outcome in it has `name`.

    Attributes:
        name: of that outcome.
        last: the state whose outcome was the last; empty where none was.
        start: the state to enter; None where the scope has ended.
        value: what it is entered with.
        moment: when.
        retries: how often each retrier was used of the fan-out that begins anew here.
        until_ms: when what a redrive has entered may begin, in milliseconds since 1970; None for at once.
        joins: whether `last` is a fan-out that leaves its outcome, and with it the name, to the Task ahead.
    """

    name: Name
    last: str
    start: str | None
    value: Json
    evaluation: EvaluationContext
    retries: tuple[int, ...] = ()
    until_ms: int | None = None
    joins: bool = False

    @property
    def before(self) -> Name:
        """How far the scope had come before."""
        return self.name if self.joins else replace(self.name, step=self.name.step - 1)

    @property
    def is_first(self) -> bool:
        """Whether the scope has no outcome yet."""
        return not self.last
