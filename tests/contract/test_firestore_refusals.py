"""Failed, crowded-out and lost requests of Firestore, by the server, through Google's client."""

from collections.abc import Iterator

import pytest
from grpc import StatusCode

from tests.contract.conftest import MovableClock, firestore_store
from tests.google.firestore_server import FirestoreServer
from unum_google.firestore import EXPIRY, SORT, FirestoreStore
from unum_runtime.errors import StoreDenied, StoreError
from unum_runtime.features.document_stores import conditional
from unum_runtime.model.naming import Key

LATER = 1_900_000_000
KEY = Key("w/e:1", "000000001")


@pytest.fixture(autouse=True)
def no_faults_afterwards(google_firestore: FirestoreServer) -> Iterator[None]:
    yield
    for method in ("Commit", "BatchGetDocuments", "RunQuery"):
        google_firestore.fail(method, StatusCode.OK, times=0)


@pytest.fixture
def store(clock: MovableClock, google_firestore: FirestoreServer) -> FirestoreStore:
    return firestore_store(clock, google_firestore)


@pytest.mark.parametrize(
    ("code", "kind"), [(StatusCode.PERMISSION_DENIED, StoreDenied), (StatusCode.INTERNAL, StoreError)]
)
def test_a_refused_write_is_an_error_and_not_a_lost_race(
    store: FirestoreStore, google_firestore: FirestoreServer, code: StatusCode, kind: type[StoreError]
) -> None:
    google_firestore.fail("Commit", code, times=2)
    for write in (lambda: store.create(KEY, {}, expires_at_s=LATER), lambda: store.add(KEY, 1, expires_at_s=LATER)):
        with pytest.raises(StoreError, match=r"firestore contract-\S+ (put|add) .*injected") as found:
            write()
        assert type(found.value) is kind
    assert store.read([KEY]) == {}


@pytest.mark.parametrize("method", ["BatchGetDocuments", "RunQuery"])
def test_a_refused_read_is_an_error_and_no_absence(
    store: FirestoreStore, google_firestore: FirestoreServer, method: str
) -> None:
    google_firestore.fail(method, StatusCode.PERMISSION_DENIED)
    with pytest.raises(StoreDenied, match="injected"):
        _ = store.read([KEY]) if method == "BatchGetDocuments" else store.query(KEY.partition)


def test_writes_that_others_crowd_out_are_repeated(store: FirestoreStore, google_firestore: FirestoreServer) -> None:
    for write in (
        lambda: store.create(KEY, {"at": 1}, expires_at_s=LATER),
        lambda: store.add(Key("w/e:1/done", "done"), 1, 2, expires_at_s=LATER),
        lambda: store.collect([KEY]),
        lambda: store.erase(KEY.partition),
    ):
        google_firestore.fail("Commit", StatusCode.ABORTED, times=3)
        write()
    assert store.read([KEY, Key("w/e:1/done", "done")]) == {Key("w/e:1/done", "done"): {"members": 2}}


def test_an_endless_crowd_is_an_error(
    store: FirestoreStore, google_firestore: FirestoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditional, "FIRST_PAUSE_S", 0)
    for write in (lambda: store.create(KEY, {}, expires_at_s=LATER), lambda: store.add(KEY, 1, expires_at_s=LATER)):
        google_firestore.fail("Commit", StatusCode.ABORTED, times=conditional.ROUNDS)
        with pytest.raises(StoreError, match="200 other writers"):
            write()


def test_a_write_whose_answer_is_lost_has_one_effect(store: FirestoreStore, google_firestore: FirestoreServer) -> None:
    google_firestore.fail("Commit", StatusCode.UNAVAILABLE, applied=True)
    # Google's client repeats the request, which finds its own item: deliveries adopt what is stored.
    assert store.create(KEY, {"at": 1}, expires_at_s=LATER) == {"at": 1}
    lease = Key("w/e:1/lease", "1")
    google_firestore.fail("Commit", StatusCode.UNAVAILABLE, applied=True)
    assert store.acquire(lease, "me", expires_at_ms=LATER * 1000) == "me"
    google_firestore.fail("Commit", StatusCode.UNAVAILABLE, applied=True)
    assert store.renew(lease, "me", expires_at_ms=LATER * 1000 + 1)
    google_firestore.fail("Commit", StatusCode.UNAVAILABLE, applied=True)
    assert store.add(Key("w/e:1/done", "done"), 4, expires_at_s=LATER) == {4}


def test_item_and_index_entry_are_written_together_or_not_at_all(
    store: FirestoreStore, google_firestore: FirestoreServer
) -> None:
    listed: dict[str, str | int] = {"list": "p", "list_at": "001/a", "at": 7}
    google_firestore.fail("Commit", StatusCode.INTERNAL)
    with pytest.raises(StoreError):
        store.create(KEY, listed, expires_at_s=LATER)
    assert (store.read([KEY]), store.list_items("p")) == ({}, {})
    store.create(KEY, listed, expires_at_s=LATER)
    store.create(KEY, {**listed, "list_at": "002/lost"}, expires_at_s=LATER)
    assert store.list_items("p") == {KEY: listed}


def test_replaced_item_is_listed_at_its_new_place_alone(store: FirestoreStore) -> None:
    for at in ("001/a", "002/a"):
        store.replace(KEY, {"list": "p", "list_at": at, "at": 7}, expires_at_s=LATER)
    assert [item["list_at"] for item in store.list_items("p").values()] == ["002/a"]


def test_write_loses_if_its_document_was_deleted_meanwhile(store: FirestoreStore) -> None:
    store.create(KEY, {"at": 1}, expires_at_s=LATER)
    found = store.get(KEY)
    assert found is not None
    store.erase(KEY.partition)
    assert store.put(KEY, found, replaces=found) is False


@pytest.mark.parametrize("foreign", [{}, {EXPIRY: "never"}, {"item": 7}, {"item": {"at": [1], "n": True, "x": 1.5}}])
def test_entries_of_other_writers_are_listed_whatever_they_have(
    store: FirestoreStore, foreign: dict[str, object]
) -> None:
    entries = store._partition("p").collection("unum_listed")
    entries.document("any").set({SORT: "001/x", "partition": "other", "of": "1", **foreign})
    assert store.list_items("p") == {Key("other", "1"): {}}


def test_the_documents_are_deletable_by_a_ttl_policy(store: FirestoreStore) -> None:
    store.create(KEY, {"list": "p", "list_at": "001/a", "at": 7}, expires_at_s=LATER)
    store.add(Key("w/e:1", "set"), 1, expires_at_s=LATER)
    found = [*store._partition("w/e:1").collection("unum_items").stream()]
    found += store._partition("p").collection("unum_listed").stream()
    assert [each.get(EXPIRY).timestamp() for each in found] == [LATER] * 3
