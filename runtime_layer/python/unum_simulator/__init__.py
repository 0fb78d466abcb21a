"""Deterministic simulation of workflows in one process under platform faults, for Unum's tests and users' tests.

Modules load on first use (PEP 562): a local run of a workflow needs no names from here, and pytest loads the plugin
before coverage measurement starts.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unum_simulator.exploration import Figures, Trace, Violation, explore, replay, search
    from unum_simulator.faults import NO_FAULTS, Faults
    from unum_simulator.invariants import Invariant
    from unum_simulator.local import Function
    from unum_simulator.scenario import Context, Scenario
    from unum_simulator.simulation import Simulation, simulate

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

_NAMES = {
    "exploration": ("Figures", "Trace", "Violation", "explore", "replay", "search"),
    "faults": ("NO_FAULTS", "Faults"),
    "invariants": ("Invariant",),
    "local": ("Function",),
    "scenario": ("Context", "Scenario"),
    "simulation": ("Simulation", "simulate"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
