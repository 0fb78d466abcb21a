"""Names that events give to executions, and the same event delivered twice."""

import re
from typing import Any

import pytest

from tests.e2e.conftest import Deployment, until
from tests.patience import PATIENCE_S
from unum_cli.main import main
from unum_client import Client
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e

UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    return deployment.client("Named")


def started(client: Client, pattern: str) -> Any:
    """The only execution whose name matches, ended."""
    until(lambda: bool(matching(client, pattern)))
    (name,) = matching(client, pattern)
    ended = client.wait(name, timeout_s=PATIENCE_S)
    assert ended.status is Status.SUCCEEDED, ended
    return ended


def matching(client: Client, pattern: str) -> list[str]:
    return [each.name for each in client.list()[0] if re.fullmatch(pattern, each.name)]


def test_an_object_names_its_execution_also_when_the_event_comes_twice(deployment: Deployment, client: Client) -> None:
    alias = deployment.outputs["Named"]["WorkflowStartAlias"]
    s3, bucket = deployment.session.client("s3"), deployment.outputs["Named"]["UploadsBucket"]
    target = {"LambdaFunctionArn": alias, "Events": ["s3:ObjectCreated:*"]}
    s3.put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"LambdaFunctionConfigurations": [target]}
    )
    s3.put_object(Bucket=bucket, Key="in/2026/report one.csv", Body=b"1")
    ended = started(client, r"in-2026-report-one-csv-[0-9A-F]+_[0-9a-f]{20}")
    assert deployment.invoke(alias, ended.input)["execution"] == ended.name
    s3.put_object(Bucket=bucket, Key="in/2026/report one.csv", Body=b"2")
    until(lambda: len(matching(client, r"in-2026-report.*")) > 1)
    assert len(matching(client, r"in-2026-report.*")) == 2


def test_a_message_a_notice_and_an_event_are_found_by_their_ids(deployment: Deployment, client: Client) -> None:
    outputs, session = deployment.outputs["Named"], deployment.session
    sent = session.client("sqs").send_message(QueueUrl=outputs["QueueUrl"], MessageBody="{}")["MessageId"]
    queue = outputs["QueueUrl"].rpartition("/")[2]
    started(client, f"{queue[-43:].lstrip('-')}-{sent}")
    published = session.client("sns").publish(TopicArn=outputs["TopicArn"], Message="{}")["MessageId"]
    topic = outputs["TopicArn"].rpartition(":")[2]
    started(client, f"{topic[-43:].lstrip('-')}-{published}")
    entry = {"Source": "named.shop", "DetailType": "Order Placed", "Detail": "{}"}
    (put,) = session.client("events").put_events(Entries=[entry])["Entries"]
    started(client, f"Order-Placed-{put['EventId']}")
    entry = {"Source": "named.machine", "DetailType": "Order Placed", "Detail": '{"customer": "of a machine"}'}
    session.client("events").put_events(Entries=[entry])
    until(lambda: bool(client.list(attributes={"customer": "of a machine"})[0]))


def test_executions_are_found_by_attributes(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the definition, also where an event source starts, and those that a starter has chosen."""
    for number in range(4):
        client.start({"customer": number % 2}, name=f"of-{number}", attributes={"region": "eu"})
    client.submit({"customer": 1}, name="of-5", attributes={"customer": "7"})
    until(lambda: bool(client.list(attributes={"customer": "7"})[0]))
    assert {each.name for each in client.list(attributes={"customer": "1", "region": "eu"})[0]} == {"of-1", "of-3"}
    assert client.describe("of-1").attributes == {"customer": "1", "region": "eu"}
    assert all(each.name.startswith("Order-Placed") for each in client.list(attributes={"kind": "Order Placed"})[0])
    assert main(["list", "--attribute", "customer=7", "--stack", "Named", "--workflow", client.workflow]) == 0
    assert "of-5  customer=7" in capsys.readouterr().out
