"""What is stored of an execution, by the names of its invocations."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Phase
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Frames, Name, Scope
from unum_runtime.protocol.planning.plan import is_start


@dataclass
class Past:
    """The commits of one execution.

    Attributes:
        workflow: the version that it runs on.
        committed: its start record and its steps.
        stops: the stop records, each in the place of the step that would have been next.
    """

    workflow: Workflow
    committed: dict[Name, Checkpoint] = field(default_factory=dict)
    stops: list[Checkpoint] = field(default_factory=list)
    _steps: dict[Frames, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, workflow: Workflow, checkpoints: Iterable[Checkpoint]) -> "Past":
        """The past that `checkpoints` are.

        Raises:
            ClientError: the execution runs on another version.
        """
        past = cls(workflow)
        for checkpoint in checkpoints:
            past._add(checkpoint)
        for steps in past._steps.values():
            steps.sort()
        return past

    @property
    def start(self) -> Checkpoint:
        """The start record."""
        return next(checkpoint for name, checkpoint in self.committed.items() if is_start(name))

    @property
    def latest_ms(self) -> int:
        """When something was committed last, in milliseconds since 1970."""
        return max(checkpoint.committed_ms for checkpoint in self.committed.values())

    @property
    def end(self) -> Checkpoint | None:
        """The commit that ended the execution; None while it runs, also after one that had ended it."""
        *_, last = self._top_level
        return None if last.ending is None else last

    @property
    def redriven(self) -> list[tuple[Checkpoint, Checkpoint]]:
        """The commits that had ended the execution before it was redriven, each with that of the redrive."""
        return [(before, after) for before, after in pairwise(self._top_level) if before.ending is not None]

    def outcome_of(self, scope: Scope) -> Checkpoint | None:
        """The commit of a fan-out itself; None where the Task that joins its results has committed in its place."""
        checkpoint = self.committed.get(scope.join)
        return checkpoint if checkpoint is not None and checkpoint.state == scope.state else None

    def after(self, name: Name) -> Checkpoint | None:
        """The first commit after `name` in its scope."""
        steps = self._steps.get(name.frames, [])
        position = bisect_right(steps, name.step)
        return self.committed[replace(name, step=steps[position])] if position < len(steps) else None

    def last(self, frames: Frames) -> Checkpoint | None:
        """The last commit of the branch with `frames` itself; None if it has committed nothing."""
        steps = self._steps.get(frames)
        return self.committed[Name(self.start.name.execution, frames, steps[-1])] if steps else None

    def has_begun(self, frames: Frames) -> bool:
        """Whether the branch with `frames` has committed something."""
        return frames in self._steps

    @property
    def _top_level(self) -> list[Checkpoint]:
        """The start record, the steps at the top level, and what stopped them."""
        steps = [self.committed[replace(self.start.name, step=step)] for step in self._steps[()]]
        return sorted([*steps, *self.stops], key=lambda checkpoint: checkpoint.name.step)

    def _add(self, checkpoint: Checkpoint) -> None:
        name, ours = checkpoint.name, self.workflow
        if checkpoint.is_stop:
            self.stops.append(checkpoint)
            return
        if not is_start(name) and checkpoint.digest != ours.digest:
            raise ClientError(
                f"{name}: ran on version {checkpoint.digest} of workflow {ours.name!r}, "
                f"but this is version {ours.digest}; give the definition that was deployed then"
            )
        self.committed[name] = checkpoint
        self._steps.setdefault(name.frames, []).append(name.step)


def failed_with(checkpoint: Checkpoint) -> Failure | None:
    """The failure that its state came to, also where that was caught or is retried; None where there was none."""
    match checkpoint.outcome:
        case (Failure() as failure) | Collected(Failure() as failure):
            return failure
    return checkpoint.continuation.caught


def is_success(checkpoint: Checkpoint) -> bool:
    """Whether its state has succeeded."""
    is_left = checkpoint.phase is Phase.LEFT or not isinstance(checkpoint.outcome, Collected)
    return is_left and failed_with(checkpoint) is None
