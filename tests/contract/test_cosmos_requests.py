"""Requests to Cosmos DB and errors made of its refusals, without a server."""

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError

from tests.contract.conftest import MovableClock
from unum_azure import cosmos
from unum_azure.cosmos import CosmosStore, create_container
from unum_runtime.errors import StoreDenied, StoreError
from unum_runtime.features.document_stores.conditional import Document
from unum_runtime.model.naming import Key

if TYPE_CHECKING:
    from azure.cosmos import ContainerProxy, DatabaseProxy

KEY, SET = Key("w/e:1", "000000001"), Key("w/e:1/done", "done")
KEY_ID = hashlib.sha256(b"w/e:1\x00000000001").hexdigest()
SET_ID = hashlib.sha256(b"w/e:1/done\x00done").hexdigest()


class Container:
    """Container that notes requests and answers each with `answer`, or fails with `status`."""

    id = "c"

    def __init__(self, answer: Any = None, *, status: int | None = None, substatus: int | None = None) -> None:
        self.answer, self.status, self.substatus = answer, status, substatus
        self.asked: list[tuple[str, Any, dict[str, Any]]] = []

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            self.asked.append((operation, given, options))
            if self.status is not None:
                error = CosmosHttpResponseError(self.status, "why")  # type: ignore[no-untyped-call]
                error.sub_status = self.substatus
                raise error
            return self.answer

        return call


def store(container: Container) -> CosmosStore:
    clock = MovableClock()
    clock.ms += 500  # so that seconds are rounded
    return CosmosStore(cast("ContainerProxy", container), clock)


def soon(milliseconds: int = 0) -> int:
    return 1_800_000_060_000 + milliseconds


def test_an_item_is_stored_in_this_form() -> None:
    container = Container()
    store(container).create(KEY, {"at": 1}, expires_at_s=soon() // 1000)
    names = {"id": KEY_ID, "partition": KEY.partition, "sort": KEY.sort}
    body = {"expires_at_ms": soon(), "item": {"at": 1}, "ttl": 3_660, **names}
    assert container.asked == [("create_item", (body,), {})]
    assert type(container.asked[0][1][0]["ttl"]) is int


def test_expired_item_may_be_deleted_an_hour_from_now() -> None:
    container = Container()
    store(container).create(KEY, {"at": 1}, expires_at_s=soon() // 1000 - 10_000)
    assert container.asked[0][1][0]["ttl"] == 3_600


@pytest.mark.parametrize("status", [409, 412, 449])
def test_lost_race_is_lost_whatever_its_substatus(status: int) -> None:
    container = Container(status=status, substatus=5352)
    assert store(container).put(KEY, Document(soon(), {}), replaces=None) is False


def test_set_has_this_stored_form_and_adds_many_members_without_a_patch() -> None:
    container = Container(status=404)
    given = Document(soon(), {}, frozenset({10, 9}))
    assert store(container).put(SET, given, replaces=None) is False
    names = {"id": SET_ID, "partition": SET.partition, "sort": SET.sort}
    body = {"expires_at_ms": soon(), "item": {}, "members": {"m9": 1, "m10": 1}, "is_set": True, "ttl": 3_660, **names}
    assert container.asked == [("create_item", (body,), {})]


def test_members_are_added_to_a_live_set_by_one_patch_without_a_read() -> None:
    container = Container({"expires_at_ms": soon(), "item": {}, "members": {"m1": 1, "m2": 1}, "_etag": "x"})
    assert store(container).add(SET, 2, expires_at_s=soon() // 1000) == {1, 2}
    changes = {"/expires_at_ms": soon(), "/ttl": 3_660, "/members/m2": 1}
    operations = [{"op": "set", "path": path, "value": value} for path, value in changes.items()]
    (asked,) = container.asked
    assert asked == (
        "patch_item",
        (SET_ID, SET.partition, operations),
        {"filter_predicate": "from c where c.expires_at_ms > 1800000000500 and c.is_set = true"},
    )


@pytest.mark.parametrize(("members", "operation"), [(8, "patch_item"), (9, "read_item")])
def test_a_patch_has_as_many_operations_as_cosmos_db_takes(members: int, operation: str) -> None:
    container = Container(status=400)
    with pytest.raises(StoreError):
        store(container).add(SET, *range(members), expires_at_s=soon() // 1000)
    assert [each for each, _, _ in container.asked] == [operation]


def test_a_partition_is_read_where_it_is_and_no_further_than_needed() -> None:
    container = Container([])
    store(container).query("p")
    store(container).query("p", newest=3)
    assert [options["partition_key"] for _, _, options in container.asked] == ["p", "p"]
    assert [options["max_item_count"] for _, _, options in container.asked] == [None, 3]


def test_index_is_read_across_partitions_and_no_further_than_needed() -> None:
    container = Container([])
    store(container).list_items("p", limit=3)
    ((_, _, options),) = container.asked
    assert (options["enable_cross_partition_query"], options["max_item_count"]) == (True, 3)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda store: store.read([KEY]), r"read Cosmos DB container c Key\([^\n]*: Status code: "),
        (
            lambda store: store.create(KEY, {}, expires_at_s=1),
            r"write Cosmos DB container c Key\([^\n]*: Status code: ",
        ),
        (lambda store: store.add(SET, 1, expires_at_s=1), r"patch Cosmos DB container c Key\([^\n]*: Status code: "),
        (lambda store: store.query("p"), r"query Cosmos DB container c \{[^\n]*: Status code: "),
        (lambda store: store._delete(KEY), r"delete Cosmos DB container c Key\([^\n]*: Status code: "),
    ],
)
@pytest.mark.parametrize(("status", "kind"), [(401, StoreDenied), (500, StoreError)])
def test_a_refusal_is_an_error_that_names_operation_and_place(
    ask: Callable[[CosmosStore], Any], text: str, status: int, kind: type[StoreError]
) -> None:
    with pytest.raises(StoreError, match=f"^{text}{status}") as refused:
        ask(store(Container(status=status)))
    assert type(refused.value) is kind


def test_what_has_expired_before_its_deletion_is_deleted() -> None:
    container = Container(status=404)
    store(container)._delete(KEY)
    assert container.asked == [("delete_item", (KEY_ID, KEY.partition), {})]


def test_container_indexes_queried_fields_only_and_keeps_items_without_ttl() -> None:
    database = Container("made")
    made: Any = create_container(cast("DatabaseProxy", database), "state", offer_throughput=400)
    assert made == "made"
    ((operation, (name, key), options),) = database.asked
    assert (operation, name, key["paths"]) == ("create_container_if_not_exists", "state", ["/partition"])
    paths = ("/partition/?", "/sort/?", "/item/list/?", "/item/list_at/?")
    policy = {"includedPaths": [{"path": path} for path in paths], "excludedPaths": [{"path": "/*"}]}
    assert options == {"indexing_policy": policy, "default_ttl": -1, "offer_throughput": 400}


def test_a_container_without_a_partition_key_is_refused() -> None:
    with pytest.raises(StoreError, match=r"^state: expected the partition key /partition .*got None and -1"):
        cosmos._check_container("state", {"id": "state", "defaultTtl": -1})
