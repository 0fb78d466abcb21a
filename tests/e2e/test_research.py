from collections.abc import Mapping

import pytest

from examples.research.stack import STACKS
from tests.e2e.conftest import Deployment
from tests.examples.research_cases import APPLICATIONS, CASES, FAILURES, Case, without_traces
from tests.patience import PATIENCE_S
from unum_client import Client
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def started(deployment: Deployment) -> Mapping[str, Client]:
    """Clients by the id of a case; all cases run at the same time, each as the execution of that name."""
    stacks = {each.name: stack.__name__ for stack in STACKS for each in stack.applications}
    clients = {}
    for case in [*CASES, *FAILURES]:
        workflow = APPLICATIONS[case.application].construct_id
        clients[case.id] = deployment.client(stacks[case.application], workflow)
        clients[case.id].start(case.value, name=case.id)
    return clients


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_each_application_returns_what_is_computed_without_it(started: Mapping[str, Client], case: Case) -> None:
    ended = started[case.id].wait(case.id, timeout_s=PATIENCE_S)
    assert ended.status is Status.SUCCEEDED, ended.cause
    assert without_traces(ended.output) == case.expected


@pytest.mark.parametrize("case", FAILURES, ids=lambda case: case.id)
def test_an_unfit_input_fails_the_execution(started: Mapping[str, Client], case: Case) -> None:
    assert started[case.id].wait(case.id, timeout_s=PATIENCE_S).error == case.expected
