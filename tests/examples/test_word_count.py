import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any

import boto3
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples.word_count.text import genesis
from tests.examples.counting import counted
from unum_runtime.model.checkpoint import Ending, Success

Load = Callable[[str, str], ModuleType]


@pytest.fixture
def bucket(aws: boto3.Session, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("BUCKET", "texts")
    monkeypatch.setenv("CHUNK_BYTES", "30000")
    bucket = aws.resource("s3").Bucket("texts")
    bucket.create()
    return bucket


def test_the_workflow_counts_what_a_counter_counts(bucket: Any, run: Callable[..., Ending], event: Any) -> None:
    text = genesis()
    bucket.put_object(Key="texts/genesis.txt", Body=text.encode())
    ending = run(
        "word_count",
        event("word_count"),
        Split="split",
        Count="count",
        Shuffle="shuffle",
        Sum="sum",
        Summarize="summarize",
    )
    assert isinstance(ending.outcome, Success)
    expected = counted(text)
    result = ending.outcome.value
    assert (result["words"], result["distinct"]) == (expected.total(), len(expected))
    assert [count for _, count in result["most_frequent"]] == [count for _, count in expected.most_common(10)]
    stored = json.load(bucket.Object(result["counts"]).get()["Body"])
    assert stored == dict(expected)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(
    text=st.text(alphabet="aÅ\u2019\u65e5 \n", min_size=1, max_size=60),
    cuts=st.lists(st.integers(1, 100), max_size=5),
)
def test_no_word_is_cut_wherever_the_text_is(bucket: Any, load: Load, text: str, cuts: list[int]) -> None:
    data = text.encode()
    bucket.put_object(Key="text", Body=data)
    borders = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    read = load("word_count", "count").read
    chunks = [read("text", start=start, end=end) for start, end in pairwise(borders)]
    assert [word for chunk in chunks for word in chunk.split()] == text.split()


def test_a_word_longer_than_the_margin_is_refused(bucket: Any, load: Load) -> None:
    bucket.put_object(Key="text", Body=b"x" * 10_000)
    with pytest.raises(ValueError, match=r"text: expected whitespace within 4096 bytes from byte 99 on"):
        load("word_count", "count").read("text", start=0, end=100)


def test_an_empty_text_has_no_chunks(bucket: Any, load: Load) -> None:
    bucket.put_object(Key="text", Body=b"")
    assert load("word_count", "split").handle({"key": "text"}, None) == {"key": "text", "chunks": []}


@pytest.mark.usefixtures("bucket")
def test_a_word_is_in_one_partition_whatever_else_there_is(load: Load) -> None:
    partition = load("word_count", "count").partition
    alone = partition(Counter({"loom": 1}), 4)
    among = partition(Counter({"loom": 1, "card": 2, "engine": 3}), 4)
    assert [bool(part) for part in alone] == ["loom" in part for part in among]
