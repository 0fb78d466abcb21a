"""When and where control is: what the context object says, and the variables.

All of it derives from what is committed, so every delivery sees the same.
"""

import time
from collections.abc import Mapping
from functools import lru_cache

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.languages import program
from unum_runtime.asl.program import Program
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.model.ir import Json, State, Workflow
from unum_runtime.model.naming import Execution

INPUT = "$input"
"""Where the execution's input is among the variables, if the workflow keeps it; no variable has such a name."""

REDRIVES = "$redrives"
"""Where it is among them how often the execution was redriven, if it was and the workflow counts that."""


@dataclass(frozen=True)
class EvaluationContext:
    """A point of an execution, the same for every delivery that comes to it.

    Attributes:
        workflow: the workflow.
        execution: the execution.
        entered_ms: when the states here were entered, in milliseconds since 1970: the commit before them, or the end of
            a Wait since then.
        seed: names the commit; what is random derives from it.
        variables: those that are visible here, and the execution's input if it is kept.
        visited: how many states were visited since the commit.
    """

    workflow: Workflow
    execution: Execution
    entered_ms: int
    seed: str
    variables: Mapping[str, Json] = field(default_factory=dict)
    visited: int = 0

    @property
    def is_late(self) -> bool:
        """Whether the execution should have ended before."""
        return self.is_late_at(self.entered_ms)

    def is_late_at(self, ms: int) -> bool:
        """Whether the execution should have ended by `ms`, in milliseconds since 1970."""
        deadline_ms = deadline(self.workflow, self.execution)
        return deadline_ms is not None and ms >= deadline_ms

    def context_of(
        self,
        state: str,
        *,
        retries: tuple[int, ...] | None = None,
        now_ms: int | None = None,
        token: str = "",
        part: str = "",
    ) -> ExpressionContext:
        """The surroundings of a visit of `state`.

        Args:
            state: its name.
            retries: how often its retriers were used, if it is a Task.
            now_ms: the time, where it may be later than that of entering.
            token: for whoever is to hand back the result.
            part: of the visit, where it has several that must not come to the same random numbers.
        """
        return ExpressionContext(
            context_object=self._context(state, retries, token),
            variables=self.variables,
            now_ms=self.entered_ms if now_ms is None else now_ms,
            seed=f"{self.seed}+{self.visited} {state}{part}",
        )

    def after(self, variables: Mapping[str, Json], *, entered_ms: int | None = None) -> "EvaluationContext":
        """After the visit of a state that is left with `variables`, at `entered_ms` if time has passed."""
        entered_ms = self.entered_ms if entered_ms is None else entered_ms
        return EvaluationContext(self.workflow, self.execution, entered_ms, self.seed, variables, self.visited + 1)

    def _context(self, state: str, retries: tuple[int, ...] | None, token: str) -> dict[str, Json]:
        workflow, name = self.workflow, self.execution.name
        context: dict[str, Json] = {
            "Execution": {
                "Id": workflow.home.arn(f"execution:{workflow.name}:{name}"),
                "Name": name,
                "StartTime": timestamp(self.execution.started_ms),
                "RoleArn": workflow.home.role_arn,
                "RedriveCount": self.variables.get(REDRIVES, 0),
            },
            "State": {"Name": workflow.visible_name(state), "EnteredTime": timestamp(self.entered_ms)},
            "StateMachine": {"Id": workflow.home.arn(f"stateMachine:{workflow.name}"), "Name": workflow.name},
        }
        if INPUT in self.variables:
            context["Execution"]["Input"] = self.variables[INPUT]
        if retries is not None:
            context["State"]["RetryCount"] = sum(retries)
        if token:
            context["Task"] = {"Token": token}
        return context


def compiled(workflow: Workflow, state: State) -> Program:
    """Return the compiled fields of `state`; each field compiles itself when it is first used."""
    return _programs(workflow)[state.name]


@lru_cache(maxsize=64)
def _programs(workflow: Workflow) -> Mapping[str, Program]:
    return {name: program(state) for name, state in workflow.states.items()}


def redriven(variables: Mapping[str, Json]) -> dict[str, Json]:
    """What of `variables` tells how often the execution was redriven."""
    return {REDRIVES: variables[REDRIVES]} if REDRIVES in variables else {}


def without_redrives(variables: Mapping[str, Json]) -> Mapping[str, Json]:
    """The rest of them."""
    return {name: value for name, value in variables.items() if name != REDRIVES}


def deadline(workflow: Workflow, execution: Execution) -> int | None:
    """When an execution must have ended, in milliseconds since 1970; None for no such time."""
    return None if workflow.timeout_s is None else execution.started_ms + workflow.timeout_s * 1000


@lru_cache(maxsize=256)
def timestamp(ms: int) -> str:
    """RFC 3339 with milliseconds, as Step Functions writes times."""
    seconds, rest_ms = divmod(ms, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest_ms:03d}Z"
