"""Deletions of executions that wait for answers and jobs, of other versions' steps, and what is told of the rest."""

import sys
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import WAITING
from tests.unit.protocol.job_platform import JOB, watching
from tests.unit.protocol.map_platform import around, mapped
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_compiler import compile_workflow
from unum_compiler.memoization import Memoization
from unum_compiler.options import FunctionOptions
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import ExecutionDoesNotExist, ExecutionNotDeletable, RefusedDelivery, TimeIsShort
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Failure, Item, Success, start_record
from unum_runtime.model.naming import (
    SHARD_SIZE,
    Execution,
    Key,
    Name,
    checkpoint_key,
    is_aside,
    lease_key,
    redrive_key,
    start_key,
)
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.deletions import delete as control_delete
from unum_runtime.protocol.control.deletions.delete import QUIET_MS, Deletion, delete
from unum_runtime.protocol.control.operator_requests import Control, answer, parse, request
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.start_records import start_record as read_start
from unum_runtime.protocol.planning.existing_start import DELETED
from unum_runtime.protocol.requests import respond
from unum_runtime.protocol.requests.definition_records import write_definition
from unum_runtime.protocol.runtime import CallbackPending
from unum_runtime.protocol.waiting.callback import DIGEST_LENGTH
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects

SECRET = "confidential"
DAY_MS = 86_400_000


class Tokens(list[str]):
    """The tokens that a function was called with, in order."""

    def __call__(self, event: Any) -> Any:
        if isinstance(event, dict) and "token" in event:
            self.append(event["token"])
            return CallbackPending()
        return event


def asking(*states: str) -> dict[str, Any]:
    """A chain of Tasks; those whose names begin with "Ask" wait for answers."""
    definition = chain(*(f"F/{state}" for state in states))
    for name in states:
        definition["States"][name] |= WAITING if name.startswith("Ask") else {}
    return definition


def outer(branch: dict[str, Any]) -> dict[str, Any]:
    """A Map around a machine with a Map."""
    return {"StartAt": "Outer", "States": {"Outer": {"Type": "Map", "ItemProcessor": branch, "End": True}}}


def stopped(definition: dict[str, Any], value: Any, *answers: int) -> Platform:
    """An execution that answers the tokens `answers`, in the order in which they were given out, and is stopped."""
    tokens = Tokens()
    platform = Platform.of(definition, F=tokens)
    platform.options["own_address"] = "F:1"
    platform.start("e", value)
    platform.deliver_all()
    for each in answers:
        respond.send_result(platform.runtime(), tokens[each], Success(SECRET), "")
        platform.deliver_all()
    end(platform)
    return platform


def end(platform: Platform) -> None:
    if platform.ending() is None:
        stop(platform.runtime(), read_start(platform.memory, "w", "e").name.execution, Failure("Stop", None))


def delete_for_good(platform: Platform) -> Deletion:
    """Delete now, and again when nothing runs any more."""
    first = delete(platform.runtime(), "e")
    assert first.again_ms == first.deleted_ms + QUIET_MS
    platform.clock.ms = first.again_ms
    return delete(platform.runtime(), "e")


def rest(platform: Platform) -> list[Key]:
    """Return the keys of all that is stored, apart from markers."""
    items = [key for key, (item, _) in platform.memory._items.items() if item.get("error") != to_text(DELETED)]
    opened = [key for key, (item, _) in platform.memory._items.items() if "opens" in item]
    return [*items, *opened, *platform.memory._sets, *platform.memory._leases]


def test_items_beside_packs_are_found_before_and_after_results_set_aside() -> None:
    tokens = Tokens()
    platform = Platform.of(around(asking("A", "Ask", "B")), F=tokens)
    platform.workflow = replace(platform.workflow, small_results=True)
    platform.options["own_address"] = "F:1"
    platform.start("e", [1, 2, 3])
    platform.deliver_all()
    for number, token in enumerate([*tokens][:2]):
        respond.send_result(platform.runtime(), token, Success([SECRET * 20, "small"][number]), "")
        platform.deliver_all()
    assert any(is_aside(key) for key in rest(platform))
    end(platform)
    delete_for_good(platform)
    assert rest(platform) == []


PLACES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"top": lambda states: states, "branch": around}

WAITING_EXECUTIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "first step": (asking("Ask"), 0),
    "second step": (asking("A", "Ask"), 0),
    "branches of two parts, without outcomes": (around(asking("Ask")), [*range(SHARD_SIZE + 20)]),
    "branches of two parts, second step": (around(asking("A", "Ask")), [*range(SHARD_SIZE + 20)]),
    "branches of branches": (outer(around(asking("Ask"))), [[1, 2], [3]]),
    "branches of branches, second step": (outer(around(asking("A", "Ask", "B"))), [[1, 2], [3]]),
}


@pytest.mark.parametrize("case", WAITING_EXECUTIONS)
def test_tokens_of_tasks_that_still_wait_are_deleted(case: str) -> None:
    platform = stopped(*WAITING_EXECUTIONS[case])
    assert any(key.partition.startswith("token:") for key in rest(platform))
    assert delete_for_good(platform).again_ms is None
    assert rest(platform) == []


@pytest.mark.parametrize("place", PLACES)
def test_tokens_of_several_tasks_are_deleted_whichever_was_answered(place: str) -> None:
    states = asking("Ask1", "Ask2", "A", "Ask3", "Ask4")
    platform = stopped(PLACES[place](states), [1, 2], 0, 1, 2, 3)
    delete_for_good(platform)
    assert rest(platform) == []


@pytest.mark.parametrize("place", PLACES)
def test_tokens_of_all_tries_are_deleted(place: str) -> None:
    states = asking("Ask")
    states["States"]["Ask"]["Retry"] = [{"ErrorEquals": ["Again"], "IntervalSeconds": 1, "MaxAttempts": 3}]
    tokens = Tokens()
    platform = Platform.of(PLACES[place](states), F=tokens)
    platform.options["own_address"] = "F:1"
    platform.start("e", [1])
    platform.deliver_all()
    for _ in range(3):
        respond.send_result(platform.runtime(), tokens[-1], Failure("Again", None), "")
        platform.deliver_all()
        platform.deliver(platform.pass_to_next())
    assert len(tokens) == 4
    end(platform)
    delete_for_good(platform)
    assert rest(platform) == []


@pytest.mark.parametrize("place", PLACES)
def test_jobs_are_deleted(place: str) -> None:
    inside = {"StartAt": "Job", "States": {"Job": {**JOB, "End": True}}}
    platform = watching(PLACES[place](inside))
    platform.begun([1])
    end(platform)
    assert any(key.sort.startswith("job.") for key in rest(platform))
    delete_for_good(platform)
    assert rest(platform) == []


def deletes_before(platform: Platform, stores: Callable[[Key], bool]) -> None:
    """Stop and delete the execution right before a delivery stores an item whose key `stores` picks."""
    create = platform.memory.create

    def late(key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        if stores(key):
            platform.memory.create = create
            end(platform)
            delete(platform.runtime(), "e")
        return create(key, item, expires_at_s=expires_at_s)

    platform.memory.create = late


def is_token(key: Key) -> bool:
    return key.partition.startswith("token:")


@pytest.mark.parametrize("deployed", ["the same", "another definition"])
@pytest.mark.parametrize("place", PLACES)
def test_second_deletion_deletes_a_token_given_out_during_the_first(place: str, deployed: str) -> None:
    given_out_late(place, deployed)


def given_out_late(place: str, deployed: str) -> None:
    platform = Platform.of(PLACES[place](asking("A", "Ask")), F=Tokens())
    platform.options["own_address"] = "F:1"
    write_definition(platform.runtime())
    deletes_before(platform, is_token)
    platform.start("e", [1, 2])
    platform.deliver_all()
    if deployed == "another definition":
        platform.workflow = compile_workflow(chain("F/Other"), name="w", functions=["F"])
    assert any(is_token(key) for key in rest(platform))
    delete_for_good_now(platform)


@pytest.mark.parametrize("place", PLACES)
def test_second_deletion_deletes_a_later_trys_token_given_out_meanwhile(
    place: str,
) -> None:
    given_out_late_again(place)


def given_out_late_again(place: str) -> None:
    states, tokens = asking("A", "Ask"), Tokens()
    states["States"]["Ask"]["Retry"] = [{"ErrorEquals": ["Again"], "IntervalSeconds": 1, "MaxAttempts": 3}]
    platform = Platform.of(PLACES[place](states), F=tokens)
    platform.options["own_address"] = "F:1"
    platform.start("e", [1])
    platform.deliver_all()
    respond.send_result(platform.runtime(), tokens[-1], Failure("Again", None), "")
    platform.deliver_all()
    deletes_before(platform, is_token)
    platform.deliver(platform.pass_to_next())
    assert any(is_token(key) for key in rest(platform))
    delete_for_good_now(platform)


@pytest.mark.parametrize("place", PLACES)
def test_late_event_of_an_unguarded_task_gives_out_no_token(place: str) -> None:
    platform = late_event_of_unguarded_task(place)
    assert rest(platform) == []


def late_event_of_unguarded_task(place: str) -> Platform:
    """Deliver an event of a Task with a token and guard ``commit`` again, before and after the end of the deletion."""
    tokens = Tokens()
    options = {"F": FunctionOptions(guard=Guard.COMMIT)}
    platform = Platform.of(PLACES[place](asking("A", "Ask")), options, F=tokens)
    platform.options["own_address"] = "F:1"
    platform.start("e", [1])
    while platform.sent[0].state != "Ask":
        platform.deliver(platform.sent.pop(0))
    event = platform.sent[0]
    platform.deliver_all()
    end(platform)
    first = delete(platform.runtime(), "e")
    for _ in range(2):
        before = len(tokens)
        with pytest.raises(RefusedDelivery):
            platform.deliver(event)
        assert len(tokens) == before
        platform.clock.ms = first.deleted_ms + QUIET_MS
        delete(platform.runtime(), "e")
    with pytest.raises(RefusedDelivery):
        platform.deliver(event)
    return platform


def test_tokens_without_marks_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_delete._Work, "_is_unguarded", lambda *_: False)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        assert rest(late_event_of_unguarded_task("top")) == []


@pytest.mark.parametrize("place", PLACES)
def test_second_deletion_deletes_a_job_started_during_the_first(place: str) -> None:
    platform = watching(PLACES[place]({"StartAt": "Job", "States": {"Job": {**JOB, "End": True}}}))
    deletes_before(platform, lambda key: key.sort.startswith("job."))
    platform.begun([1])
    assert any(key.sort.startswith("job.") for key in rest(platform))
    delete_for_good_now(platform)


@pytest.mark.parametrize("place", PLACES)
def test_late_token_of_a_retried_task_that_has_ended_is_deleted(place: str) -> None:
    """Its delivery was frozen since then."""
    states, tokens = asking("Ask", "Ask2"), Tokens()
    states["States"]["Ask"]["Retry"] = [{"ErrorEquals": ["Again"], "IntervalSeconds": 1, "MaxAttempts": 3}]
    platform = Platform.of(PLACES[place](states), F=tokens)
    platform.options["own_address"] = "F:1"
    platform.start("e", [1])
    platform.deliver_all()
    respond.send_result(platform.runtime(), tokens[-1], Failure("Again", None), "")
    platform.deliver_all()
    platform.deliver(platform.pass_to_next())
    respond.send_result(platform.runtime(), tokens[-1], Success(SECRET), "")
    platform.deliver_all()
    second = f"token:w/{tokens[1][:DIGEST_LENGTH]}"
    given = {key: item for key, (item, _) in platform.memory._items.items() if key.partition == second}
    assert given
    end(platform)
    delete(platform.runtime(), "e")
    for key, item in given.items():
        platform.memory.create(key, item, expires_at_s=10**12)
    delete_for_good_now(platform)


def test_without_tasks_that_wait_nothing_is_noted() -> None:
    platform = Platform.of(around(chain("A")), A=lambda event: event)
    platform.run("e", [1, 2])
    delete(platform.runtime(), "e")
    assert not [key for key in rest(platform) if key.partition.endswith("/waits")]


def forgetful(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(control_delete._Work, "_noted", lambda _work, _key, found: found)


def impatient(patch: pytest.MonkeyPatch) -> None:
    tokens = control_delete._Work._delete_tokens
    patch.setattr(control_delete._Work, "_delete_tokens", lambda work, name, _tries: tokens(work, name, 0))


@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        (forgetful, lambda: given_out_late("branch", "the same")),
        (forgetful, lambda: given_out_late("top", "another definition")),
        (impatient, lambda: given_out_late_again("top")),
        (impatient, lambda: given_out_late_again("branch")),
    ],
)
def test_a_deletion_that_looks_for_less_would_be_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], check: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(AssertionError):
        check()


def delete_for_good_now(platform: Platform) -> None:
    """Delete when nothing runs any more, and expect that nothing is left."""
    platform.clock.ms += QUIET_MS
    assert delete(platform.runtime(), "e").again_ms is None
    assert [key for key in rest(platform) if not key.partition.startswith("definition:")] == []


def test_leases_of_steps_and_of_the_start_and_a_pinned_redrive_are_deleted() -> None:
    platform = stopped(asking("A", "Ask"), 1)
    execution = read_start(platform.memory, "w", "e").name.execution
    for key in (checkpoint_key("w", Name(execution, (), 1)), start_key("w", "e")):
        platform.memory.acquire(lease_key(key), "another", expires_at_ms=platform.clock.ms + DAY_MS)
    platform.memory.create(redrive_key("w", Name(execution, (), 2)), {"ir": "x", "at": 1}, expires_at_s=10**12)
    delete_for_good(platform)
    assert rest(platform) == []


def test_the_first_deletion_leaves_no_answer_of_the_top_level() -> None:
    platform = stopped(asking("Ask", "Ask2"), 1, 0)
    assert SECRET in repr(platform.memory._items)
    delete(platform.runtime(), "e")
    assert SECRET not in repr(platform.memory._items)


def test_tokens_of_earlier_tries_are_noted_for_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token may have expired before one of a later try, so the search must not end where one is missing."""
    platform = stopped(around(asking("A", "Ask")), [1, 2])
    key = next(key for key in platform.memory._items if "~" in key.partition and "/" not in key.sort)
    item, expires_at_s = platform.memory._items[key]
    platform.memory._items[key] = {**item, "attempt": 2}, expires_at_s
    noted: list[Any] = []
    note = control_delete._Work._noted

    def noting(work: Any, at: Key, waits: Any) -> Any:
        noted.append(waits)
        return note(work, at, waits)

    monkeypatch.setattr(control_delete._Work, "_noted", noting)
    delete(platform.runtime(), "e")
    assert [waits.tries for waits in noted] == [0, 3]


def test_leases_of_steps_in_branches_are_deleted() -> None:
    platform = stopped(around(asking("A", "Ask")), [1, 2])
    in_branches = [key for key in platform.memory._items if "~" in key.partition and "/" not in key.sort]
    assert in_branches
    for key in in_branches:
        platform.memory.acquire(lease_key(key), "another", expires_at_ms=platform.clock.ms + DAY_MS)
    delete_for_good(platform)
    assert rest(platform) == []


def test_the_first_deletion_leaves_no_data_and_what_leads_to_late_results() -> None:
    platform = stopped(outer(around(asking("A", "Ask"))), [[SECRET], [SECRET, SECRET]])
    assert SECRET in repr(platform.memory._items)
    delete(platform.runtime(), "e")
    assert SECRET not in repr(platform.memory._items)
    opened = [item for item, _ in platform.memory._items.values() if "opens" in item]
    assert len(opened) == 3  # the outer fan-out and both inner ones
    assert {item.get("error") for item in opened} == {to_text(DELETED)}


def test_other_executions_keep_all_they_have() -> None:
    platform = stopped(around(asking("A", "Ask")), [1, 2])
    platform.start("f", [1, 2])
    platform.deliver_all()
    other = [pair for pair in snapshot(platform) if "e:1" not in repr(pair[0]) and pair[0] != start_key("w", "e")]
    delete_for_good(platform)
    kept = snapshot(platform)
    assert [pair for pair in other if pair in kept and pair[0].partition.startswith(("start:w/f", "w/f:"))] == [
        pair for pair in other if pair[0].partition.startswith(("start:w/f", "w/f:"))
    ]
    tokens = [key for key, _ in kept if key.partition.startswith("token:")]
    assert len(tokens) == 2  # of the other execution's branches


def snapshot(platform: Platform) -> list[tuple[Key, Any]]:
    return [*platform.memory._items.items(), *platform.memory._sets.items()]


@pytest.mark.parametrize("left", [0, 2], ids=["stored", "not stored"])
def test_tasks_of_another_version_are_known_if_its_definition_is_stored(left: int) -> None:
    platform = stopped(around(asking("A", "Ask")), [1, 2])
    if not left:
        write_definition(platform.runtime())
    platform.workflow = compile_workflow(chain("F/Other"), name="w", functions=["F"])
    reply = delete(platform.runtime(), "e")
    expiry_ms = platform.runtime().result_expires_at_s() * 1000
    delete_for_good(platform)
    tokens = [key for key in rest(platform) if key.partition.startswith("token:")]
    assert len(tokens) == left
    what = "task tokens and jobs of steps whose definition is not stored"
    assert [each.until_ms for each in reply.remains if each.what == what] == ([expiry_ms] if left else [])


def test_objects_of_tokens_in_branches_are_deleted() -> None:
    objects = MemoryObjects()
    platform = Platform.of(around(asking("A", "Ask")), F=Tokens())
    platform.options["own_address"] = "F:1"
    platform.store = LargeItems(platform.memory, objects, "w", least_bytes=20)
    platform.start("e", [SECRET * 10])
    platform.deliver_all()
    stop(platform.runtime(), Execution("e", platform.clock.ms), Failure("Stop", None))
    assert objects._contents
    delete_for_good(platform)
    assert (rest(platform), objects._contents) == ([], {})


def test_all_that_remains_is_told() -> None:
    starts = {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution", "End": True}
    definition = mapped("F/A", after="F/B")
    definition["States"]["M"]["ItemProcessor"] = chain("F/A")
    definition["States"]["M"]["Next"] = "B"
    definition["States"]["B"] = {"Type": "Task", "Resource": "F", "Next": "S"}
    definition["States"].pop("F/B")
    definition["States"]["S"] = {**starts, "Parameters": {"StateMachineArn": "w", "Input": {}}}
    options = {"F": FunctionOptions(guard=Guard.COMMIT)}
    platform = Platform.of(definition, options, F=lambda event: event)
    shared = replace(platform.workflow.task("B"), memoize=True, memo_lifetime_s=2_000_000)
    platform.workflow = replace(platform.workflow, states={**platform.workflow.states, "B": shared})
    platform.store = LargeItems(platform.memory, MemoryObjects(), "w")
    platform.start("e", [1])
    end(platform)
    reply = delete(platform.runtime(), "e")
    now_ms, expiry_ms = platform.clock.ms, platform.runtime().result_expires_at_s() * 1000
    assert [(each.what, each.until_ms) for each in reply.remains] == [
        ("its name, and markers without data in the place of its steps", expiry_ms),
        (
            "results of deliveries that ran when it was deleted: no sweep has run for a day: delete it again then",
            now_ms + QUIET_MS,
        ),
        ("results that its Tasks share with other executions (`memoize`)", now_ms + 2_000_000_000),
        ("executions that its Tasks started: delete them in their own workflows", None),
        ("its input, if it was uploaded by a link", now_ms + 8 * DAY_MS),
    ]
    assert platform.logged[-1] == ("deleted", {"execution": "e", "is_final": False})


def test_a_plain_execution_leaves_its_name_and_says_so() -> None:
    platform = Platform.of(chain("A"), {"A": FunctionOptions(guard=Guard.COMMIT)}, A=lambda event: event)
    platform.run("e", 1)
    reply = delete_for_good(platform)
    assert [each.what for each in reply.remains] == ["its name, and markers without data in the place of its steps"]
    assert platform.logged[-1] == ("deleted", {"execution": "e", "is_final": True})


def test_an_execution_without_any_step_runs() -> None:
    platform = Platform.of(chain("A"), A=lambda event: event)
    record = start_record(Execution("e", platform.clock.ms), 5)
    platform.memory.create(start_key("w", "e"), record.to_item(), expires_at_s=10**12)
    with pytest.raises(ExecutionNotDeletable, match=exactly("execution 'e' runs: stop it first, or wait for its end")):
        delete(platform.runtime(), "e")


@pytest.mark.parametrize("name", ["never", "no/name", ""])
def test_what_never_started_is_no_execution(name: str) -> None:
    platform = Platform.of(chain("A"), A=lambda event: event)
    text = f"workflow 'w' has no execution {name!r}: it never started, or its retention has passed"
    with pytest.raises(ExecutionDoesNotExist, match=exactly(text)):
        delete(platform.runtime(), name)


def test_a_request_that_is_short_of_time_says_that_it_is_not_done() -> None:
    platform = stopped(around(asking("Ask")), [1])
    hurried = replace(platform.runtime(), remaining_ms=lambda: 0)
    said = answer(hurried, parse(request(Control.DELETE, "e")), None)
    assert said == {"deleted_ms": platform.clock.ms, "again_ms": None, "remains": [], "is_done": False}
    assert rest(platform)


@pytest.mark.parametrize("place", PLACES)
def test_late_token_of_the_fourth_try_is_deleted_by_the_second_deletion(place: str) -> None:
    states, tokens = asking("A", "Ask"), Tokens()
    states["States"]["Ask"]["Retry"] = [{"ErrorEquals": ["Again"], "IntervalSeconds": 1, "MaxAttempts": 3}]
    platform = Platform.of(PLACES[place](states), F=tokens)
    platform.options["own_address"] = "F:1"
    platform.start("e", [1])
    platform.deliver_all()
    for number in range(3):
        respond.send_result(platform.runtime(), tokens[-1], Failure("Again", None), "")
        platform.deliver_all()
        if number == 2:
            deletes_before(platform, is_token)
        platform.deliver(platform.pass_to_next())
    assert any(is_token(key) for key in rest(platform))
    delete_for_good_now(platform)


def test_most_tries_of_any_step_are_noted() -> None:
    steps: dict[Key, Item] = {Key("w/e:1", f"{number}"): {"attempt": number} for number in (0, 1, 3, 2)}
    assert control_delete._tries(steps) == 4


def waits_of_one_mailbox() -> Platform:
    """Return a platform with a stopped execution, both branches of which wait for one signal."""
    wait = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "unum:signal:go", "End": True}}}
    platform = Platform.of(around(wait), {}, **{"$services": lambda _: CallbackPending()})
    platform.options["own_address"] = "services"
    platform.start("e", [1, 2])
    platform.deliver_all()
    end(platform)
    return platform


def test_deletion_cut_off_between_two_waits_of_a_mailbox_finds_the_other() -> None:
    whole, platform = waits_of_one_mailbox(), waits_of_one_mailbox()
    delete_for_good(whole)
    assert rest(whole) == []
    checks = Counter[str]()

    def cut_off() -> int:
        checks["all"] += 1
        gone = [key for key in platform.memory._items if key.sort == "pending"]
        return 10**6 if len(gone) != 1 else 0

    platform.options["remaining_ms"] = cut_off
    with pytest.raises(TimeIsShort):
        delete(platform.runtime(), "e")
    del platform.options["remaining_ms"]
    delete_for_good(platform)
    assert rest(platform) == []


@pytest.mark.parametrize(
    ("platform", "checks"),
    [
        (lambda: stopped(chain("F/A", "F/B"), 1), 2),  # one for each step
        (lambda: stopped(mapped("F/A"), [*range(SHARD_SIZE + 1)]), 5),  # two steps, a fan-out, two parts of it
        (waits_of_one_mailbox, 6),  # two steps, a fan-out of one part, two waits
    ],
)
def test_time_is_checked_before_each_part(platform: Callable[[], Platform], checks: int) -> None:
    deleted, asked = platform(), Counter[str]()

    def remaining_ms() -> int:
        asked["all"] += 1
        return 10**6

    deleted.options["remaining_ms"] = remaining_ms
    delete(deleted.runtime(), "e")
    assert asked["all"] == checks


def test_longest_lifetimes_are_told_of_what_remains() -> None:
    lifetimes = {"A": timedelta(days=3), "B": timedelta(days=9)}
    options = {
        name: FunctionOptions(memoize=Memoization(key=["$.n"], lifetime=lifetime))
        for name, lifetime in lifetimes.items()
    }
    platform = Platform.of(chain("A", "B"), options, A=lambda event: event, B=lambda event: event)
    platform.run("e", {"n": 1})
    platform.store = LargeItems(platform.memory, MemoryObjects(), "w")
    platform.options["result_retention_s"] = 30 * 86_400
    remains = delete(platform.runtime(), "e").remains
    days = {(each.until_ms - platform.clock.ms) // DAY_MS for each in remains if each.until_ms is not None}
    assert {9, 31} <= days


def test_deletion_without_signals_imports_nothing_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "unum_runtime.features.signals.signal_slots", None)  # an import of it fails
    platform = Platform.of(chain("A"), A=lambda event: event)
    platform.run("e", 1)
    delete_for_good(platform)
    assert rest(platform) == []
