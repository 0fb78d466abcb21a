"""Limits of one execution."""

from dataclasses import dataclass

from constructs import Construct

from unum_compiler.payload_storage import Payload
from unum_constructs.errors import ConstructError
from unum_runtime.model.ir import DEFAULT_HOP_BUDGET, Workflow
from unum_runtime.model.states import Parallel
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one execution, which bound what it may cost.

    Attributes:
        hop_budget: most steps between the start and any other step; more fail the execution, which ends endless loops.
        width_budget: most branches of one Map or Parallel; more fail the execution. Default: 100,000.
        invocation_budget: most invocations of an execution, as estimated from the place of a step; more fail the
            execution. Default: 10,000,000.
        payload_limit: largest output of a state, in bytes of JSON; larger outputs fail with
            ``States.DataLimitExceeded``. Default: the most that is stored.
    """

    hop_budget: int = DEFAULT_HOP_BUDGET
    width_budget: int | None = None
    invocation_budget: int | None = None
    payload_limit: int | None = None

    def checked_hop_budget(self, workflow: Construct, compiled: Workflow) -> int:
        """Return the most steps in sequence.

        Raises:
            ConstructError: it is below 1, or no whole number.
        """
        _checked_budget(workflow, "limits.hop_budget", self.hop_budget, "step")
        return min(self.hop_budget, compiled.hop_budget) if compiled.strict else self.hop_budget

    def checked_width_budget(self, workflow: Construct, compiled: Workflow) -> int | None:
        """Return the most branches of one fan-out; None for the runtime's default.

        Raises:
            ConstructError: it is below 1 or no whole number, or a Parallel has more branches.
        """
        most = _checked_budget(workflow, "limits.width_budget", self.width_budget, "branch")
        for state in compiled.states.values():
            if most is not None and isinstance(state, Parallel) and len(state.branches) > most:
                expected = f"expected at least the {len(state.branches)} branches of {state.name!r}"
                raise ConstructError(workflow, f"limits.width_budget: {expected}, got {most}")
        return most

    def checked_invocation_budget(self, workflow: Construct) -> int | None:
        """Return the most invocations, as estimated; None for the runtime's default.

        Raises:
            ConstructError: it is below 1, or no whole number.
        """
        return _checked_budget(workflow, "limits.invocation_budget", self.invocation_budget, "invocation")

    def checked_payload_limit(self, workflow: Construct, compiled: Workflow, payload: str) -> int | None:
        """Return the largest output of a state, in bytes of JSON; None for the most that is stored.

        Raises:
            ConstructError: it is below 1, no whole number, or above what the mode of `compiled` or `payload` allows.
        """
        most = compiled.payload_limit if compiled.strict else None
        limit = most if self.payload_limit is None else self.payload_limit
        if limit is not None and (type(limit) is not int or limit < 1):
            raise ConstructError(workflow, f"limits.payload_limit: expected at least 1 byte, got {limit!r}")
        if most is not None and limit is not None and limit > most:
            expected = f'limits.payload_limit: compatibility="strict" allows at most {most} bytes'
            raise ConstructError(workflow, f"{expected}; got {limit}")
        if payload == Payload.INLINE and limit is not None and limit > MAX_OUTCOME_BYTES:
            expected = f'expected 1 to {MAX_OUTCOME_BYTES} bytes, the most that payload="inline" stores'
            raise ConstructError(workflow, f"limits.payload_limit: {expected}; got {limit}")
        return limit


def _checked_budget(workflow: Construct, option: str, value: int | None, unit: str) -> int | None:
    # `type`, not `isinstance`: True is an int in Python.
    if value is not None and (type(value) is not int or value < 1):
        raise ConstructError(workflow, f"{option}: expected at least 1 {unit}, got {value!r}")
    return value
