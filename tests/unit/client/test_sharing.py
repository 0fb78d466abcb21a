"""Clients that start one name at the same time: who starts, who waits, and for how long."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.unit.client.run_alias import RUN, Answering
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.platform import Platform, chain
from unum_client import Client
from unum_client.polling import Waiter
from unum_client.starting import Starts
from unum_runtime.errors import InvokeError, LeaseHeldError, StoreError, WaitTimedOut
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.envelope import Writer, named_start, start_request, start_writer
from unum_runtime.model.naming import lease_key, start_key
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.requests.run import LEASE_MS
from unum_simulator.memory_store import MemoryStore

LEASE = lease_key(start_key("w", "n"))


@dataclass
class Site:
    """A workflow, its run alias, and clients of it for which time passes when they sleep."""

    platform: Platform = field(default_factory=lambda: Platform.of(chain("A"), A=lambda event: event * 2))
    requests: list[dict[str, Any]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        self.requests += [json.loads(payload) for _, payload in events]

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.platform.clock.pass_seconds(seconds)
        self.meanwhile()

    def client(self, store: Any = None, invoker: Any = None) -> Client:
        waiter = Waiter(now_s=lambda: sum(self.pauses), sleep=self.sleep)
        platform, sent_by = self.platform, invoker or self
        alias = Answering(platform.workflow, store or platform.memory, sent_by, platform.clock)
        starts = Starts(caller=alias, invoker=sent_by, run_alias=RUN)
        return Client(workflow="w", store=platform.memory, clock=platform.clock, waiter=waiter, starts=starts)

    def deliver(self, request: dict[str, Any]) -> None:
        name = named_start(request)
        assert name is not None
        resume(self.platform.runtime(), name, start_writer(request))


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_start_costs_one_write_and_with_a_lease_two(site: Site) -> None:
    for lease, writes in ((False, {"create": 1}), (True, {"create": 1, "acquire": 1})):
        store = CountingStore(site.platform.memory)
        site.client(store=store).start(1, name=f"n{lease}", lease=lease)
        assert store.calls == writes
    without, request = site.requests
    assert without == {"$unum": 1, "start": "nFalse"}
    assert request.keys() == {"$unum", "start", "writer"}


def test_two_clients_share_one_start(site: Site) -> None:
    one, other = site.client(), site.client()
    assert one.start(1, name="n", lease=True).is_new
    site.meanwhile = lambda: site.deliver(site.requests[0])
    assert not other.start(1, name="n", lease=True).is_new
    assert len(site.requests) == 1
    assert len(site.pauses) == 1
    assert site.platform.calls["A"] == 1
    assert other.describe("n").output == 2


def test_nobody_starts_what_has_begun(site: Site) -> None:
    site.client().start(1, name="n", lease=True)
    site.deliver(site.requests[0])
    site.client().start(1, name="n", lease=True)
    assert len(site.requests) == 1
    assert site.pauses == []


def test_finder_of_a_dead_clients_start_takes_it_over_after_expiry(site: Site) -> None:
    begun_ms = site.platform.clock.ms
    site.client().start(1, name="n", lease=True)
    site.requests.clear()  # it died before it could send it
    site.client().start(1, name="n", lease=True)
    assert site.platform.clock.ms - begun_ms >= LEASE_MS
    (request,) = site.requests
    site.deliver(request)
    assert site.client().describe("n").output == 2


def test_the_last_writer_wins_and_both_events_come_to_one_result(site: Site) -> None:
    for _ in range(2):
        site.client().start(1, name="n", lease=True)
    first, second = site.requests
    with pytest.raises(LeaseHeldError):
        site.deliver(first)
    site.deliver(second)
    site.deliver(first)
    assert site.platform.calls["A"] == 1
    assert site.client().describe("n").output == 2


def test_a_start_that_is_not_accepted_frees_the_lease(site: Site) -> None:
    class Down:
        def invoke(self, _events: Any) -> None:
            raise InvokeError("throttled")

    with pytest.raises(InvokeError, match="throttled"):
        site.client(invoker=Down()).start(1, name="n", lease=True)
    site.client().start(1, name="n", lease=True)
    assert site.pauses == []
    assert len(site.requests) == 1


class Broken(MemoryStore):
    def acquire(self, *_args: Any, **_named: Any) -> str:
        raise StoreError("down")

    renew = release = acquire  # type: ignore[assignment]


def test_leases_that_fail_start_the_execution_all_the_same(site: Site) -> None:
    platform = site.platform
    platform.store = platform.memory = Broken(platform.clock)
    for _ in range(2):
        site.client().start(1, name="n", lease=True)
    for request in site.requests:
        site.deliver(request)
    assert site.client().run(1, name="n").output == 2
    assert platform.calls["A"] == 1


def test_run_starts_and_waits(site: Site) -> None:
    site.meanwhile = lambda: site.deliver(site.requests[0])
    description = site.client().run(21, name="n")
    assert (description.status, description.output) == (Status.SUCCEEDED, 42)
    assert site.client().run(21, name="n") == description
    assert len(site.requests) == 1


def test_run_shares_with_whoever_is_starting(site: Site) -> None:
    one, other = site.client(), site.client()
    one.start(4, name="n", lease=True)
    site.meanwhile = lambda: site.deliver(site.requests[0])
    assert other.run(4, name="n").output == 8
    assert len(site.requests) == 1


def test_run_ends_at_its_deadline_and_leaves_the_lease_to_the_function(site: Site) -> None:
    with pytest.raises(WaitTimedOut):
        site.client().run(4, name="n", timeout_s=10)
    with pytest.raises(WaitTimedOut):
        site.client().run(4, name="n", timeout_s=10)
    assert len(site.requests) == 1
    assert sum(site.pauses) == pytest.approx(20)
    assert LEASE in site.platform.memory._leases


def test_the_writer_travels_in_the_start_request() -> None:
    request = json.loads(json.dumps(start_request("n", Writer("w", 5))))
    assert request == {"$unum": 1, "start": "n", "writer": ["w", 5]}
    assert (named_start(request), start_writer(request)) == ("n", Writer("w", 5))
    assert start_writer(start_request("n")) is None


@pytest.mark.parametrize("writer", [None, "w", ["w"], ["w", "5"], ["", 5], [1, 5], ["w", 5, 6], {"w": 5}])
def test_what_is_no_writer_is_none(writer: Any) -> None:
    request = {"$unum": 1, "start": "n", "writer": writer}
    assert named_start(request) == "n"
    assert start_writer(request) is None
