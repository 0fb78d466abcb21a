"""What a workflow asks of each of its functions, beside their code."""

from dataclasses import dataclass

from unum_runtime.model.ir import Guard


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOptions:
    """How far a function's user code is kept from running more often than it must.

    Attributes:
        guard: what is done against running user code again on a duplicate of its event. ``READ`` asks the store first;
            ``COMMIT`` asks nobody, and saves that request; ``LEASE`` also keeps it from running beside itself. None for
            the workflow's, which is ``READ`` unless that says otherwise.
        checkpoint: whether its outcome is committed. Without, its output goes straight to the next function,
            which saves a write, and user code runs again on every duplicate; possible only where one Task is sure to
            follow, for its commit is what makes the outcome unique.
        memoize: whether executions share results: user code runs once for each input, as long as the function's version
            is the same and results are kept. Only for functions whose result depends on nothing but their input.

    Raises:
        ValueError: there is no such guard; what has to be True or False is neither; or without a checkpoint there is
            nothing to guard or to share.
    """

    guard: Guard | None = None
    checkpoint: bool = True
    memoize: bool = False

    def __post_init__(self) -> None:
        if self.guard is not None:
            object.__setattr__(self, "guard", _checked_guard(self.guard))
        for option in ("checkpoint", "memoize"):
            if type(given := getattr(self, option)) is not bool:
                raise ValueError(f"{option}: expected True or False, got {given!r}")
        if self.checkpoint:
            return
        if self.guard is Guard.LEASE or self.memoize:
            given = "guard=Guard.LEASE" if self.guard is Guard.LEASE else "memoize=True"
            raise ValueError(
                f"expected checkpoint=False alone, got {given} as well: user code then runs on every delivery; "
                "remove one of both"
            )


def _checked_guard(guard: str) -> Guard:
    if guard not in [*Guard]:
        raise ValueError(f"guard: expected one of {[str(each) for each in Guard]}, or None, got {guard!r}")
    return Guard(guard)


DEFAULT = FunctionOptions()
