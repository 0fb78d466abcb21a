"""Options of a workflow's functions, apart from their code."""

from dataclasses import dataclass

from unum_compiler.memoization import Memoization
from unum_runtime.model.states import Guard


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOptions:
    """Protection of a function's user code from running more often than necessary.

    Attributes:
        guard: protection from user code that runs again on a duplicate of its event. ``READ`` reads the store first;
            ``COMMIT`` reads nothing, and saves that request; ``LEASE`` also prevents two runs at the same time. None
            for the workflow's guard, by default ``READ``.
        checkpoint: commit the outcome. Without a checkpoint, the output goes straight to the next function, which
            saves a write, and user code runs again on every duplicate. One Task must be certain to follow: its commit
            makes the outcome unique.
        memoize: share results between executions: user code runs once for each input, as long as the function's
            version is the same and results are kept. An execution waits for a result that another one computes. Only
            for functions whose result depends on nothing but their input. A `Memoization` in place of True names
            results by a key and a version of your own, and gives them a lifetime and a scope.

    Raises:
        ValueError: the guard is unknown; an option is neither True nor False; or an option needs the checkpoint that
            `checkpoint` turns off.
    """

    guard: Guard | None = None
    checkpoint: bool = True
    memoize: bool | Memoization = False

    def __post_init__(self) -> None:
        if self.guard is not None:
            object.__setattr__(self, "guard", _parse_guard(self.guard))  # text such as "read" is accepted, too
        if type(self.checkpoint) is not bool:
            raise ValueError(f"checkpoint: expected True or False, got {self.checkpoint!r}")
        if type(self.memoize) not in (bool, Memoization):
            raise ValueError(f"memoize: expected True, False or a Memoization, got {self.memoize!r}")
        if self.checkpoint:
            return
        if self.guard is Guard.LEASE or self.memoize:
            other = "guard=Guard.LEASE" if self.guard is Guard.LEASE else f"memoize={self.memoize!r}"
            raise ValueError(
                f"expected checkpoint=False alone, got {other} as well: without a checkpoint, user code runs on every "
                "delivery; remove one of both"
            )


def _parse_guard(guard: str) -> Guard:
    if guard not in [*Guard]:
        raise ValueError(f"guard: expected one of {[str(each) for each in Guard]}, or None, got {guard!r}")
    return Guard(guard)


DEFAULT = FunctionOptions()
