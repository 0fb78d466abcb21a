"""Lists of executions on a deployed table with its index."""

import pytest

from tests.e2e.conftest import Deployment
from tests.patience import PATIENCE_S
from unum_client import Client
from unum_runtime.errors import NoIndex
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    return deployment.client("Guards")


def test_deployed_executions_are_listed_by_status_newest_first(client: Client) -> None:
    for name in ("listed-1", "listed-2"):
        client.run({"n": 2, "seconds": 0}, name=name, timeout_s=PATIENCE_S)
    client.run({"n": "no number", "seconds": 0}, name="listed-3", timeout_s=PATIENCE_S)
    page, token = client.list(Status.SUCCEEDED, limit=1)
    following, _ = client.list(Status.SUCCEEDED, limit=1, token=token)
    assert [each.name for each in (*page, *following)] == ["listed-2", "listed-1"]
    failed, *_ = client.list(Status.FAILED).executions
    described = client.describe("listed-3")
    assert (failed.name, failed.started_at, failed.stopped_at) == (
        "listed-3",
        described.started_at,
        described.stopped_at,
    )
    assert [each.name for each in client.list(limit=3).executions] == ["listed-3", "listed-2", "listed-1"]


def test_a_table_that_was_not_made_for_it(deployment: Deployment) -> None:
    with pytest.raises(NoIndex, match="list_executions=True"):
        deployment.client("Control", "Unlisted").list()
