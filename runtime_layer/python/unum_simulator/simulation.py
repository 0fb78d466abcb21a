"""Entry point for users' tests: simulated executions of one workflow."""

from collections.abc import Mapping
from dataclasses import dataclass

from unum_runtime.model.checkpoint import Ending
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json
from unum_simulator.exploration import Run, Trace, random_run
from unum_simulator.faults import Faults
from unum_simulator.local import Function
from unum_simulator.scenario import Scenario, VirtualClock

DEFAULT_RUNS = 100


@dataclass(frozen=True, slots=True)
class Simulation:
    """Results of several executions, each under other faults.

    Attributes:
        runs: the executions; never empty.
    """

    runs: tuple[Run, ...]

    @property
    def ending(self) -> Ending:
        """The first execution's ending."""
        return self.runs[0].ending

    @property
    def trace(self) -> Trace:
        """The first execution's trace."""
        return self.runs[0].trace

    @property
    def clock(self) -> VirtualClock:
        """The first execution's clock, stopped at its end."""
        return VirtualClock(self.runs[0].now_ms)

    def assert_one_result(self) -> Ending:
        """Return the ending that all executions share.

        Raises:
            AssertionError: endings differ; the text names a seed for each ending.
        """
        seeds: dict[str, int | None] = {}
        for run in self.runs:
            seeds.setdefault(repr(run.ending), run.trace.seed)
        if len(seeds) > 1:
            found = "\n".join(f"seed {seed}: {ending}" for ending, seed in seeds.items())
            raise AssertionError(f"{len(self.runs)} executions had {len(seeds)} different endings:\n{found}")
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
    """Execute `workflow` several times in this process, with other faults at other times in each run.

    Args:
        workflow: the compiled workflow.
        functions: a handler (event, context) per function key, or per Task name, which takes precedence; the context is
            a `Context`.
        input: input of every execution.
        faults: fault budget; by default one crash and one duplicate per execution.
        seed: seed of the first execution; later executions add 1 each. Equal seeds reproduce equal runs.
        runs: number of executions.

    Raises:
        Violation: the runtime broke one of its guarantees.
        KeyError: a Task has no handler.
        ValueError: `runs` is not positive.
    """
    if runs < 1:
        raise ValueError(f"runs: expected at least 1, got {runs!r}")
    scenario = Scenario(workflow=workflow, functions=functions, input=input, faults=faults or Faults(), tick_ms=1)
    return Simulation(tuple(random_run(scenario, seed + run, is_logged=run == 0) for run in range(runs)))
