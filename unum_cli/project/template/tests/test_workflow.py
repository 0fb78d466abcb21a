"""The workflow in this process, with the real handlers and without AWS."""

from local import FUNCTIONS

from unum_compiler.testing import Faults

WORKFLOW = "workflow.asl.json"
ORDER = {"order": {"apple": 3, "plum": 2}}


def test_an_order_is_priced(run_workflow):
    done = run_workflow(WORKFLOW, FUNCTIONS, ORDER)
    assert done.output == {"lines": 2, "cents": 130}


def test_an_unknown_item_fails_the_execution(run_workflow):
    error, _cause = run_workflow(WORKFLOW, FUNCTIONS, {"order": {"brick": 1}}).failure
    assert error == "KeyError"


def test_crashes_and_duplicates_change_nothing(run_workflow):
    done = run_workflow(WORKFLOW, FUNCTIONS, ORDER, faults=Faults(crashes=2, duplicates=2))
    assert done.output == {"lines": 2, "cents": 130}
