"""Executions that the steps of an execution have started, for ``unum steps`` and ``unum describe``."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from unum_cli.timing.parents import Started
from unum_runtime.client.client import Client
from unum_runtime.client.control import Missing
from unum_runtime.client.descriptions import Step
from unum_runtime.errors import UnumError
from unum_runtime.model.checkpoint import Checkpoint, Success
from unum_runtime.protocol.history.timeline import Timeline, failed_with

_PART_OF_ARN = ":execution:"


def started_by(client: Client, name: str, steps: Iterable[Step]) -> Mapping[str, Sequence[Started]]:
    """Return the executions that `steps` of execution `name` have started, by the name of the step as text.

    The definition tells which Tasks start executions. It is read only if a step has an ARN of an execution; without
    it, nothing is returned.
    """
    if not any(_PART_OF_ARN in text for step in steps for text in _texts(step.checkpoint)):
        return {}
    # Loads all that rows of an execution need, which few commands do.
    from unum_cli.timing.levels import Levels  # noqa: PLC0415 - see above
    from unum_cli.timing.nesting import started_by_steps  # noqa: PLC0415 - see above

    try:
        past = client.past(name)
    except UnumError:
        return {}
    found: dict[str, list[Started]] = defaultdict(list)
    for step, each in started_by_steps(Levels(Timeline(*past), client.clock.now_ms())):
        found[step].append(each)
    return found


def awaited_by(missing: Missing) -> Started | None:
    """Return the execution whose end a step waits for; None if it waits for something else."""
    if missing.job is None:
        return None
    from unum_cli.timing.nesting import started_by_job  # noqa: PLC0415 - loads all that rows need

    return started_by_job(missing)


def _texts(checkpoint: Checkpoint) -> Iterator[str]:
    """Yield where a commit may tell of another execution: its value, and the cause of its failure."""
    if isinstance(checkpoint.outcome, Success):
        yield checkpoint.outcome.text
    failure = failed_with(checkpoint)
    if failure is not None:
        yield failure.cause or ""
