"""Executions that the steps of an execution have started, read when a step tells of one."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from unum_cli.timing.parents import Started
from unum_client.client import Client
from unum_client.control import Missing
from unum_client.descriptions import Step
from unum_runtime.model.checkpoint import Checkpoint, Success
from unum_runtime.protocol.history.timeline import Timeline, failed_with

_PART_OF_ARN = ":execution:"


@dataclass(frozen=True)
class Relations:
    """Relations of one execution to those that it has started.

    Attributes:
        client: client of its workflow.
        name: its name.
    """

    client: Client
    name: str

    def started_by(self, step: Step) -> Sequence[Started]:
        """Return the executions that `step` has started.

        The definition tells which Tasks start executions. It is read with the first step that has an ARN of one.

        Raises:
            UnumError: the definition is not stored, or the store did not answer.
        """
        if not any(_PART_OF_ARN in text for text in _texts(step.checkpoint)):
            return ()
        return self._by_step.get(str(step.checkpoint.name), ())

    @cached_property
    def _by_step(self) -> Mapping[str, Sequence[Started]]:
        # Loads all that rows of an execution need, which few commands do.
        from unum_cli.timing.levels import Levels  # noqa: PLC0415 - see above
        from unum_cli.timing.nesting import started_by_steps  # noqa: PLC0415 - see above

        found: dict[str, list[Started]] = defaultdict(list)
        levels = Levels(Timeline(*self.client.past(self.name)), self.client.clock.now_ms())
        for step, each in started_by_steps(levels):
            found[step].append(each)
        return found


def awaited_by(missing: Missing) -> Sequence[Started]:
    """Return the execution whose end a step waits for; empty if it waits for something else."""
    if missing.job is None:
        return ()
    from unum_cli.timing.nesting import started_by_job  # noqa: PLC0415 - loads all that rows need

    found = started_by_job(missing)
    return () if found is None else (found,)


def _texts(checkpoint: Checkpoint) -> Iterator[str]:
    """Yield where a commit may tell of another execution: its value, and the cause of its failure."""
    if isinstance(checkpoint.outcome, Success):
        yield checkpoint.outcome.text
    failure = failed_with(checkpoint)
    if failure is not None:
        yield failure.cause or ""
