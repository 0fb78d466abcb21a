"""Accounts and containers of Cosmos DB that the store takes and refuses."""

from types import SimpleNamespace
from typing import Any

import pytest
from azure.cosmos import CosmosClient, PartitionKey

from tests.contract.cosmos_service import DATABASE, KEY, OPTIONS, CosmosServer, cosmos_server
from unum_azure.cosmos import CosmosStore, check_account, create_container
from unum_runtime.errors import StoreDenied, StoreError
from unum_runtime.model.naming import Key

ITEM = Key("w/e:1", "000000001")
TWO_REGIONS = {"readableLocations": [{"name": name, "databaseAccountEndpoint": ""} for name in ("West US", "East US")]}


def connect(server: CosmosServer, container: str = "state") -> CosmosStore:
    return CosmosStore.connect(server.url, KEY, DATABASE, container, **OPTIONS)


def create(server: CosmosServer, name: str = "state") -> None:
    with CosmosClient(server.url, KEY, **OPTIONS) as client:
        create_container(client.get_database_client(DATABASE), name)


@pytest.mark.parametrize(
    ("level", "account"), [("Strong", {}), ("Strong", TWO_REGIONS), ("BoundedStaleness", {})], ids=str
)
def test_accounts_whose_reads_show_every_write_are_taken(level: str, account: dict[str, Any]) -> None:
    with cosmos_server(level, **account) as server:
        create(server)
        create(server)  # a second time changes nothing
        store = connect(server)
        assert store.create(ITEM, {"at": 1}, expires_at_s=1_900_000_000) is None
        assert connect(server).read([ITEM]) == {ITEM: {"at": 1}}


@pytest.mark.parametrize(
    ("level", "account", "message"),
    [
        ("Session", {}, "expected the default consistency Strong.*got Session in South Central US"),
        ("Eventual", {}, "got Eventual"),
        ("BoundedStaleness", TWO_REGIONS, "got BoundedStaleness in West US, East US"),
        ("Strong", {"enableMultipleWriteLocations": True}, "expected one region for writes"),
        ("BoundedStaleness", {"writableLocations": TWO_REGIONS["readableLocations"]}, "expected one region for writes"),
    ],
    ids=str,
)
def test_accounts_that_break_the_contract_are_refused(level: str, account: dict[str, Any], message: str) -> None:
    with cosmos_server(level, **account) as server:
        create(server)
        with pytest.raises(StoreError, match=f"Cosmos DB {server.url} {DATABASE}/state: .*{message}"):
            connect(server)


def test_account_that_tells_no_consistency_is_refused() -> None:
    account = SimpleNamespace(
        ConsistencyPolicy=None,
        ReadableLocations=[{"name": "West US"}],
        WritableLocations=[{"name": "West US"}],
        _EnableMultipleWritableLocations=False,
    )
    with pytest.raises(StoreError, match="got None in West US"):
        check_account("place", account)


def test_containers_of_another_form_are_refused(cosmos: CosmosServer) -> None:
    with CosmosClient(cosmos.url, KEY, **OPTIONS) as client:
        database = client.get_database_client(DATABASE)
        database.create_container("other", PartitionKey("/pk"), default_ttl=-1)
        database.create_container("eternal", PartitionKey("/partition"))
        for name, found in {"other": r"\['/pk'\] and -1", "eternal": "None"}.items():
            with pytest.raises(StoreError, match=f"/{name}: expected the partition key /partition .*got .*{found}"):
                connect(cosmos, name)
            database.delete_container(name)


def test_an_absent_container_is_an_error_and_no_absent_item(cosmos: CosmosServer) -> None:
    with pytest.raises(StoreError, match=f"{cosmos.url} {DATABASE}/absent: (?!None)."):
        connect(cosmos, "absent")


def test_what_does_not_answer_is_an_error() -> None:
    with pytest.raises(StoreError, match=r"http://127\.0\.0\.1:1 tests/state: (?!None)."):
        CosmosStore.connect(
            "http://127.0.0.1:1", KEY, DATABASE, "state", retry_total=0, connection_timeout=1, **OPTIONS
        )


@pytest.mark.parametrize(
    ("status", "substatus", "kind"),
    [
        (403, 0, StoreDenied),  # a role, a key or a firewall
        (403, 5300, StoreDenied),  # an identity of Entra
        (401, 0, StoreDenied),
        (403, 1005, StoreError),  # a limit is reached
        (404, 1003, StoreError),  # the container is gone
        (404, 1013, StoreError),  # it is not there yet
    ],
)
def test_only_refused_permissions_stay_refused(
    cosmos: CosmosServer, status: int, substatus: int, kind: type[StoreError]
) -> None:
    with cosmos.store() as store:
        cosmos.fail(method="GET", path="/docs/", status=status, substatus=substatus)
        with pytest.raises(StoreError, match="read Cosmos DB container") as refused:
            store.read([ITEM])
        assert type(refused.value) is kind
        cosmos.fail(method="POST", path="/docs", status=status, substatus=substatus)
        with pytest.raises(StoreError, match="write Cosmos DB container") as refused:
            store.create(ITEM, {"at": 1}, expires_at_s=1_900_000_000)
        assert type(refused.value) is kind
