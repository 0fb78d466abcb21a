"""Workflows in one process, under everything that the platform may do to them: for our tests and for users' tests."""

from unum_runtime.simulator.explore import Figures, explore, replay, search
from unum_runtime.simulator.faults import NO_FAULTS, Faults
from unum_runtime.simulator.invariants import Invariant
from unum_runtime.simulator.scenario import Context, Function, Scenario
from unum_runtime.simulator.simulate import Simulation, simulate
from unum_runtime.simulator.violation import Trace, Violation

__all__ = [
    "NO_FAULTS",
    "Context",
    "Faults",
    "Figures",
    "Function",
    "Invariant",
    "Scenario",
    "Simulation",
    "Trace",
    "Violation",
    "explore",
    "replay",
    "search",
    "simulate",
]
