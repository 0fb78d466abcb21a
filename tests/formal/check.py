# ruff: noqa: T201 - a command prints
"""Check the formal model with Spin: `python -m tests.formal.check`; says so and ends well where Spin is missing.

Every scenario must satisfy all assertions and end under weak fairness, and every planted mistake must be found. Writes
the figures to `out/formal.json`.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tests.formal import spin

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "out" / "formal.json"
STATES = re.compile(r"^\s*(\d+) states, stored", re.MULTILINE)
ERRORS = re.compile(r"errors: (\d+)")

FAN_IN = ("CRASHES=1", "COPIES=1")
SCENARIOS = {
    "fan-in": FAN_IN,
    "failed branch": (*FAN_IN, "FAILURES=1"),
    "stop": ("CRASHES=1", "FAILURES=1", "STOP"),
    "lost event": ("LOSSES=1", "SWEEP"),
    "redrive": ("CRASHES=1", "FAILURES=1", "REDRIVE", "SWEEP"),
    "fork": ("CRASHES=1", "FORK", "SWEEP"),
}
"""What may happen in each scenario, as the model's definitions."""

KINDS = ("safety", "end")


@dataclass(frozen=True)
class Mistake:
    """A mistake of the model, by its number there.

    Attributes:
        number: the number.
        scenario: where it shows.
        is_silent: True if it breaks no assertion, but an execution does not end.
    """

    number: int
    scenario: str
    is_silent: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The model's definitions."""
        return (*SCENARIOS[self.scenario], f"MISTAKE={self.number}")


MISTAKES = {
    "loser stops": Mistake(1, "fan-in", is_silent=True),
    "own outcome": Mistake(2, "fan-in"),
    "counter": Mistake(3, "fan-in"),
    "complete first": Mistake(4, "fan-in"),
    "only at transition": Mistake(5, "fan-in", is_silent=True),
    "overwrite": Mistake(6, "fan-in"),
    "stop beside": Mistake(7, "stop"),
    "opens first": Mistake(8, "redrive"),
    "fork is a start": Mistake(9, "fork"),
    "nudge adds nothing": Mistake(10, "lost event", is_silent=True),
}


def main() -> int:
    """Check everything and tell the shell whether the model says what it should."""
    if not spin.is_installed():
        print(f"SKIPPED: {spin.MISSING}")
        return 0
    found = {
        name: (run(options, is_liveness=False), run(_ending(options), is_liveness=True))
        for name, options in SCENARIOS.items()
    }
    planted = {name: run(mistake.options, is_liveness=mistake.is_silent) for name, mistake in MISTAKES.items()}
    FIGURES.parent.mkdir(exist_ok=True)
    figures = {"scenarios": found, "mistakes": planted}
    FIGURES.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    checks = {f"{name}, {kind}": each for name, pair in found.items() for kind, each in zip(KINDS, pair, strict=True)}
    for name, (states, errors) in {**checks, **planted}.items():
        print(f"{name}: {states:,} states, {errors} errors")
    is_right = not any(errors for _, errors in checks.values())
    return 0 if is_right and all(errors for _, errors in planted.values()) else 1


def _ending(options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options for a check that executions end; a sweep beside two deliveries would take hours."""
    return (*options, "DELIVERIES=1") if "SWEEP" in options else options


def run(options: tuple[str, ...], *, is_liveness: bool) -> tuple[int, int]:
    """Return the numbers of states and errors of an exhaustive check, with weak fairness if it is of liveness.

    Raises:
        RuntimeError: the check is not complete.
    """
    said = spin.verify(options, is_liveness=is_liveness)
    states, errors = STATES.search(said), ERRORS.search(said)
    if states is None or errors is None or "max search depth too small" in said:
        raise RuntimeError(f"{options}: the check is not complete:\n{said}")
    return int(states[1]), int(errors[1])


if __name__ == "__main__":
    raise SystemExit(main())
