"""Simulating a user's workflow: what tests call."""

from collections.abc import Mapping
from dataclasses import dataclass

from unum_runtime.model.checkpoint import Ending
from unum_runtime.model.ir import Json, Workflow
from unum_runtime.simulator.exploration import Run, random_run
from unum_runtime.simulator.faults import Faults
from unum_runtime.simulator.scenario import Function, Scenario, VirtualClock
from unum_runtime.simulator.violation import Trace

DEFAULT_RUNS = 100


@dataclass(frozen=True, slots=True)
class Simulation:
    """What came of some executions of one workflow, each under other faults.

    Attributes:
        runs: the executions; never empty.
    """

    runs: tuple[Run, ...]

    @property
    def ending(self) -> Ending:
        """How the first execution ended."""
        return self.runs[0].ending

    @property
    def trace(self) -> Trace:
        """What happened in the first execution."""
        return self.runs[0].trace

    @property
    def clock(self) -> VirtualClock:
        """The clock of the first execution, as it was at its end."""
        return VirtualClock(self.runs[0].now_ms)

    def assert_one_result(self) -> Ending:
        """How every execution ended, whatever happened in it.

        Raises:
            AssertionError: they did not all end alike; names a seed for each ending.
        """
        seeds: dict[str, int | None] = {}
        for run in self.runs:
            seeds.setdefault(repr(run.ending), run.trace.seed)
        if len(seeds) > 1:
            found = "\n".join(f"seed {seed}: {ending}" for ending, seed in seeds.items())
            raise AssertionError(f"{len(self.runs)} executions came to {len(seeds)} results:\n{found}")
        return self.ending


def simulate(
    workflow: Workflow,
    functions: Mapping[str, Function],
    input: Json = None,  # noqa: A002 - boto3 calls it so
    *,
    faults: Faults | None = None,
    seed: int = 0,
    runs: int = DEFAULT_RUNS,
) -> Simulation:
    """Execute `workflow` several times in this process, each time with other faults at other moments.

    Args:
        workflow: the compiled workflow.
        functions: a handler (event, context) for each function key, or for a single Task under the Task's name, which
            takes precedence; its context is a `Context`.
        input: what the executions are started with.
        faults: what the platform may do; by default one crash and one duplicate in each execution.
        seed: of the first execution; each has the next. The same seed does the same again.
        runs: how many executions.

    Raises:
        Violation: the runtime broke one of its guarantees.
        KeyError: a Task has no handler.
        ValueError: `runs` is not positive.
    """
    if runs < 1:
        raise ValueError(f"runs: expected a number from 1 on, got {runs!r}")
    scenario = Scenario(workflow=workflow, functions=functions, input=input, faults=faults or Faults(), tick_ms=1)
    return Simulation(tuple(random_run(scenario, seed + run, is_logged=run == 0) for run in range(runs)))
