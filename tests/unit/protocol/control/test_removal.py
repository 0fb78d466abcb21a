"""Executions that need what a deployment removes: of every definition, wherever they are; and broken searches."""

import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import ASK, PAYLOAD
from tests.unit.protocol.map_platform import Later, mapped
from tests.unit.protocol.platform import MovableClock, Platform, chain
from unum_runtime.cold_start.digest import short_digest
from unum_runtime.model.checkpoint import Began, start_record
from unum_runtime.model.list_index import FIRST, stored_item
from unum_runtime.model.naming import Execution, definition_key, start_key
from unum_runtime.model.states import Map, Task, Wait
from unum_runtime.protocol.control.deletions import removal
from unum_runtime.protocol.control.deletions.removal import RESERVE_MS, Removed, Stranded, Version, removed_parts
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.sweep_memory import Memory, remember
from unum_runtime.protocol.requests.definition_records import BODY, write_definition
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S, DEFAULT_RETENTION_S
from unum_simulator.memory_store import MemoryStore

C, B = Removed({"arn:C": "C"}), Removed({"arn:B": "B"})
TIMER = Removed({}, timer=True)
LATER = {"Type": "Wait", "Seconds": 60, "Next": "B"}
FOR_LONG = {"Type": "Wait", "SecondsPath": "$.seconds", "Next": "B"}
RETRY = {"Retry": [{"ErrorEquals": ["States.ALL"]}]}


@dataclass
class Deployments:
    """Successive definitions and their executions in one store."""

    clock: MovableClock = field(default_factory=MovableClock)
    newest: Platform = field(init=False)
    arns: dict[str, Mapping[str, str]] = field(default_factory=dict)
    retention_s: int = DEFAULT_RETENTION_S

    def __post_init__(self) -> None:
        self.memory = MemoryStore(self.clock)

    def deploy(self, definition: dict[str, Any], *keys: str, arns: Mapping[str, str] | None = None) -> Platform:
        """Deploy a definition whose functions have `arns`; by default they are ``arn:`` and the key."""
        self.newest = Platform.of(definition, {}, **{key: lambda event: event for key in keys})
        self.newest.memory = self.newest.store = self.memory
        self.newest.clock = self.clock
        address = f"version of {self.newest.workflow.digest}"
        self.newest.options |= {"timer": Later(), "own_address": address}
        self.arns[address] = {key: f"arn:{key}" for key in keys} if arns is None else arns
        write_definition(self.newest.runtime())
        return self.newest

    def search(self, removed: Removed, **runtime: Any) -> Stranded:
        versions = lambda began: Version(self.arns[began.address], self.retention_s)  # noqa: E731 - one line
        return removal.find_stranded(replace(self.newest.runtime(), **runtime), self.memory, removed, versions)

    def needed(self, removed: Removed) -> set[str]:
        return {*self.search(removed).parts}


def begun(platform: Platform, name: str = "e", deliveries: int = 0) -> None:
    """Start an execution, which runs its first Task, and deliver so many events of it."""
    platform.start(name, {"seconds": 60, "items": [1]})
    for _ in range(deliveries):
        platform.deliver(platform.sent.pop(0))


def chained(*states: str) -> tuple[Deployments, Platform]:
    deployments = Deployments()
    return deployments, deployments.deploy(chain(*states), *states)


def an_execution_needs_what_is_ahead() -> None:
    deployments, platform = chained("A", "B", "C")
    begun(platform)
    assert deployments.needed(C) == {"function C"}
    assert deployments.needed(B) == {"function B"}
    assert deployments.needed(Removed({"arn:D": "D"})) == set()


def what_it_has_passed_is_not_needed() -> None:
    deployments, platform = chained("A", "B", "C")
    begun(platform, deliveries=2)
    begun(platform, "f", deliveries=1)
    assert deployments.needed(Removed({"arn:A": "A"})) == set()
    assert deployments.search(C) == Stranded(1, ("f",), frozenset({"function C"}), last_s(deployments))


def every_definition_counts() -> None:
    deployments, platform = chained("A", "B", "C")
    begun(platform, "first")
    begun(deployments.deploy(chain("A", "B"), "A", "B"), "second")
    deployments.deploy(chain("A"), "A")
    assert deployments.needed(C) == {"function C"}
    assert deployments.search(B).executions == 2


def a_wait_needs_the_timer() -> None:
    deployments = Deployments()
    definition = chain("A", "B")
    definition["States"]["A"]["Next"], definition["States"]["W"] = "W", LATER
    begun(deployments.deploy(definition, "A", "B"))
    assert deployments.needed(TIMER) == {"timer"}
    assert deployments.needed(Removed({}, schedules=2700)) == set()


def a_long_wait_needs_schedules() -> None:
    deployments = Deployments()
    definition = chain("A", "B")
    definition["States"]["A"]["Next"], definition["States"]["W"] = "W", FOR_LONG
    begun(deployments.deploy(definition, "A", "B"))
    assert deployments.needed(Removed({}, timer=True, schedules=2700)) == {"timer", "schedules"}


def a_retry_needs_the_timer() -> None:
    deployments = Deployments()
    begun(deployments.deploy(chain("A", "B", B=RETRY), "A", "B"))
    assert deployments.needed(TIMER) == {"timer"}
    begun(deployments.deploy(chain("A", "B"), "A", "B"), "f")
    assert deployments.search(TIMER).executions == 1


def a_poll_of_a_job_needs_the_timer() -> None:
    deployments = Deployments()
    job = {"Resource": "arn:aws:states:::ecs:runTask.sync", "Parameters": {"TaskDefinition": "t"}}
    platform = deployments.deploy(chain("A", "B", B=job), "A")
    platform.functions["$services"] = platform.functions["A"]
    begun(platform)
    assert deployments.needed(Removed({}, timer=True, schedules=0)) == {"timer"}


def a_wait_that_the_queue_covers_needs_no_schedules() -> None:
    deployments = Deployments()
    definition = chain("A", "W", "B")
    definition["States"]["W"] = LATER
    begun(deployments.deploy(definition, "A", "B"))
    assert deployments.needed(Removed({}, schedules=60)) == set()
    assert deployments.needed(Removed({}, schedules=59)) == {"schedules"}


def an_answer_until_the_end_of_the_execution_needs_schedules() -> None:
    deployments = Deployments()
    asking = {"Resource": ASK, "Parameters": {"FunctionName": "B", "Payload": PAYLOAD}}
    begun(deployments.deploy(chain("A", "B", B=asking) | {"TimeoutSeconds": 86_400}, "A", "B"))
    assert deployments.needed(Removed({}, schedules=2700)) == {"schedules"}


def branches_count() -> None:
    deployments = Deployments()
    begun(deployments.deploy(_before(mapped("B", "C", after="D", ItemsPath="$.items")), "A", "B", "C", "D"))
    assert deployments.needed(C) == {"function C"}


def _before(definition: dict[str, Any]) -> dict[str, Any]:
    states = {"A": {"Type": "Task", "Resource": "A", "Next": definition["StartAt"]}, **definition["States"]}
    return {"StartAt": "A", "States": states}


def catchers_and_choices_count() -> None:
    deployments = Deployments()
    definition = chain("A", "B", B={"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Which"}]})
    rule = {"Variable": "$.x", "IsNull": True, "Next": "C"}
    definition["States"]["Which"] = {"Type": "Choice", "Choices": [rule], "Default": "D"}
    definition["States"] |= {key: {"Type": "Task", "Resource": key, "End": True} for key in "CD"}
    begun(deployments.deploy(definition, *"ABCD"))
    assert deployments.needed(C) == {"function C"}
    assert deployments.needed(Removed({"arn:D": "D"})) == {"function D"}


def activities_count() -> None:
    deployments = Deployments()
    definition = chain("A", "Review", "B", Review={"Resource": "arn:aws:states:::activity:Review"})
    platform = deployments.deploy(definition, "A", "B")
    platform.functions["$services"] = platform.functions["A"]
    begun(platform)
    assert deployments.needed(Removed({}, frozenset({"Review", "Other"}))) == {"activity Review"}


def an_execution_that_has_not_begun_may_need_everything() -> None:
    deployments, platform = chained("A", "B")
    record = start_record(Execution("e", platform.clock.ms), 5)
    platform.memory.create(start_key("w", "e"), stored_item("w", record), expires_at_s=10**12)
    assert deployments.needed(Removed({"arn:D": "D"}, timer=True)) == {"function D", "timer"}


def an_execution_without_its_definition_may_need_everything() -> None:
    deployments, platform = chained("A", "B")
    begun(platform)
    for key in [key for key in deployments.memory._items if "definition" in key.partition]:
        del deployments.memory._items[key]
    assert deployments.needed(Removed({"arn:D": "D"})) == {"function D"}


def the_function_counts_and_not_its_key() -> None:
    deployments, platform = chained("A", "B")
    begun(platform)
    deployments.deploy(chain("A", "New"), "A", "New", arns={"A": "arn:A", "New": "arn:B"})
    assert deployments.needed(Removed({"arn:B": "New"})) == {"function New"}, "its key was B before"
    assert deployments.needed(Removed({"arn:other": "B"})) == set(), "another function of this name"


def a_function_whose_version_cannot_be_read_counts_by_its_key() -> None:
    deployments = Deployments()
    begun(deployments.deploy(chain("A", "B"), "A", "B", arns={}))
    assert deployments.needed(B) == {"function B"}


def ended_executions_do_not_count() -> None:
    deployments, platform = chained("A", "B")
    platform.run()
    assert deployments.search(B) == Stranded()


def a_redriven_execution_counts_once() -> None:
    deployments, platform = chained("A", "B")
    fail = [True]

    def sometimes(event: Any) -> Any:
        if fail:
            raise ValueError(fail.pop())
        return event

    platform.functions["B"] = sometimes
    platform.run(value=1)
    redrive(platform.runtime(), "e", Began(f"version of {platform.workflow.digest}", {}))
    assert deployments.search(B).executions == 1
    deployments.clock.pass_seconds(60)
    remember(platform.runtime(), Memory().after(FIRST, f"{platform.clock.ms:013d}/~", []))  # saw its first end
    assert deployments.search(B).executions == 1


def an_execution_of_unknown_versions_counts_by_the_keys() -> None:
    deployments, platform = chained("A", "B")
    platform.options["own_address"] = ""
    begun(platform)
    assert deployments.needed(B) == {"function B"}


def the_retention_of_its_version_decides() -> None:
    deployments, platform = chained("A", "B")
    begun(platform)
    deployments.retention_s = 2 * DEFAULT_RETENTION_S
    deployments.clock.pass_seconds(DEFAULT_RETENTION_S - DEADLINE_MARGIN_S + 1)
    assert deployments.needed(B) == {"function B"}


def an_execution_past_its_last_moment_does_not_count() -> None:
    deployments, platform = chained("A", "B")
    begun(platform)
    deployments.clock.pass_seconds(DEFAULT_RETENTION_S - DEADLINE_MARGIN_S - 1)
    assert deployments.needed(B) == {"function B"}
    deployments.clock.pass_seconds(2)
    assert deployments.needed(B) == set()


def what_a_sweep_has_seen_running_counts() -> None:
    deployments, platform = chained("A", "B")
    begun(platform)
    place = f"{platform.clock.ms:013d}/e"
    deployments.clock.pass_seconds(60)
    remember(platform.runtime(), Memory().after(FIRST, f"{platform.clock.ms:013d}/~", [place]))
    assert deployments.needed(B) == {"function B"}


def many_are_counted_and_a_few_named() -> None:
    deployments, platform = chained("A", "B")
    for number in range(150):
        begun(platform, f"e{number}")
        deployments.clock.pass_seconds(1)
    found = deployments.search(B)
    assert (found.executions, found.names, found.is_complete) == (150, ("e0", "e1", "e2"), True)
    assert found.last_s == last_s(deployments) - 1


def too_little_time_is_said() -> None:
    deployments, platform = chained("A", "B")
    for number in range(150):
        begun(platform, f"e{number}")
    left = iter((RESERVE_MS, RESERVE_MS - 1))
    found = deployments.search(B, remaining_ms=lambda: next(left))
    assert (found.executions, found.is_complete) == (removal.AT_ONCE, False)


def an_execution_with_a_definition_that_cannot_be_read_may_need_everything() -> None:
    deployments, platform = chained("A", "B")
    begun(platform)
    for key, (item, _) in deployments.memory._items.items():
        if "definition" in key.partition:
            item["definition"] = "another"
    assert deployments.needed(Removed({"arn:D": "D"})) == {"function D"}


def an_execution_with_a_definition_of_a_later_release_may_need_everything() -> None:
    deployments, platform = chained("A", "B")
    begun(platform)
    text = platform.workflow.to_json().replace('"version":1', '"new_field":2,"version":1')
    body = b64encode(zlib.compress(text.encode())).decode()
    digest = short_digest(text.encode())
    deployments.memory.create(definition_key("w", digest, 1, 0), {BODY: body}, expires_at_s=10**11)
    for item, _ in deployments.memory._items.values():
        if item.get("ir") == platform.workflow.digest:
            item["ir"] = digest
    found = deployments.search(Removed({"arn:D": "D"}))
    assert found == Stranded(1, ("e",), frozenset({"function D"}), last_s(deployments))


def the_last_version_of_an_execution_counts() -> None:
    deployments, platform = chained("A", "B", "C")

    def fail(event: Any) -> Any:
        raise ValueError(event)

    platform.functions["B"] = fail
    platform.run(value={})
    deployments.arns["later"] = {"A": "arn:A", "B": "arn:B", "C": "arn:moved"}
    redrive(platform.runtime(), "e", Began("later", {}))
    assert deployments.needed(C) == set()
    assert deployments.needed(Removed({"arn:moved": "C"})) == {"function C"}


def the_version_of_the_first_step_counts_for_later_ones() -> None:
    deployments = Deployments()
    platform = deployments.deploy(chain("A", "B", "C"), *"ABC", arns={"A": "arn:A", "B": "arn:B", "C": "arn:moved"})
    begun(platform, deliveries=1)
    assert deployments.needed(C) == set()
    assert deployments.needed(Removed({"arn:moved": "C"})) == {"function C"}


def the_first_by_their_starts_are_named() -> None:
    deployments, platform = chained("A", "B")
    places = []
    for number in range(20):
        begun(platform, f"e{number}")
        places.append(f"{platform.clock.ms:013d}/e{number}")
        deployments.clock.pass_seconds(1)
    remember(platform.runtime(), Memory().after(FIRST, f"{platform.clock.ms:013d}/~", places))
    assert deployments.search(B).names == ("e0", "e1", "e2")


def last_s(deployments: Deployments) -> int:
    return deployments.clock.ms // 1000 + DEFAULT_RETENTION_S - DEADLINE_MARGIN_S


CHECKS: list[Callable[[], None]] = [
    an_execution_needs_what_is_ahead,
    what_it_has_passed_is_not_needed,
    every_definition_counts,
    a_wait_needs_the_timer,
    a_long_wait_needs_schedules,
    a_retry_needs_the_timer,
    branches_count,
    catchers_and_choices_count,
    activities_count,
    an_execution_that_has_not_begun_may_need_everything,
    an_execution_without_its_definition_may_need_everything,
    the_function_counts_and_not_its_key,
    a_function_whose_version_cannot_be_read_counts_by_its_key,
    ended_executions_do_not_count,
    a_redriven_execution_counts_once,
    an_execution_of_unknown_versions_counts_by_the_keys,
    the_retention_of_its_version_decides,
    a_poll_of_a_job_needs_the_timer,
    a_wait_that_the_queue_covers_needs_no_schedules,
    an_answer_until_the_end_of_the_execution_needs_schedules,
    an_execution_past_its_last_moment_does_not_count,
    what_a_sweep_has_seen_running_counts,
    many_are_counted_and_a_few_named,
    too_little_time_is_said,
    an_execution_with_a_definition_that_cannot_be_read_may_need_everything,
    an_execution_with_a_definition_of_a_later_release_may_need_everything,
    the_last_version_of_an_execution_counts,
    the_version_of_the_first_step_counts_for_later_ones,
    the_first_by_their_starts_are_named,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_search(check: Callable[[], None]) -> None:
    check()


def test_each_version_and_each_definition_is_read_once() -> None:
    deployments, platform = chained("A", "B")
    for name in ("e", "f", "g"):
        begun(platform, name)
    asked: list[str] = []

    def version(began: Began) -> Version:
        asked.append(began.address)
        return Version({}, DEFAULT_RETENTION_S)

    read = removal.read_definition
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(removal, "read_definition", lambda *given: asked.append(given[-1]) or read(*given))
        removal.find_stranded(platform.runtime(), deployments.memory, B, version)
    assert sorted(asked) == sorted({f"version of {platform.workflow.digest}", platform.workflow.digest})


def test_parts_that_are_removed() -> None:
    functions = {"function A": "arn:A", "function B": "arn:B"}
    old = {**functions, "timer": "url", "schedules": "group", "activity Review": "queue"}
    new = {"function renamed": "arn:A", "timer": "url"}
    assert removed_parts(old, new, schedules_s=9) == Removed({"arn:B": "B"}, frozenset({"Review"}), schedules=9)
    assert removed_parts({"timer": "url"}, {"timer": "another"}, schedules_s=9) == Removed({}, timer=True)


def _of_the_newest_definition(original: Any) -> Any:
    def look_at(search: Any, place: str) -> Any:
        found = original(search, place)
        return found if {search.rt.workflow.digest} >= search.definitions.keys() else (frozenset(), 0)

    return look_at


BROKEN: Mapping[str, tuple[object, str, Callable[[Any], Any]]] = {
    "always says yes": (removal, "find_stranded", lambda _: lambda *_: Stranded()),
    "always says no": (removal, "find_stranded", lambda _: lambda *_: Stranded(1, ("e",), C.names)),
    "counts only the newest definition": (removal._Search, "look_at", _of_the_newest_definition),
    "counts ended ones": (removal, "end_of", lambda _: lambda *_: None),
    "believes keys": (Removed, "needed", lambda original: lambda removed, wanted, _: original(removed, wanted, {})),
    "forgets what the sweep has seen": (removal, "recall", lambda original: lambda rt: Memory(original(rt).horizon)),
    "forgets Waits": (
        removal,
        "delays_events",
        lambda original: lambda workflow, state: not isinstance(state, Wait) and original(workflow, state),
    ),
    "forgets retries": (removal, "delays_events", lambda _: lambda _, state: isinstance(state, Wait)),
    "forgets how long": (removal, "longest_delay_s", lambda _: lambda *_: 0.0),
    "forgets branches": (
        removal,
        "_following",
        lambda original: lambda state: [state.next] if isinstance(state, Map) else original(state),
    ),
    "forgets catchers": (
        removal,
        "_following",
        lambda original: lambda state: filter(None, [state.next]) if isinstance(state, Task) else original(state),
    ),
}
"""Parts of the search, each with what to put in its place."""


@pytest.mark.parametrize(("place", "name", "breaks"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_search_is_noticed(monkeypatch: pytest.MonkeyPatch, place: Any, name: str, breaks: Any) -> None:
    monkeypatch.setattr(place, name, breaks(getattr(place, name)))
    with pytest.raises(AssertionError):
        check_all()


def check_all() -> None:
    for check in CHECKS:
        check()
