"""pytest fixture `run_workflow` for users' tests.

pytest loads plugins before coverage measurement starts, so this module imports the compiler only inside a test.
"""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from unum_compiler.testing.workflow_runs import WorkflowRun


@pytest.fixture
def run_workflow(request: pytest.FixtureRequest) -> "Callable[..., WorkflowRun]":
    """Return `unum_compiler.testing.run_workflow`, with the seed of ``--unum-seed`` and a note in the test's report."""

    def run(*arguments: Any, **options: Any) -> "WorkflowRun":
        from unum_compiler.testing.workflow_runs import DEFAULT_RUNS, run_workflow  # noqa: PLC0415 - see above

        if options.get("faults") is None:
            return run_workflow(*arguments, **options)
        first = options.setdefault("seed", request.config.getoption("--unum-seed", default=0))
        last = first + options.get("runs", DEFAULT_RUNS) - 1
        note = f"seeds {first} to {last}; reproduce with --unum-seed={first}"
        request.node.add_report_section("call", "unum simulation", note)
        return run_workflow(*arguments, **options)

    return run
