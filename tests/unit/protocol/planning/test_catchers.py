"""Input of a catcher after a failure, and its next state."""

import pytest

from tests.unit.protocol.planning.plan_records import E
from tests.unit.protocol.planning.plan_workflows import CAUGHT
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.advance import Onward, fall_back
from unum_runtime.protocol.planning.evaluation import EvaluationContext


@pytest.mark.parametrize(
    ("failure", "shown"),
    [
        (Failure("Boom", "why"), {"Error": "Boom", "Cause": "why"}),
        (Failure("Boom", None), {"Error": "Boom"}),
        (Failure(None, "why"), {"Cause": "why"}),
        (Failure(None, None), {"Error": None, "Cause": None}),
    ],
)
def test_a_catcher_gets_the_texts_that_there_are_or_two_nulls(failure: Failure, shown: Json) -> None:
    left = fall_back(CAUGHT.task("A"), 1, failure, EvaluationContext(CAUGHT, E, 0, "seed"))
    assert isinstance(left, Onward)
    assert (left.target, left.value) == ("C", shown)
