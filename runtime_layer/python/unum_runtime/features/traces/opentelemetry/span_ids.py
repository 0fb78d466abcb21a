"""Names of traces and spans, computed from invocation names: functions and ``unum trace`` give the same ones.

Sources: W3C Trace Context, "trace-id" and "parent-id"; AWS X-Ray Developer Guide, "Tracing header".
"""

import hashlib

from unum_runtime.json_text import to_ascii
from unum_runtime.model.naming import Execution, Name, Scope

EXECUTION, STEP, PART, ATTEMPT, WAIT, SCOPE, BRANCH = "execution", "step", "part", "attempt", "wait", "scope", "branch"
"""Kinds of spans in their names. Stored traces refer to them, so they never change."""

_SECONDS = 0xFFFF_FFFF


def trace_id(workflow: str, execution: Execution) -> str:
    """Return the trace of an execution: 32 hexadecimal digits.

    The first eight are the time of the start in seconds since 1970: X-Ray refuses traces without it.
    """
    return f"{execution.started_ms // 1000 & _SECONDS:08x}{_digest('trace', workflow, str(execution))[:24]}"


def execution_span(workflow: str, execution: Execution) -> str:
    """Return an execution's span id, the root of its trace: 16 hexadecimal digits, like every span id."""
    return _span(EXECUTION, workflow, str(execution))


def step_span(workflow: str, name: Name | str) -> str:
    """Return the span of the step that commits as `name`, an invocation name, possibly as text."""
    return _span(STEP, workflow, str(name))


def part_span(workflow: str, name: Name, part: str, number: int) -> str:
    """Return the span id of a step's part `part`, number `number` in its time."""
    return _span(PART, workflow, str(name), part, str(number))


def attempt_span(workflow: str, name: Name | str, number: int) -> str:
    """Return the span id of a step's attempt `number`, counted from 1, failed or not."""
    return _span(ATTEMPT, workflow, str(name), str(number))


def wait_span(workflow: str, name: Name) -> str:
    """Return the span id of a Wait before the step `name`."""
    return _span(WAIT, workflow, str(name))


def scope_span(workflow: str, scope: Scope) -> str:
    """Return a fan-out's span id."""
    return _span(SCOPE, workflow, str(scope.join), scope.state, str(scope.generation))


def branch_span(workflow: str, scope: Scope, index: int) -> str:
    """Return a fan-out branch's span id."""
    return _span(BRANCH, workflow, str(scope.join), scope.state, str(scope.generation), str(index))


def _span(*place: str) -> str:
    return _digest(*place)[:16]


def _digest(*place: str) -> str:
    """Return a digest of `place`, which JSON encodes injectively."""
    return hashlib.sha256(to_ascii(place).encode()).hexdigest()
