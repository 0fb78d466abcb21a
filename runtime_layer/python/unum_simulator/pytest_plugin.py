"""pytest fixture `simulate` for users' tests, and option ``--unum-seed`` to reproduce a failure.

pytest loads plugins before coverage measurement starts, so this module imports the runtime only inside a simulating
test.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unum_runtime.model.ir import Workflow
    from unum_runtime.model.states import Json
    from unum_simulator import Faults, Function, Simulation


@dataclass(frozen=True, slots=True)
class Simulate:
    """Callable fixture that runs `simulate` and adds its seeds to the test's report.

    Attributes:
        item: the test.
        seed: first seed, unless the call names another.
    """

    item: pytest.Item
    seed: int

    def __call__(
        self,
        workflow: "Workflow",
        functions: "Mapping[str, Function]",
        input: "Json" = None,  # noqa: A002 - boto3 calls it so
        *,
        faults: "Faults | None" = None,
        seed: int | None = None,
        runs: int | None = None,
    ) -> "Simulation":
        """Simulate the workflow; see `unum_simulator.simulate`."""
        from unum_simulator.simulation import DEFAULT_RUNS, simulate  # noqa: PLC0415 - see above

        first = self.seed if seed is None else seed
        runs = DEFAULT_RUNS if runs is None else runs
        note = f"seeds {first} to {first + runs - 1}; reproduce with --unum-seed={first}"
        self.item.add_report_section("call", "unum simulation", note)
        return simulate(workflow, functions, input, faults=faults, seed=first, runs=runs)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--unum-seed``."""
    parser.getgroup("unum").addoption(
        "--unum-seed", type=int, default=0, help="seed of the first execution of each simulation (default: 0)"
    )


@pytest.fixture
def simulate(request: pytest.FixtureRequest) -> Simulate:
    """Return a callable that executes a workflow repeatedly under faults; see `unum_simulator.simulate`."""
    assert isinstance(request.node, pytest.Item)  # noqa: S101 - a fixture of function scope belongs to a test
    return Simulate(request.node, request.config.getoption("--unum-seed"))
