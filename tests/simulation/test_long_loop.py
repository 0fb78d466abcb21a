"""A loop that is longer than Step Functions allows: 25,000 events are the most that an execution of it may have."""

import pytest

from unum_client.reading import stored_steps
from unum_constructs import Definition
from unum_runtime.model.checkpoint import Ending, Status, Success
from unum_runtime.model.naming import Execution
from unum_simulator.local import LocalWorkflow

PAUSE_S = 10

POLLING = {
    "StartAt": "Poll",
    "States": {
        "Poll": {"Type": "Task", "Resource": "Poll", "Next": "Done?"},
        "Done?": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.left", "NumericEquals": 0, "Next": "Done"}],
            "Default": "Pause",
        },
        "Pause": {"Type": "Wait", "Seconds": PAUSE_S, "Next": "Poll"},
        "Done": {"Type": "Succeed"},
    },
}


@pytest.mark.parametrize("rounds", [6_000, pytest.param(30_000, marks=pytest.mark.long)])
def test_a_loop_with_a_wait_in_each_round_ends(rounds: int) -> None:
    workflow = Definition.from_asl(POLLING).compile("polling", {"Poll"}, {})
    local = LocalWorkflow(workflow, {"Poll": lambda event, _context: {"left": event["left"] - 1}})

    ending = local.run("long", {"left": rounds})

    assert ending == Ending(Status.SUCCEEDED, Success({"left": 0}))
    first, *_, last = _committed_ms(local)
    assert last - first >= (rounds - 1) * PAUSE_S * 1000


def _committed_ms(local: LocalWorkflow) -> list[int]:
    started_ms = stored_steps.start_record(local.store, "polling", "long").committed_ms
    steps = stored_steps.steps(local.store, "polling", Execution("long", started_ms))
    return [step.committed_ms for step in steps]
