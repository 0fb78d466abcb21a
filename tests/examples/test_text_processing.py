from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from unum_runtime.model.checkpoint import Ending, Status, Success

Load = Callable[[str, str], ModuleType]


@pytest.fixture
def urls(table: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("URLS_TABLE", "urls")
    monkeypatch.setenv("SHORT_BASE", "https://sho.example/")
    return table("urls", "code")


@pytest.fixture
def posts(table: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("POSTS_TABLE", "posts")
    return table("posts", "post_id")


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("", []),
        ("@ada", ["ada"]),
        ("(@ada), @bob!", ["ada", "bob"]),
        ("@Ada and @ADA and @ada", ["ada"]),
        ("@Åsa is @A\u030asa", ["åsa"]),
        ("@日本語 @under_score9", ["日本語", "under_score9"]),
        ("mail@example.org, x.@y, https://example.org/@path, a@@b", []),
        ("@ alone, @" + "x" * 31, []),
    ],
)
def test_mentions_are_user_names_once_each(load: Load, text: str, mentions: list[str]) -> None:
    assert load("text_processing", "find_mentions").handle({"text": text}, None) == {"mentions": mentions}


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("no url, http://, https:// or ftp://example.org", []),
        ("See https://example.org.", ["https://example.org"]),
        ("https://example.org/a,b?c=d#e, next", ["https://example.org/a,b?c=d#e"]),
        ("(http://example.org/x)", ["http://example.org/x"]),
        ("https://example.org/Loom_(Jacquard)", ["https://example.org/Loom_(Jacquard)"]),
        ("(see https://example.org/Loom_(Jacquard)).", ["https://example.org/Loom_(Jacquard)"]),
        ("<HTTPS://Example.org/Ü>", ["HTTPS://Example.org/Ü"]),
        ("“https://example.org/quoted”…", ["https://example.org/quoted"]),
        ("https://a.example https://a.example", ["https://a.example", "https://a.example"]),
    ],
)
def test_urls_end_before_the_punctuation_around_them(load: Load, text: str, urls: list[str]) -> None:
    found = load("text_processing", "find_urls").handle({"text": text}, None)["urls"]
    assert [url["url"] for url in found] == urls
    assert [text[url["start"] : url["end"]] for url in found] == urls


def test_a_short_url_is_the_same_every_time(urls: Any, load: Load) -> None:
    shorten = load("text_processing", "shorten_urls")
    event = {"urls": [{"url": "https://a.example", "start": 3}, {"url": "https://b.example", "start": 30}]}
    first = shorten.handle(event, None)
    assert shorten.handle(event, None) == first
    assert [url["start"] for url in first["urls"]] == [3, 30]
    stored = {f"https://sho.example/{item['code']}": item["url"] for item in urls.scan()["Items"]}
    assert stored == {url["short"]: url["url"] for url in first["urls"]}


def test_a_code_that_another_url_has_is_left_alone(urls: Any, load: Load) -> None:
    shorten = load("text_processing", "shorten_urls")
    wanted = shorten.code("https://a.example", 0)
    urls.put_item(Item={"code": wanted, "url": "https://other.example"})
    assert shorten.store("https://a.example") == shorten.code("https://a.example", 1)
    assert urls.get_item(Key={"code": wanted})["Item"]["url"] == "https://other.example"


def test_every_occurrence_of_a_url_is_replaced_in_its_place(load: Load) -> None:
    text = "é https://a.example and https://b.example, https://a.example"
    found = load("text_processing", "find_urls").handle({"text": text}, None)["urls"]
    urls = [{**url, "short": url["url"].upper()[-9:]} for url in found]
    event = {"author": "ada", "text": text, "found": {"mentions": [], "urls": urls}}
    post = load("text_processing", "create_post").handle(event, None)
    assert post["text"] == "é A.EXAMPLE and B.EXAMPLE, A.EXAMPLE"
    assert post["urls"] == {"A.EXAMPLE": "https://a.example", "B.EXAMPLE": "https://b.example"}


def test_a_post_is_published_once_for_each_idempotency_key(posts: Any, load: Load) -> None:
    publish = load("text_processing", "publish")
    context = SimpleNamespace(unum=SimpleNamespace(idempotency_key="one"))
    other = SimpleNamespace(unum=SimpleNamespace(idempotency_key="two"))
    first = publish.handle({"text": "first"}, context)
    assert publish.handle({"text": "again"}, context) == first
    assert publish.handle({"text": "first"}, other)["post_id"] != first["post_id"]
    assert len(posts.scan()["Items"]) == 2


def test_the_workflow_publishes_the_post(urls: Any, posts: Any, run: Callable[..., Ending], event: Any) -> None:
    ending = run(
        "text_processing",
        event("text_processing"),
        FindMentions="find_mentions",
        FindUrls="find_urls",
        ShortenUrls="shorten_urls",
        CreatePost="create_post",
        Publish="publish",
    )
    assert ending.status is Status.SUCCEEDED
    assert isinstance(ending.outcome, Success)
    post = ending.outcome.value
    assert post["mentions"] == ["grace_h", "åsa"]
    assert set(post["urls"].values()) == {
        "https://example.org/wiki/Loom_(Jacquard)?page=2#cards",
        "http://example.com/engine",
    }
    assert posts.scan()["Items"] == [post]
    assert len(urls.scan()["Items"]) == 2
