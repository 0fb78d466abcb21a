"""Tests of workflows in one process: mocks, injected faults, a virtual clock, and what an execution did.

`unum_compiler.testing.plugin` is the pytest plugin; its fixture `run_workflow` is `run_workflow` with the seed of the
command line.
"""

from unum_compiler.testing.workflow_runs import TaskRun, WorkflowRun, run_workflow
from unum_simulator.faults import Faults

__all__ = ["Faults", "TaskRun", "WorkflowRun", "run_workflow"]
