"""Log lines of executions with all their fields, for operators' searches and alarms."""

from typing import Any

import pytest

from tests.unit.protocol.map_platform import deployed, lose, mapped
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_client.reading import stored_steps
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import OtherDefinition, RefusedDelivery, StoreError
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Failure, Status, start_record
from unum_runtime.model.naming import Execution, Key, start_key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.nudge import nudge
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.delivery.start import resume
from unum_simulator.memory_store import MemoryStore

BEGUN_MS = 1_800_000_000_000
NAME = "e:1a3185c5000"
"""The execution `e` at that time, as invocations name it."""


def echo(event: Any) -> Any:
    return event


def of_outcome(step: int, state: str, **more: Any) -> dict[str, Any]:
    common = {"execution": "e", "invocation": f"{NAME}#{step}", "state": state, "attempt": 0, "duration_ms": 0}
    return common | more


def test_a_chain() -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    platform.clock.pass_seconds(2)
    platform.deliver_all()
    assert platform.logged == [
        ("started", {"execution": "e"}),
        ("committed", of_outcome(1, "A")),
        ("committed", of_outcome(2, "B", ended=Status.SUCCEEDED, took_ms=2000)),
        ("finished", {"execution": "e", "status": Status.SUCCEEDED}),
    ]


def test_start_is_logged_once_for_an_execution() -> None:
    platform = Platform.of(chain("A"), A=echo)
    platform.start()
    platform.start()
    assert platform.messages().count("started") == 1


def test_a_second_delivery_adopts_what_is_committed() -> None:
    platform = Platform.of(chain("A", "B"), {"B": FunctionOptions(guard=Guard.COMMIT)}, A=echo, B=echo)
    platform.start()
    event = platform.sent[0]
    platform.deliver_all()
    platform.logged.clear()
    platform.deliver(event)
    assert platform.logged == [
        ("adopted", of_outcome(2, "B", ended=Status.SUCCEEDED, took_ms=0)),
        ("finished", {"execution": "e", "status": Status.SUCCEEDED}),
    ]


def test_a_failure_is_retried_and_ends_the_execution() -> None:
    def fail(_event: Any) -> Any:
        platform.clock.pass_seconds(1)
        raise ValueError("why")

    retry = {"Retry": [{"ErrorEquals": ["ValueError"], "IntervalSeconds": 2, "MaxAttempts": 1}]}
    platform = Platform.of(chain("A", A=retry), A=fail)
    platform.start()
    platform.deliver(platform.pass_to_next())
    (_, started), (retried, tried), (committed, failed), (_, finished) = platform.logged
    assert started == {"execution": "e"}
    assert retried == "retried"
    cause = tried.pop("cause")
    assert '"errorMessage": "why"' in cause
    assert tried == {"invocation": f"{NAME}#1", "state": "A", "error": "ValueError"}
    assert committed == "committed"
    ended = {"error": "ValueError", "ended": Status.FAILED, "took_ms": 4000, "attempt": 1, "duration_ms": 1000}
    assert failed == of_outcome(1, "A", **ended)
    assert finished == {"execution": "e", "status": Status.FAILED}


def test_a_caught_failure_is_named() -> None:
    def fail(_event: Any) -> Any:
        raise ValueError("why")

    caught = {"Catch": [{"ErrorEquals": ["ValueError"], "Next": "B"}]}
    platform = Platform.of(chain("A", "B", A=caught), A=fail, B=echo)
    platform.run()
    assert ("committed", of_outcome(1, "A", error="ValueError")) in platform.logged


def write_start_record(platform: Platform) -> None:
    record = start_record(Execution("e", BEGUN_MS), None)
    platform.memory.create(start_key("w", "e"), record.to_item(), expires_at_s=2**40)


def test_a_start_that_a_client_recorded() -> None:
    platform = Platform.of(chain("A"), A=echo)
    write_start_record(platform)
    resume(platform.runtime(), "e")
    assert platform.logged[0] == ("started", {"execution": "e"})


def test_a_start_whose_record_has_expired() -> None:
    platform = Platform.of(chain("A"), A=echo)
    with pytest.raises(RefusedDelivery, match=r"^no start record of execution 'e' in workflow 'w'$"):
        resume(platform.runtime(), "e")
    assert platform.logged == [("late", {"execution": "e"})]


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 81])
def test_a_start_request_without_a_name_is_no_late_event(name: str) -> None:
    platform = Platform.of(chain("A"), A=echo)
    with pytest.raises(RefusedDelivery, match=r"^start: expected a name, 1 to 80 characters .*, got '.*'$"):
        resume(platform.runtime(), name)
    assert platform.logged == []


def test_an_event_after_the_last_moment_of_its_execution() -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    rt = platform.runtime()
    platform.clock.ms = (rt.last_s(platform.sent[0].name.execution) + 7) * 1000
    platform.logged.clear()
    with pytest.raises(RefusedDelivery, match=r"delivered 7 s after its deadline; its items may have expired$"):
        platform.deliver(platform.sent[0])
    assert platform.logged == [("late", {"execution": "e", "late_s": 7})]


def test_a_stop() -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    platform.logged.clear()
    record = stored_steps.start_record(platform.memory, "w", "e")
    stop(platform.runtime(), record.name.execution, Failure("NotNeeded", None))
    assert platform.logged == [("stopped", {"execution": "e", "invocation": f"{NAME}#2"})]


class Failing(MemoryStore):
    """A store that does not answer about some kinds of items."""

    kinds: tuple[str, ...] = ()

    def read(self, keys: Any) -> Any:
        wanted = [*keys]
        if any(key.partition.startswith(self.kinds) for key in wanted):
            raise StoreError("no read")
        return super().read(wanted)

    def create(self, key: Any, item: Any, *, expires_at_s: int) -> Any:
        if key.partition.startswith(self.kinds):
            raise StoreError("no write")
        return super().create(key, item, expires_at_s=expires_at_s)


def test_a_memo_that_the_store_neither_finds_nor_takes() -> None:
    platform = Platform.of(chain("A"), {"A": FunctionOptions(memoize=True)}, A=echo)
    platform.store = platform.memory = Failing(platform.clock)
    platform.memory.kinds = ("memo:",)
    platform.run()
    failed = [fields for message, fields in platform.logged if message == "memo failed"]
    assert [fields["error"] for fields in failed] == ["no read", "no read", "no write"]
    memos = {fields["memo"] for fields in failed}
    assert len(memos) == 1
    assert memos.pop().startswith("memo:w/")


def test_a_lease_that_the_store_neither_gives_nor_takes_back() -> None:
    class NoLeases(MemoryStore):
        def acquire(self, *_args: Any, **_named: Any) -> str:
            raise StoreError("no lease")

        def release(self, *_args: Any) -> None:
            raise StoreError("no release")

    platform = Platform.of(chain("A"), {"A": FunctionOptions(guard=Guard.LEASE)}, A=echo)
    platform.store = platform.memory = NoLeases(platform.clock)
    platform.run()
    failed = [fields for message, fields in platform.logged if message == "lease failed"]
    assert [fields["error"] for fields in failed] == ["no lease", "no release"]
    assert {fields["lease"] for fields in failed} == {f"w/{NAME}/lease 000000001"}


def test_work_that_is_done_without_a_lease() -> None:
    platform = Platform.of(chain("A", "B"), {"B": FunctionOptions(guard=Guard.LEASE)}, A=echo, B=echo)
    platform.start()
    event, key = platform.sent[0], Key(f"w/{NAME}/lease", "000000002")
    for _ in range(100):
        platform.memory.acquire(key, "other", expires_at_ms=platform.clock.ms + 900_000)
        platform.deliver(event)
        if platform.calls["B"]:
            break
        event = platform.pass_to_next()
    (fields,) = [fields for message, fields in platform.logged if message == "goes on without a lease"]
    assert fields.keys() == {"reason"}
    assert fields["reason"].startswith(f"{NAME}#2: ")


def test_a_nudge_that_finds_an_outcome_collected() -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    (step,) = platform.steps()
    platform.memory.collect([key for key in platform.memory._items if key.sort == "000000001"])
    platform.logged.clear()
    nudge(platform.runtime(), "e")
    assert [message for message, _ in platform.logged] == ["refused"]
    assert platform.logged[0][1].keys() == {"reason"}
    assert str(step.name) in platform.logged[0][1]["reason"]
    assert platform.sent[1:] == []


def test_values_are_in_no_line() -> None:
    secret = "do-not-log"
    platform = Platform.of(chain("A", "B"), A=lambda _: {"key": secret}, B=echo)
    platform.run(value=secret)
    assert secret not in to_text([str(line) for line in platform.logged])


def test_an_outcome_that_another_task_commits() -> None:
    platform = Platform.of(chain("A", "B"), {"A": FunctionOptions(checkpoint=False)}, A=echo, B=echo)
    platform.run()
    assert platform.logged[1] == ("passed on", of_outcome(1, "A"))


def test_a_nudge_that_finds_results_of_branches_collected() -> None:
    platform = deployed(mapped("A", "B", after="C"))
    platform.start("e", [1, 2])
    lose(platform, "B", 1)
    collected = [key for key in platform.memory._items if key.sort.startswith("000000001") and "M" in key.partition]
    platform.memory.collect(collected)
    platform.logged.clear()
    nudge(platform.runtime(), "e")
    ((message, fields),) = platform.logged
    assert (message, [*fields]) == ("refused", ["reason"])
    assert fields["reason"].startswith(f"{NAME}/M@")


def test_a_recorded_start_of_another_definition_is_refused_with_its_name() -> None:
    platform = Platform.of(chain("A"), A=echo)
    record = start_record(Execution("e", BEGUN_MS), None).saying(digest="another")
    platform.memory.create(start_key("w", "e"), record.to_item(), expires_at_s=2**40)
    with pytest.raises(OtherDefinition, match=exactly("execution 'e': expected the runtime of IR another")):
        resume(platform.runtime(), "e")


def test_only_variants_record_their_definition_at_the_start() -> None:
    platform = Platform.of(chain("A"), A=echo)
    digest = platform.workflow.digest
    record = start_record(Execution("e", BEGUN_MS), None).saying(digest=digest)
    platform.memory.create(start_key("w", "e"), record.to_item(), expires_at_s=2**40)
    with pytest.raises(
        RefusedDelivery, match=exactly(f"start of 'e': expected a variant of a definition, got {digest}")
    ):
        resume(platform.runtime(), "e")
