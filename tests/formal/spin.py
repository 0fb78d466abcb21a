"""Runs of Spin on the model: exhaustive checks, counterexamples, and random runs."""

import shutil
import subprocess
import tempfile
from pathlib import Path

MODEL = Path(__file__).with_name("protocol.pml")
DEPTH = 1_000_000
MOST_STEPS = 4_000
"""Steps of a random run; the clock ticks for ever."""

CYCLE = "<<<<<START OF CYCLE>>>>>"
SAFETY = ("-DSAFETY", "-DNOCLAIM")
MISSING = "the formal model needs Spin and gcc (Debian: apt-get install spin gcc)"


def is_installed() -> bool:
    """Return True if Spin and a compiler are there."""
    return shutil.which("spin") is not None and shutil.which("gcc") is not None


def verify(options: tuple[str, ...], *, is_liveness: bool) -> str:
    """Return the output of an exhaustive check, with weak fairness if it is of liveness."""
    with tempfile.TemporaryDirectory() as folder:
        return _verify(folder, options, () if is_liveness else SAFETY, is_liveness=is_liveness)


def counterexample(options: tuple[str, ...], *, is_liveness: bool) -> str:
    """Return the lines of a run that breaks an assertion, the shortest; or of one that never ends, up to its cycle."""
    with tempfile.TemporaryDirectory() as folder:
        _verify(folder, options, () if is_liveness else (*SAFETY, "-DBFS"), is_liveness=is_liveness)
        trail = next(Path(folder).glob("*.trail"))
        return _call(folder, "spin", "-t", "-k", trail.name, *_defined(options), str(MODEL)).partition(CYCLE)[0]


def random_run(options: tuple[str, ...], seed: int) -> str:
    """Return the lines of a random run."""
    with tempfile.TemporaryDirectory() as folder:
        return _call(folder, "spin", f"-n{seed}", f"-u{MOST_STEPS}", *_defined(options), str(MODEL))


def _verify(folder: str, options: tuple[str, ...], define: tuple[str, ...], *, is_liveness: bool) -> str:
    _call(folder, "spin", "-a", *_defined(options), str(MODEL))
    _call(folder, "gcc", "-w", "-O2", "-DNFAIR=3", *define, "-o", "pan", "pan.c")
    return _call(folder, "./pan", *(["-a", "-f"] if is_liveness else []), f"-m{DEPTH}", "-E")


def _defined(options: tuple[str, ...]) -> list[str]:
    return [f"-D{option}" for option in options]


def _call(folder: str, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    return done.stdout + done.stderr
