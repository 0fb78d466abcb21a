import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.word_count.text import genesis
from tests.e2e.conftest import Deployment
from tests.examples.counting import counted
from tests.patience import PATIENCE_S
from unum_client import Description
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e

EXAMPLES = Path(__file__).parents[2] / "examples"


def event(app: str) -> Any:
    return json.loads((EXAMPLES / app / "event.json").read_text(encoding="utf-8"))


def run(deployment: Deployment, stack: str, value: Any) -> Description:
    client = deployment.client(stack)
    return client.wait(client.start(value).name, timeout_s=PATIENCE_S)


def test_text_processing_publishes_the_post_with_short_urls(deployment: Deployment) -> None:
    ended = run(deployment, "TextProcessing", event("text_processing"))
    assert ended.status is Status.SUCCEEDED, ended.cause
    post = ended.output
    assert post["mentions"] == ["grace_h", "åsa"]
    posts = deployment.table("TextProcessing", "PostsTable")
    assert posts.get_item(Key={"post_id": post["post_id"]})["Item"] == post
    urls = deployment.table("TextProcessing", "UrlsTable")
    for short, url in post["urls"].items():
        assert short in post["text"]
        assert urls.get_item(Key={"code": short.removeprefix("https://sho.example/")})["Item"]["url"] == url


def test_text_processing_commits_one_step_for_each_function(deployment: Deployment) -> None:
    client = deployment.client("TextProcessing")
    name = client.start(event("text_processing"), name="steps").name
    client.wait(name, timeout_s=PATIENCE_S)
    steps = [(step.state, step.index) for step in client.steps(name) if step.duration_ms or step.state != "Analyze"]
    assert sorted(steps) == [
        ("CreatePost", ()),
        ("FindMentions", (0,)),
        ("FindUrls", (1,)),
        ("Publish", ()),
        ("ShortenUrls", (1,)),
    ]


@pytest.mark.parametrize(
    ("celsius", "decision"),
    [
        (21.5, {"room": "library", "mode": "keep", "power": 0}),
        (26.5, {"room": "library", "mode": "cool", "power": 50}),
    ],
)
def test_iot_pipeline_decides(deployment: Deployment, celsius: float, decision: dict[str, Any]) -> None:
    value = event("iot_pipeline") | {"readings": [{"sensor": "door", "celsius": celsius}]}
    assert run(deployment, "IotPipeline", value).output == decision


def test_word_count_counts_what_a_counter_counts(deployment: Deployment) -> None:
    text = genesis()
    assert len(text) > 100_000
    expected = counted(text)
    bucket = deployment.session.resource("s3").Bucket(deployment.outputs["WordCount"]["Bucket"])
    bucket.put_object(Key="texts/genesis.txt", Body=text.encode())
    ended = run(deployment, "WordCount", event("word_count"))
    assert ended.status is Status.SUCCEEDED, ended.cause
    assert (ended.output["words"], ended.output["distinct"]) == (expected.total(), len(expected))
    assert json.load(bucket.Object(ended.output["counts"]).get()["Body"]) == dict(expected)


@pytest.fixture
def upload(deployment: Deployment) -> Callable[[str, str], None]:
    bucket = deployment.session.resource("s3").Bucket(deployment.outputs["ExistingApp"]["UploadsBucket"])

    def put(key: str, text: str) -> None:
        bucket.put_object(Key=key, Body=text.encode())

    return put


def test_an_upload_starts_a_workflow_in_an_existing_app(
    deployment: Deployment, upload: Callable[[str, str], None]
) -> None:
    upload("orders/monday.csv", "article,quantity\nbolt,100\ngear,2\n")
    booked = wait_for(lambda: deployment.table("ExistingApp", "OrdersTable").scan()["Items"])
    assert sorted((order["article"], int(order["cents"])) for order in booked) == [("bolt", 1140), ("gear", 500)]
    ended = deployment.client("ExistingApp").wait(booked[0]["execution"], timeout_s=PATIENCE_S)
    assert ended.output == {"file": "orders/monday.csv", "booked": 2, "cents": 1640}
    assert ended.input["detail"]["object"]["key"] == "orders/monday.csv"


def test_a_function_of_a_workflow_answers_everybody_else_as_before(deployment: Deployment) -> None:
    outputs = deployment.outputs["ExistingApp"]
    assert deployment.invoke(outputs["PriceFunction"], {"article": "gear", "quantity": 3}) == 750
    assert deployment.invoke(outputs["QuoteFunction"], {"article": "gear", "quantity": 3}) == "3 x gear: 7.50"
    refused = deployment.invoke(outputs["QuoteFunction"], {"article": "goose", "quantity": 1})
    assert refused.startswith("We cannot make you an offer: article 'goose'")


def wait_for(look: Callable[[], Any], limit_s: float = 30.0) -> Any:
    """Return the first result of `look` that is true."""
    deadline = time.monotonic() + limit_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"nothing found in {limit_s} s"
        time.sleep(0.1)
    return found
