from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import boto3
import pytest

from unum_runtime.model.checkpoint import Ending, Failure, Success

Load = Callable[[str, str], ModuleType]
Upload = Callable[[str], None]
FOLDERS = {"ReadOrders": "read_orders", "Price": "price", "Book": "book"}


@pytest.fixture
def orders(table: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("ORDERS_TABLE", "orders")
    return table("orders", "file", "line")


@pytest.fixture
def upload(aws: boto3.Session) -> Upload:
    bucket = aws.resource("s3").Bucket("uploads")
    bucket.create()

    def put(text: str) -> None:
        bucket.put_object(Key="orders/monday.csv", Body=text.encode("utf-8-sig"))

    return put


def test_orders_are_priced_and_booked(orders: Any, upload: Upload, run: Callable[..., Ending], event: Any) -> None:
    upload("article,quantity\r\nbolt,100\r\n gear ,2\r\n")
    ending = run("existing_app", event("existing_app"), **FOLDERS)
    assert ending.outcome == Success({"file": "orders/monday.csv", "booked": 2, "cents": 1140 + 500})
    booked = sorted((item["line"], item["article"], int(item["cents"])) for item in orders.scan()["Items"])
    assert booked == [("0001", "bolt", 1140), ("0002", "gear", 500)]


def test_nothing_is_booked_of_a_file_with_an_unknown_article(
    orders: Any, upload: Upload, run: Callable[..., Ending], event: Any
) -> None:
    upload("article,quantity\nbolt,1\ngoose,1\n")
    ending = run("existing_app", event("existing_app"), **FOLDERS)
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "UnknownArticleError"
    assert orders.scan()["Items"] == []


def test_booking_twice_changes_nothing(orders: Any, load: Load) -> None:
    book = load("existing_app", "book")
    context = SimpleNamespace(unum=SimpleNamespace(execution="test"))
    event = {"file": "a.csv", "orders": [{"article": "bolt", "quantity": 1, "cents": 12}]}
    assert book.handle(event, context) == book.handle(event, context)
    assert len(orders.scan()["Items"]) == 1
