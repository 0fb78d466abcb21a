"""Evaluation context of states: time, variables and the context object.

It derives from committed data alone, so every delivery evaluates expressions with the same result.
"""

import time
from collections.abc import Mapping
from functools import lru_cache

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.languages import program
from unum_runtime.asl.program import Program
from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Json, Map, State

INPUT = "$input"
"""Variable with the execution's input, if the workflow keeps it; no user's variable has this name."""

REDRIVES = "$redrives"
"""Variable with the number of redrives, if the workflow counts them."""

REDRIVEN_AT = "$redriven_at"
"""Variable with the time of the last redrive in milliseconds since 1970, beside `REDRIVES`."""

CHILD = "$child"
"""Variable with the child execution of a branch of a distributed Map, if the workflow names them."""


SEED = "$seed"
"""Variable with the execution's secret, if the workflow draws random numbers: public data alone could be guessed."""


@dataclass(frozen=True)
class EvaluationContext:
    """Point of an execution between two commits, equal for every delivery.

    Attributes:
        workflow: the workflow.
        execution: the execution.
        entered_ms: entry into the states in milliseconds since 1970: the commit before them, or the end of a later
            Wait.
        seed: seed of random numbers beside the execution's secret, from the name of the commit.
        variables: visible variables, and the execution's input if the workflow keeps it.
        visited: number of states visited since the commit.
    """

    workflow: Workflow
    execution: Execution
    entered_ms: int
    seed: str
    variables: Mapping[str, Json] = field(default_factory=dict)
    visited: int = 0

    @property
    def is_late(self) -> bool:
        """True after the execution's deadline."""
        return self.is_late_at(self.entered_ms)

    def is_late_at(self, ms: int) -> bool:
        """Return True if `ms`, in milliseconds since 1970, is past the execution's deadline."""
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
        """Return the context of expressions in `state`.

        Args:
            state: name of the state.
            retries: uses of its retriers, for a Task.
            now_ms: current time, if that may be later than the entry.
            token: task token for the responder.
            part: part of the visit, for parts that must draw different random numbers.
        """
        return ExpressionContext(
            context_object=self._context(state, retries, token),
            variables=self.variables,
            now_ms=self.entered_ms if now_ms is None else now_ms,
            seed=f"{self.variables.get(SEED, '')}{self.seed}+{self.visited} {state}{part}",
        )

    def after(self, variables: Mapping[str, Json], *, entered_ms: int | None = None) -> "EvaluationContext":
        """Return the next state's evaluation context: `variables`, and `entered_ms` after a Wait."""
        entered_ms = self.entered_ms if entered_ms is None else entered_ms
        return EvaluationContext(self.workflow, self.execution, entered_ms, self.seed, variables, self.visited + 1)

    def _context(self, state: str, retries: tuple[int, ...] | None, token: str) -> dict[str, Json]:
        workflow, child = self.workflow, self.variables.get(CHILD)
        label, name, started_ms = child or ("", self.execution.name, self.execution.started_ms)
        context: dict[str, Json] = {
            "Execution": {
                "Id": workflow.home.arn(f"execution:{workflow.name}{label}:{name}"),
                "Name": name,
                "StartTime": timestamp(started_ms),
                "RoleArn": workflow.home.role_arn,
                "RedriveCount": self.variables.get(REDRIVES, 0),
            },
            "State": {"Name": workflow.visible_name(state), "EnteredTime": timestamp(self.entered_ms)},
            "StateMachine": {"Id": workflow.home.arn(f"stateMachine:{workflow.name}"), "Name": workflow.name},
        }
        if REDRIVEN_AT in self.variables:
            context["Execution"]["RedriveTime"] = timestamp(self.variables[REDRIVEN_AT])
        if INPUT in self.variables:
            context["Execution"]["Input"] = self.variables[INPUT]
        if retries is not None:
            context["State"]["RetryCount"] = sum(retries)
        if token:
            context["Task"] = {"Token": token}
        return context


def child_execution(state: Map, branch: EvaluationContext) -> list[Json]:
    """Return the child execution of a `branch` of `state`: the end of its workflow's name, its name, its start time.

    Step Functions names child executions by random UUIDs; these are derived, so that every delivery has the same. They
    begin with the time of entering the Map and a mark of the execution, by which readers find it.
    Source: AWS Step Functions Developer Guide, "Using Map state in Distributed mode".
    """
    entered, digest = f"{branch.entered_ms:012x}", sha256(f"{branch.execution} {branch.seed}".encode())
    mark = parent_mark(branch.execution.name)
    name = f"{entered[:8]}-{entered[8:]}-8{mark}-8{digest[:3]}-{digest[3:15]}"  # version 8: of one's own kind
    return [f"/{state.data.get('Label', state.name)}", name, branch.entered_ms]


def parent_mark(execution: str) -> str:
    """Return the mark of the execution called `execution` in the names of its child executions."""
    return sha256(execution.encode())[:3]


def compiled(workflow: Workflow, state: State) -> Program:
    """Return the compiled fields of `state`; each field compiles itself when it is first used."""
    return _programs(workflow)[state.name]


@lru_cache(maxsize=64)
def _programs(workflow: Workflow) -> Mapping[str, Program]:
    return {name: program(state) for name, state in workflow.states.items()}


def of_execution(variables: Mapping[str, Json]) -> dict[str, Json]:
    """Return secret, count and time of redrives of the execution alone, from `variables`."""
    return {name: variables[name] for name in (REDRIVES, REDRIVEN_AT, SEED) if name in variables}


def without_redrives(variables: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return `variables` without number and time of redrives."""
    return {name: value for name, value in variables.items() if name not in (REDRIVES, REDRIVEN_AT)}


def deadline(workflow: Workflow, execution: Execution) -> int | None:
    """Return the deadline of an execution in milliseconds since 1970; None without a time limit."""
    return None if workflow.timeout_s is None else execution.started_ms + workflow.timeout_s * 1000


@lru_cache(maxsize=256)
def timestamp(ms: int) -> str:
    """Format a time in RFC 3339 with milliseconds, as Step Functions does."""
    seconds, rest_ms = divmod(ms, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest_ms:03d}Z"
