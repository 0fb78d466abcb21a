"""Every read of outcomes asks DynamoDB for strong consistency, further pages and rounds included."""

from typing import Any

from unum_runtime.model.naming import Key
from unum_runtime.store.dynamodb import DynamoStore

ONE, OTHER = Key("p", "1"), Key("p", "2")


class PagingClient:
    """Client that answers each request in two parts, and records all requests."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def get_item(self, **parameters: Any) -> Any:
        self.asked.append(parameters)
        return {}

    def query(self, **parameters: Any) -> Any:
        self.asked.append(parameters)
        return {"Items": []} | ({} if "ExclusiveStartKey" in parameters else {"LastEvaluatedKey": {}})

    def batch_get_item(self, **parameters: Any) -> Any:
        (asked,) = parameters["RequestItems"].values()
        self.asked.append(asked)
        rest = asked["Keys"][1:]
        # As DynamoDB does: unprocessed keys come back with the request's other parameters.
        return {"Responses": {}, "UnprocessedKeys": {"t": asked | {"Keys": rest}} if rest else {}}

    def __getattr__(self, operation: str) -> Any:
        raise AssertionError(f"{operation}: no read")


def test_every_read_is_strongly_consistent() -> None:
    client = PagingClient()
    store = DynamoStore(client, "t")
    store.read([ONE])
    store.read([ONE, OTHER])
    store.query("p")
    store.query("p", newest=1)
    store.page("p", before="z", limit=2)
    store.erase("p")
    assert {asked["ConsistentRead"] for asked in client.asked} == {True}
    assert len(client.asked) == 11


def test_a_page_is_read_no_further_than_asked_for() -> None:
    class Endless(PagingClient):
        def query(self, **parameters: Any) -> Any:
            self.asked.append(parameters)
            item = {"pk": {"S": "p"}, "sk": {"S": str(len(self.asked))}, "ttl": {"N": str(2**40)}}
            return {"Items": [item], "LastEvaluatedKey": {}}

    client = Endless()
    assert len(DynamoStore(client, "t").page("p", before="z", limit=2)) == 2
    assert [asked["Limit"] for asked in client.asked] == [2, 2]
