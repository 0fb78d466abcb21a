"""Functions of Google Cloud with their state in another store than Firestore."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.cosmos import CosmosClient

from tests.contract.cosmos_service import DATABASE, KEY, OPTIONS, CosmosServer, cosmos_server
from tests.google.one_process import NAME, behaviour, place, post
from unum_azure.cosmos import CosmosStore, create_container
from unum_azure.settings import SECRET, SETTINGS, open_store
from unum_client.reading import stored_steps
from unum_google import adapters, function
from unum_runtime.clock import SystemClock
from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import Success

OPEN = f"{open_store.__module__}.{open_store.__name__}"
EACH = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "StartAt": "Work",
                "States": {"Work": {"Type": "Task", "Resource": "Work", "End": True}},
            },
            "End": True,
        }
    },
}


@pytest.fixture(scope="module")
def server() -> Iterator[CosmosServer]:
    with cosmos_server() as server:
        client = CosmosClient(server.url, KEY, **OPTIONS)
        create_container(client.get_database_client(DATABASE), "state")
        client.close()
        yield server


@pytest.fixture
def account(server: CosmosServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The settings of a function; no later test gets the store that they open."""
    given = {"url": server.url, "database": DATABASE, "container": "state", **OPTIONS}
    monkeypatch.setenv(SETTINGS, json.dumps(given))
    monkeypatch.setenv(SECRET, KEY)
    adapters.store.cache_clear()
    yield given
    adapters.store.cache_clear()


def test_execution_keeps_its_state_in_cosmos_db(
    account: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = place(monkeypatch, tmp_path, EACH, store=OPEN)
    behaviour["work"] = lambda item: item * 2
    assert found.start([1, 2, 3]) == 200
    found.queue.deliver()
    store = CosmosStore.connect(**account, credential=KEY, clock=found.clock)
    record = stored_steps.start_record(store, NAME, "one")
    ending = stored_steps.ending(store, NAME, record.name.execution)
    assert ending is not None
    assert ending.outcome == Success([2, 4, 6])


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (None, r"UNUM_COSMOS: expected a JSON object with container, database, url, got \[\]"),
        ('{"url": "u"}', r"UNUM_COSMOS: expected a JSON object with container, database, url, got \['url'\]"),
        ("[]", "UNUM_COSMOS: expected a JSON object with container, database, url, got list"),
        ("{", "UNUM_COSMOS: expected a JSON object: "),
    ],
)
def test_settings_without_an_account_are_refused(
    settings: str | None, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, KEY)
    monkeypatch.delenv(SETTINGS, raising=False)
    if settings is not None:
        monkeypatch.setenv(SETTINGS, settings)
    with pytest.raises(StoreError, match=f"^{text}"):
        open_store(SystemClock())


@pytest.mark.usefixtures("account")
def test_store_has_the_clock_of_the_platform() -> None:
    clock = SystemClock()
    assert open_store(clock).clock is clock


def test_start_without_settings_is_put_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another answer would count as a death of the function, and fail a Task."""
    place(monkeypatch, tmp_path, EACH)
    monkeypatch.setattr(function, "start_runtime", lambda _: open_store(SystemClock()))
    monkeypatch.delenv(SETTINGS, raising=False)
    monkeypatch.setenv(SECRET, KEY)
    assert post(function.START, {"name": "one", "input": []})[0] == 429


@pytest.mark.usefixtures("account")
def test_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRET)
    with pytest.raises(StoreError, match=r"^UNUM_COSMOS_KEY: expected the account's key, got nothing: "):
        open_store(SystemClock())


def test_account_with_weak_reads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with cosmos_server("Session") as weak:
        given = {"url": weak.url, "database": DATABASE, "container": "state", **OPTIONS}
        monkeypatch.setenv(SETTINGS, json.dumps(given))
        monkeypatch.setenv(SECRET, KEY)
        with pytest.raises(StoreError, match="expected the default consistency Strong"):
            open_store(SystemClock())
