"""Workflows in one process, under everything that the platform may do to them: for our tests and for users' tests.

Names are resolved when they are used (PEP 562): running a workflow locally needs none of them, and the pytest plugin is
loaded before coverage is measured.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unum_runtime.simulator.exploration import Figures, explore, replay, search
    from unum_runtime.simulator.faults import NO_FAULTS, Faults
    from unum_runtime.simulator.invariants import Invariant
    from unum_runtime.simulator.scenario import Context, Function, Scenario
    from unum_runtime.simulator.simulation import Simulation, simulate
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

_MODULES = {
    "NO_FAULTS": "faults",
    "Context": "scenario",
    "Faults": "faults",
    "Figures": "exploration",
    "Function": "scenario",
    "Invariant": "invariants",
    "Scenario": "scenario",
    "Simulation": "simulation",
    "Trace": "violation",
    "Violation": "violation",
    "explore": "exploration",
    "replay": "exploration",
    "search": "exploration",
    "simulate": "simulation",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
