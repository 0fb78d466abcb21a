"""Lists of executions: what they show, in which order, and what they cost."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import botocore.session
import pytest
from botocore.validate import validate_parameters

from unum_client import Client
from unum_client.reading.execution_list import ListedExecution
from unum_client.stepfunctions import StepFunctionsClient
from unum_runtime.errors import ClientError, InvalidExecutionInput, InvalidToken, NoIndex
from unum_runtime.model.checkpoint import Checkpoint, Ending, Item, Phase, Status, Success, start_record
from unum_runtime.model.list_index import SHARDS, Kind, entry, partition, place, shard_of, stored_item
from unum_runtime.model.naming import Execution, Key, Name, checkpoint_key, execution_partition
from unum_runtime.model.start_facts import to_text
from unum_simulator.memory_store import MemoryStore

BEGUN_MS = 1_800_000_000_000
LATER = 4_000_000_000
ENDS = (Status.SUCCEEDED, Status.FAILED, Status.TIMED_OUT, Status.ABORTED)
TASK = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "A", "End": True}}}


@dataclass
class CountedIndex:
    """Counts requests, the entries in their answers, and the executions that are read."""

    store: MemoryStore
    requests: int = 0
    entries: int = 0
    reads: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def list_items(self, partition: str, **options: Any) -> dict[Key, Item]:
        found = self.store.list_items(partition, **options)
        self.requests += 1
        self.entries += len(found)
        return found

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        assert newest == 1
        with self.lock:
            self.reads += 1
        return self.store.query(partition, newest=newest)


@dataclass
class Executions:
    """Executions as the protocol stores them, and a client that lists them."""

    store: MemoryStore = field(default_factory=MemoryStore)
    workflow: str = "w"
    index: CountedIndex = field(init=False)
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        self.index = CountedIndex(self.store)
        self.client = Client(store=self.store, workflow=self.workflow, index=self.index)

    def start(self, number: int, name: str | None = None) -> Execution:
        execution = Execution(name or f"e{number}", BEGUN_MS + number)
        self._store(start_record(execution, None))
        return execution

    def end(self, execution: Execution, status: Status, *, step: int = 1, at_ms: int = 5_000) -> None:
        ending = Ending(status, Success(None))
        self._store(self._step(execution, step, at_ms, ending))

    def redrive(self, execution: Execution, *, step: int, at_ms: int) -> None:
        checkpoint = self._step(execution, step, at_ms, None)
        item = checkpoint.to_item() | entry(self.workflow, execution, Kind.REDRIVEN)
        self.store.create(checkpoint_key(self.workflow, checkpoint.name), item, expires_at_s=LATER)

    def pages(self, status: Status | None = None, limit: int = 0) -> Iterator[tuple[ListedExecution, ...]]:
        token = None
        while True:
            executions, token = self.client.list(status, limit=limit, token=token)
            yield executions
            if token is None:
                return

    def names(self, status: Status | None = None, limit: int = 0) -> list[str]:
        return [each.name for page in self.pages(status, limit) for each in page]

    def _step(self, execution: Execution, step: int, at_ms: int, ending: Ending | None) -> Checkpoint:
        return Checkpoint(
            name=Name(execution, (), step),
            state="A",
            phase=Phase.LEFT,
            outcome=Success(None),
            digest="d",
            committed_ms=BEGUN_MS + at_ms,
            ending=ending,
        )

    def _store(self, checkpoint: Checkpoint) -> None:
        item = stored_item(self.workflow, checkpoint)
        self.store.create(checkpoint_key(self.workflow, checkpoint.name), item, expires_at_s=LATER)


def status_of(number: int) -> Status:
    return Status.RUNNING if number % 10 == 9 else ENDS[number % 4]


@pytest.fixture(scope="module")
def many() -> Executions:
    """3,000 executions, of which every tenth runs."""
    executions = Executions()
    for number in range(3_000):
        execution = executions.start(number)
        if status_of(number) is not Status.RUNNING:
            executions.end(execution, status_of(number))
    return executions


@pytest.mark.slow("the first one of the module starts 3,000 executions, which fill several pages of each status")
@pytest.mark.parametrize("status", [None, *Status])
def test_all_pages_together_are_all_executions_newest_first(many: Executions, status: Status | None) -> None:
    expected = [number for number in reversed(range(3_000)) if status in (None, status_of(number))]
    assert many.names(status) == [f"e{number}" for number in expected]


def test_a_page_shows_how_each_execution_is(many: Executions) -> None:
    page, _ = many.client.list(limit=50)
    assert [each.status for each in page] == [status_of(number) for number in range(2_999, 2_949, -1)]
    begun = datetime.fromtimestamp(BEGUN_MS / 1000, UTC)
    assert page[0] == ListedExecution(
        name="e2999", status=Status.RUNNING, started_at=begun + timedelta(milliseconds=2_999), stopped_at=None
    )
    assert page[1].stopped_at == begun + timedelta(seconds=5)


@pytest.mark.parametrize(("status", "most_reads"), [(None, 100), (Status.FAILED, 500), (Status.RUNNING, 1_000)])
def test_a_page_of_100_costs_few_requests_and_a_read_for_each_execution(
    many: Executions, status: Status | None, most_reads: int
) -> None:
    many.index.requests = many.index.entries = many.index.reads = 0
    page, token = many.client.list(status)
    assert len(page) == 100
    assert token is not None
    assert many.index.requests <= 2 * SHARDS
    assert many.index.entries <= (210 if status is None else 2_010)
    assert many.index.reads <= most_reads


def test_requests_do_not_grow_with_the_pages_before(many: Executions) -> None:
    counts, token = [], None
    for _ in range(5):
        many.index.requests = many.index.reads = 0
        _, token = many.client.list(limit=100, token=token)
        counts.append((many.index.requests, many.index.reads))
    assert max(counts) <= (2 * SHARDS, 100)


def test_an_execution_writes_one_entry() -> None:
    executions = Executions()
    for status in ENDS:
        executions.end(executions.start(ENDS.index(status)), status)
    stored = executions.store.query
    execution = Execution("e0", BEGUN_MS)
    assert all("list" not in item for item in stored(execution_partition("w", execution)).values())
    executions.client.list()
    assert executions.index.entries == len(ENDS)


def test_a_page_of_running_ones_may_be_short_and_lead_on() -> None:
    executions = Executions()
    oldest = executions.start(0)
    for number in range(1, 1_200):
        executions.end(executions.start(number), Status.SUCCEEDED)
    assert list(executions.pages(Status.RUNNING)) == [
        (),
        (ListedExecution(name=oldest.name, status=Status.RUNNING, started_at=_at(0), stopped_at=None),),
    ]


def _at(number: int) -> datetime:
    return datetime.fromtimestamp((BEGUN_MS + number) / 1000, UTC)


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_no_execution_is_lost_or_doubled_at_the_ends_of_pages(limit: int) -> None:
    executions = Executions()
    names = [f"n-{'x' * (number % 5)}{number}" for number in range(25)]
    for number, name in enumerate(names):
        executions.start(number // 6, name)  # six start at the same moment
    ordered = sorted(names, key=lambda name: (names.index(name) // 6, name), reverse=True)
    assert executions.names(limit=limit) == ordered


@pytest.mark.parametrize("limit", [1, 100])
def test_what_was_redriven_is_as_its_latest_commit_says(limit: int) -> None:
    executions = Executions()
    again, failed_twice, mended, failed = (executions.start(number) for number in range(4))
    for execution in (again, failed_twice, mended, failed):
        executions.end(execution, Status.FAILED, step=1, at_ms=1_000)
    for execution in (again, failed_twice, mended):
        executions.redrive(execution, step=2, at_ms=2_000)
    executions.end(failed_twice, Status.FAILED, step=3, at_ms=3_000)
    executions.end(mended, Status.SUCCEEDED, step=3, at_ms=3_000)
    assert executions.names(Status.FAILED, limit) == ["e3", "e1"]
    assert executions.names(Status.SUCCEEDED, limit) == ["e2"]
    assert executions.names(Status.RUNNING, limit) == ["e0"]
    listed = {each.name: (each.status, each.stopped_at) for page in executions.pages(limit=limit) for each in page}
    assert listed == {
        "e0": (Status.RUNNING, None),
        "e1": (Status.FAILED, _at(3_000)),
        "e2": (Status.SUCCEEDED, _at(3_000)),
        "e3": (Status.FAILED, _at(1_000)),
    }


def test_pages_go_on_where_they_were_while_executions_start_and_end() -> None:
    executions = Executions()
    running = [executions.start(number) for number in range(200)]
    stop = threading.Event()

    def go_on() -> None:
        for number, execution in enumerate(running):
            executions.start(1_000 + number)
            executions.end(execution, Status.SUCCEEDED)
            if stop.is_set():
                return

    with ThreadPoolExecutor(1) as pool:
        pool.submit(go_on)
        names = executions.names(limit=7)
        stop.set()
    seen = Counter(names)
    assert {execution.name for execution in running} <= seen.keys()
    assert set(seen.values()) == {1}


def test_workflows_of_one_table_have_lists_of_their_own() -> None:
    ours = Executions()
    other = Executions(ours.store, workflow="w2")
    ours.start(1)
    other.start(2)
    assert (ours.names(), other.names()) == (["e1"], ["e2"])


def test_executions_are_spread_over_the_shards() -> None:
    shards = Counter(shard_of(Execution(f"order-{number}", 0)) for number in range(1_000))
    assert len(shards) == SHARDS
    assert min(shards.values()) > 150


@pytest.mark.parametrize("token", ["", "x", "eyJhIjoxfQ==", "WyJ3IixudWxsLCJ+Il0="])
def test_a_token_that_is_none(many: Executions, token: str) -> None:
    with pytest.raises(InvalidToken, match="nextToken: expected what the page before returned"):
        many.client.list(token=token)


def test_a_token_of_another_list(many: Executions) -> None:
    _, token = many.client.list(Status.FAILED)
    assert token is not None
    with pytest.raises(InvalidToken):
        many.client.list(Status.SUCCEEDED, token=token)
    with pytest.raises(InvalidToken):
        replace(many.client, workflow="w2").list(Status.FAILED, token=token)


def test_a_client_without_index(many: Executions) -> None:
    with pytest.raises(NoIndex, match="cannot list"):
        replace(many.client, index=None).list()


@pytest.mark.parametrize("limit", [-1, 1_001])
def test_no_page_has_so_many(many: Executions, limit: int) -> None:
    with pytest.raises(ClientError, match="expected 0 to 1000"):
        many.client.list(limit=limit)


def test_what_the_runtime_starts_and_ends_is_listed_in_the_shape_of_boto3(deploy: Callable[..., Any]) -> None:
    deployment = deploy(TASK, A=lambda event, _context: event["n"])
    client = StepFunctionsClient(replace(deployment.client, index=deployment.local.store))
    client.start_execution(name="good", input='{"n": 1}')
    client.start_execution(name="bad")
    deployment.alias.is_open = False
    client.start_execution(name="waiting")
    listed = client.list_executions(maxResults=10)
    output = botocore.session.get_session().get_service_model("stepfunctions").operation_model("ListExecutions")
    validate_parameters(listed, output.output_shape)  # type: ignore[arg-type]  # has a shape
    assert set(listed) == {"executions"}
    statuses = {each["name"]: each["status"] for each in listed["executions"]}
    assert statuses == {"good": "SUCCEEDED", "bad": "FAILED", "waiting": "RUNNING"}
    described = client.describe_execution(executionArn="good")
    (good,) = client.list_executions(statusFilter="SUCCEEDED")["executions"]
    assert good == {name: described[name] for name in good}  # type: ignore[literal-required]
    (running,) = client.list_executions(statusFilter="RUNNING")["executions"]
    assert "stopDate" not in running


def test_a_paginator_gives_every_page(many: Executions) -> None:
    pages = (
        StepFunctionsClient(many.client)
        .get_paginator("list_executions")
        .paginate(statusFilter="FAILED", PaginationConfig={"PageSize": 400})
    )
    names = [each["name"] for page in pages for each in page["executions"]]
    assert names == many.names(Status.FAILED)


def test_a_status_may_be_text(many: Executions) -> None:
    assert all(many.client.list(str(status)) == many.client.list(status) for status in Status)


def test_a_status_that_there_is_not(many: Executions) -> None:
    with pytest.raises(ClientError, match=r"^status: expected one of \['RUNNING', .*got 'DONE'"):
        many.client.list("DONE")
    with pytest.raises(ClientError, match=r"statusFilter: expected one of \['RUNNING', .*got 'DONE'"):
        StepFunctionsClient(many.client).list_executions(statusFilter="DONE")


FOREIGN: list[Any] = [
    {"list_at": place(Execution("theirs", BEGUN_MS + 50))},
    {"list_at": place(Execution("e1", BEGUN_MS + 1))},
    {"list_at": "1800000000"},
    {"list_at": "0\ue000"},
    {"list_at": "0"},
    {},
]


def plant(executions: Executions) -> None:
    """Entries that a writer of another workflow of the table has put into this one's list."""
    for shard in range(SHARDS):
        for number, item in enumerate(FOREIGN):
            key = Key(f"start:other/{shard}-{number}", "start")
            listed = {"list": partition("w", Kind.STARTED, shard), "at": 1, **item}
            executions.store.create(key, listed, expires_at_s=LATER)


def test_entries_of_another_workflow_are_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    executions = Executions()
    own = [executions.start(number) for number in range(6)]
    executions.end(own[1], Status.SUCCEEDED)
    plant(executions)
    assert executions.names() == [f"e{number}" for number in reversed(range(6))]
    assert executions.names(limit=1) == executions.names()
    assert executions.names(Status.SUCCEEDED) == ["e1"]
    assert sum("start:other/" in each.getMessage() for each in caplog.records) >= SHARDS * (len(FOREIGN) - 1)


@pytest.mark.parametrize("broken", ["is_entry", "report"])
def test_a_list_that_shows_others_would_be_noticed(
    broken: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if broken == "is_entry":
        monkeypatch.setattr("unum_runtime.protocol.history.list_entries.is_entry", lambda *_: True)
    else:
        monkeypatch.setattr("unum_client.reading.execution_list._warn", lambda *_: None)
    with pytest.raises((AssertionError, ValueError)):
        test_entries_of_another_workflow_are_left_out_and_logged(caplog)


def test_an_execution_that_cannot_be_read_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    executions = Executions()
    own = [executions.start(number) for number in range(3)]
    step = Key(execution_partition("w", own[1]), "000000001")
    executions.store.create(step, {"status": "GARBAGE"}, expires_at_s=LATER)
    assert executions.names() == ["e2", "e0"]
    assert "'e1'" in caplog.text


def with_attributes() -> Executions:
    """Start 600 executions, every fifth with a customer, the rest with another or none."""
    executions = Executions()
    for number in range(600):
        execution = Execution(f"e{number}", BEGUN_MS + number)
        about = to_text({"customer": str(number % 5), "odd": str(number % 2)} if number % 5 < 4 else {})
        executions._store(start_record(execution, None).saying(about=about))
    return executions


def test_a_list_has_the_executions_with_all_attributes() -> None:
    executions = with_attributes()
    found: list[ListedExecution] = []
    token = None
    while True:
        page, token = executions.client.list(attributes={"customer": "3", "odd": "1"}, limit=25, token=token)
        found += page
        if token is None:
            break
    assert [each.name for each in found] == [f"e{number}" for number in range(599, -1, -1) if number % 10 == 3]
    assert {tuple((each.attributes or {}).items()) for each in found} == {(("customer", "3"), ("odd", "1"))}


def test_list_by_attributes_reads_all_starts_and_the_ends_that_it_shows() -> None:
    executions = with_attributes()
    page, _ = executions.client.list(attributes={"customer": "3"}, limit=100)
    assert (len(page), executions.index.reads) == (100, 500 + 100)


def test_a_list_without_attributes_reads_no_start() -> None:
    executions = with_attributes()
    page, _ = executions.client.list(limit=100)
    assert (page[0].attributes, executions.index.reads) == (None, 100)
    page, _ = executions.client.list(limit=100, attributes={})
    assert (page[1].attributes, executions.index.reads) == ({"customer": "3", "odd": "0"}, 300)


def test_a_token_belongs_to_its_attributes() -> None:
    client = with_attributes().client
    _, token = client.list(attributes={"customer": "3"}, limit=5)
    for other in (None, {}, {"customer": "2"}):
        with pytest.raises(InvalidToken, match="same status and attributes"):
            client.list(attributes=other, token=token)
    with pytest.raises(InvalidToken):
        client.list(Status.RUNNING, attributes={"customer": "3"}, token=token)
    assert len(client.list(attributes={"customer": "3"}, limit=5, token=token)[0]) == 5


def test_malformed_attributes_and_those_of_an_earlier_namesake_are_ignored() -> None:
    executions = Executions()
    for number, about in enumerate(["[", '{"attributes": 5}', to_text({"customer": "3"})]):
        execution = Execution(f"e{number}", BEGUN_MS + number)
        executions._store(start_record(execution, None).saying(about=about))
    earlier = start_record(Execution("e2", BEGUN_MS), None)
    executions.store.create(
        Key("elsewhere", "start"), entry("w", earlier.name.execution, Kind.STARTED), expires_at_s=LATER
    )
    page, _ = executions.client.list(attributes={})
    assert {each.name: each.attributes for each in page} == {"e0": {}, "e1": {}, "e2": {"customer": "3"}}


def test_attributes_beyond_their_bounds_are_refused() -> None:
    with pytest.raises(InvalidExecutionInput, match="attributes: expected at most 10"):
        Executions().client.list(attributes={"a b": "x"})
