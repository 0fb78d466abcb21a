"""Requests to Firestore, through Google's client without a server."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from google.api_core.exceptions import Forbidden
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1 import _helpers
from google.cloud.firestore_v1.types import BatchGetDocumentsResponse, RunQueryResponse

from tests.contract.conftest import MovableClock
from unum_google.firestore import FirestoreStore
from unum_runtime.errors import StoreDenied
from unum_runtime.features.document_stores.conditional import Document
from unum_runtime.model.naming import Key

NOW_MS, SET = 1_800_000_000_000, Key("w/e:1/done", "done")


class Api:
    """Firestore's interface: it has no document, answers queries with `pages`, and may refuse one operation."""

    def __init__(self, *pages: list[dict[str, Any]], refuses: str = "") -> None:
        self.pages, self.refuses = [*pages], refuses
        self.commits: list[list[Any]] = []
        self.queries: list[Any] = []

    def commit(self, *, request: Any, **_options: Any) -> Any:
        self._refuse("commit")
        self.commits.append(request["writes"])
        return SimpleNamespace(write_results=[], commit_time=None)

    def batch_get_documents(self, *, request: Any, **_options: Any) -> Iterator[BatchGetDocumentsResponse]:
        self._refuse("batch_get_documents")
        return iter([BatchGetDocumentsResponse(missing=name) for name in request["documents"]])

    def run_query(self, *, request: Any, **_options: Any) -> Iterator[RunQueryResponse]:
        self._refuse("run_query")
        self.queries.append(request["structured_query"])
        place = f"{request['parent']}/{self.queries[-1].from_[0].collection_id}"
        page = self.pages.pop(0) if self.pages else []
        return iter([_response(place, each) for each in page] or [RunQueryResponse()])

    def _refuse(self, operation: str) -> None:
        if operation == self.refuses:
            raise Forbidden("why")  # type: ignore[no-untyped-call]


def _response(place: str, fields: dict[str, Any]) -> RunQueryResponse:
    at = datetime(2027, 1, 1, tzinfo=UTC)
    found = {"name": f"{place}/{fields['sort']}", "fields": _helpers.encode_dict(fields)}
    return RunQueryResponse(document={**found, "create_time": at, "update_time": at})


def client(api: Api) -> Callable[[], Any]:
    made = firestore.Client(project="p", credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
    made._firestore_api_internal = api
    return lambda: made


def store(api: Api) -> FirestoreStore:
    return FirestoreStore(client(api), MovableClock())


def stored(sort: str, **fields: Any) -> dict[str, Any]:
    return {"sort": sort, "expires_at": datetime(2020, 1, 1, tzinfo=UTC), "item": {}, **fields}


def limits(api: Api) -> list[int | None]:
    return [query.limit for query in api.queries]


def test_a_set_that_is_deleted_after_an_addition_is_empty() -> None:
    assert store(Api()).add(SET, 1, expires_at_s=1_900_000_000) == frozenset()


def test_reading_no_keys_sends_no_request() -> None:
    assert store(Api(refuses="batch_get_documents")).read([]) == {}


@pytest.mark.parametrize(("year", "found"), [(2020, []), (2200, ["a"])])
def test_store_without_a_given_clock_uses_that_of_the_system(year: int, found: list[str]) -> None:
    api = Api([stored("a", expires_at=datetime(year, 1, 1, tzinfo=UTC))])
    assert [key.sort for key in FirestoreStore(client(api)).query("p")] == found


@pytest.mark.parametrize(("oldest_first", "operator"), [(True, "GREATER_THAN"), (False, "LESS_THAN")])
def test_entries_beyond_a_page_of_expired_ones_are_read_in_one_direction(*, oldest_first: bool, operator: str) -> None:
    entries = [stored(sort, partition="w/e:1", of=sort) for sort in ("a", "b")]
    api = Api(entries)
    assert store(api).list_items("p", limit=2, oldest_first=oldest_first) == {}
    assert limits(api) == [2, 2]
    *_, beyond = api.queries[1].where.composite_filter.filters
    assert (beyond.field_filter.op.name, beyond.field_filter.value.string_value) == (operator, "b")


def test_a_partition_is_read_no_further_than_needed() -> None:
    api = Api([stored("b"), stored("a")], [stored("0")], [], [stored("a")])
    store(api).query("p", newest=2)
    store(api).query("p", newest=1)
    store(api).query("p")
    assert limits(api) == [2, 2, 1, None]


def test_an_erased_partition_is_deleted_in_few_requests_with_its_entries() -> None:
    listed = {"item": {"list": "p", "list_at": "001/a"}}
    api = Api([stored("0", **listed), *(stored(f"{number:03d}") for number in range(1, 250))])
    assert store(api).erase("w/e:1") == 250
    assert [len(writes) for writes in api.commits] == [101, 100, 50]
    assert "/=p/unum_listed/=001.~a " in api.commits[0][1].delete


@pytest.mark.parametrize(
    ("ask", "refused", "text"),
    [
        (lambda store: store.read([SET]), "batch_get_documents", "get"),
        (lambda store: store.query("p"), "run_query", "query"),
        (lambda store: store.add(SET, 1, expires_at_s=1), "commit", r"add Key\(.*\)"),
        (lambda store: store.create(SET, {}, expires_at_s=1), "commit", r"put Key\(.*\)"),
        (lambda store: store.erase("p"), "commit", "erase p"),
    ],
)
def test_a_refusal_is_an_error_that_names_operation_and_place(
    ask: Callable[[FirestoreStore], Any], refused: str, text: str
) -> None:
    with pytest.raises(StoreDenied, match=f"^firestore unum {text}: .*why"):
        ask(store(Api([stored("1")], refuses=refused)))


def test_a_replaced_set_says_when_its_members_were_added() -> None:
    api = Api()
    assert store(api).put(SET, Document(NOW_MS + 1, {}, frozenset({7})), replaces=None)
    ((write,),) = api.commits
    fields: Any = _helpers.decode_dict(write.update.fields, None)
    assert fields["members"] == {"m7": [NOW_MS, NOW_MS + 1]}
