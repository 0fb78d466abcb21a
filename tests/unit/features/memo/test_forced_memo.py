"""Forced executions compute memoized results anew, and replace those that are stored."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain, exactly
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import OtherDefinition, RefusedDelivery, StoreError
from unum_runtime.model.checkpoint import Ending, Status, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.variants import forced, variant_like
from unum_runtime.protocol.delivery.commit import create
from unum_runtime.protocol.delivery.start import new_record, resume
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects, MemoryStore

SHARED = FunctionOptions(memoize=True)


def ended(value: Any) -> Ending:
    return Ending(Status.SUCCEEDED, Success(value))


@pytest.fixture
def platform() -> Platform:
    made = Platform.of(chain("F"), {"F": SHARED}, F=lambda event: [event, "old"])
    made.run("first", 1)
    made.functions["F"] = lambda event: [event, "new"]
    return made


def run_forced(platform: Platform, name: str, value: Any) -> Ending | None:
    ordinary = platform.workflow
    platform.workflow = forced(ordinary)
    found = platform.run(name, value)
    platform.workflow = ordinary
    return found


def test_a_forced_execution_replaces_what_is_remembered(platform: Platform) -> None:
    assert platform.run("second", 1) == ended([1, "old"])
    assert run_forced(platform, "third", 1) == ended([1, "new"])
    assert platform.run("fourth", 1) == ended([1, "new"])
    assert platform.calls["F"] == 2
    assert platform.ending("second") == ended([1, "old"]), "executions keep what they have committed"


def test_a_forced_execution_remembers_what_was_not_remembered(platform: Platform) -> None:
    assert run_forced(platform, "second", 2) == platform.run("third", 2) == ended([2, "new"])
    assert platform.calls["F"] == 2


def test_each_forced_execution_computes_for_itself(platform: Platform) -> None:
    run_forced(platform, "second", 1)
    run_forced(platform, "secondly", 1)  # its name begins with that of the other
    assert platform.calls["F"] == 3


def test_forced_execution_computes_once_for_equal_branches_and_deliveries() -> None:
    branch = {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "B", "End": True}}}
    definition = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": branch, "End": True}}}
    platform = Platform.of(definition, {"B": SHARED}, B=lambda event: -event)
    platform.run("first", [1, 2])
    platform.calls.clear()
    assert run_forced(platform, "second", [1, 2, 1, 1]) == ended([-1, -2, -1, -1])
    assert platform.calls["B"] == 2


def test_delivery_that_died_after_storing_its_result_continues_with_it() -> None:
    class Dies(MemoryStore):
        dies = False

        def create(self, key: Any, item: Any, *, expires_at_s: int) -> Any:
            if self.dies and "/" in key.partition and item.get("state") == "F":
                self.dies = False
                raise StoreError("died before the commit")
            return super().create(key, item, expires_at_s=expires_at_s)

    runs: list[int] = []
    platform = Platform.of(chain("F"), {"F": SHARED}, F=lambda event: runs.append(event) or [event, len(runs)])
    platform.store = platform.memory = store = Dies(platform.clock)
    platform.run("first", 1)
    platform.workflow = forced(platform.workflow)
    store.dies = True
    with pytest.raises(StoreError):
        platform.start("second", 1)
    platform.start("second", 1)
    assert platform.ending("second") == ended([1, 2])
    assert platform.calls["F"] == 2


def test_a_forced_execution_waits_for_an_ordinary_one_and_then_computes(platform: Platform) -> None:
    (key,) = [key for key in platform.memory._items if key.partition.startswith("memo:")]
    lease = key._replace(partition=f"{key.partition}/lease")
    platform.memory.acquire(lease, "another", expires_at_ms=platform.clock.ms + 20_000)
    assert run_forced(platform, "second", 1) is None
    platform.workflow = forced(platform.workflow)
    while platform.waiting:
        platform.deliver(platform.pass_to_next())
    assert platform.ending("second") == ended([1, "new"])


def test_a_store_that_fails_costs_nothing_but_the_replacement(platform: Platform) -> None:
    class NoReplacement(MemoryStore):
        def replace(self, *_args: Any, **_named: Any) -> None:
            raise StoreError("no")

    platform.memory.__class__ = NoReplacement
    assert run_forced(platform, "second", 1) == ended([1, "new"])
    ((_, fields),) = [each for each in platform.logged if each[0] == "memo failed"]
    assert fields["error"] == "no"
    assert platform.run("third", 1) == ended([1, "old"])


def test_large_results_are_replaced_too() -> None:
    platform = Platform.of(chain("F", "G"), {"F": SHARED}, F=lambda _event: "x" * 500, G=len)
    platform.store = LargeItems(platform.memory, MemoryObjects(), "w", least_bytes=100)
    platform.run("first", 1)
    platform.functions["F"] = lambda _event: "y" * 600
    assert run_forced(platform, "second", 1) == platform.run("third", 1) == ended(600)


def test_a_variant_has_a_digest_of_its_own_and_survives_its_text(platform: Platform) -> None:
    ordinary = platform.workflow
    changed = forced(ordinary)
    assert changed.digest != ordinary.digest
    assert Workflow.from_json(changed.to_json()).digest == changed.digest
    assert "variant" not in ordinary.to_json()
    newer = replace(ordinary, hop_budget=7)
    assert variant_like(changed, newer).digest == forced(newer).digest
    assert variant_like(ordinary, newer) is newer


def recorded(platform: Platform, digest: str) -> None:
    draft = new_record(platform.runtime(), "new", 1).saying(digest=digest)
    assert create(platform.runtime(), draft) is None


def test_a_start_names_the_definition_that_its_function_must_have(platform: Platform) -> None:
    recorded(platform, "another")
    with pytest.raises(OtherDefinition, match=exactly("execution 'new': expected the runtime of IR another")) as other:
        resume(platform.runtime(), "new")
    assert other.value.digest == "another"


def test_the_start_of_a_forced_execution_is_refused_without_its_variant(platform: Platform) -> None:
    digest = platform.workflow.digest
    recorded(platform, digest)
    says = f"start of 'new': expected a variant of a definition, got {digest}"
    with pytest.raises(RefusedDelivery, match=exactly(says)):
        resume(platform.runtime(), "new")
