"""Executions that share the results of functions."""

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.platform import Platform, chain
from unum_compiler.memoization import Memoization
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import StoreError
from unum_runtime.features.memo.memo import _names, _own_names, find_stored
from unum_runtime.features.memo.memo_keys import memo_key
from unum_runtime.features.timers.waiter import MOST_MS
from unum_runtime.model.checkpoint import Ending, Failure, Status, Success
from unum_runtime.model.ir import Variant
from unum_runtime.model.naming import Key, lease_key
from unum_runtime.model.states import Guard, MemoScope
from unum_runtime.protocol.delivery.lease import PATIENCE_MS
from unum_simulator.memory_store import MemoryStore

MEMOIZE = FunctionOptions(memoize=True)
ARRAY = {"Parameters": {"n.$": "$.n"}}


def memoized(square: Any = lambda event: event["n"] ** 2, **options: Any) -> Platform:
    """A function of `n` alone, whatever else the input has."""
    fields = {"ResultPath": "$.square", **ARRAY}
    platform = Platform.of(chain("Square", Square=fields), {"Square": MEMOIZE}, Square=square)
    platform.options = options
    return platform


def squared(n: int, **more: Any) -> Ending:
    return Ending(Status.SUCCEEDED, Success({"n": n, **more, "square": n * n}))


def is_memo(key: Key) -> bool:
    return key.partition.startswith("memo:")


def memos(platform: Platform) -> list[Key]:
    return [key for key in platform.memory._items if is_memo(key)]


def test_executions_share_a_result_and_each_commits_its_own_checkpoint() -> None:
    platform = memoized()
    assert platform.run("one", {"n": 3, "who": 1}) == squared(3, who=1)
    assert platform.run("two", {"n": 3, "who": 2}) == squared(3, who=2)
    assert platform.calls["Square"] == 1
    assert [len(platform.steps(name)) for name in ("one", "two")] == [1, 1]
    assert len(memos(platform)) == 1


def test_branches_of_one_execution_share_a_result() -> None:
    branch = {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "B", "End": True}}}
    definition = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": branch, "End": True}}}
    platform = Platform.of(definition, {"B": MEMOIZE}, B=lambda event: -event)
    assert platform.run(value=[1, 2, 1, 1]) == Ending(Status.SUCCEEDED, Success([-1, -2, -1, -1]))
    assert platform.calls["B"] == 2


def test_inputs_are_the_same_if_their_json_is_but_for_the_order_of_keys() -> None:
    platform = Platform.of(chain("F"), {"F": MEMOIZE}, F=lambda event: event)
    same = [{"a": 1, "b": [1, {"c": None}]}, {"b": [1, {"c": None}], "a": 1}]
    for number, same_value in enumerate(same):
        platform.run(str(number), same_value)
    assert platform.calls["F"] == 1
    values: list[Any] = [{"a": 1}, [1, 2], [2, 1], 1, True, 1.0, "1", None, ""]
    for number, value in enumerate(values, start=10):
        assert platform.run(str(number), value) == Ending(Status.SUCCEEDED, Success(value))
    assert platform.calls["F"] == 10


def test_another_version_of_the_code_shares_nothing() -> None:
    platform = memoized(code="version 1")
    platform.run("one", {"n": 3})
    platform.options = {"code": "version 2"}
    platform.functions["Square"] = lambda event: -event["n"]
    platform.run("two", {"n": 3})
    assert platform.calls["Square"] == 2


def test_results_have_a_name_that_no_release_may_change() -> None:
    platform = memoized(code="version 1")
    platform.run("one", {"n": 3, "b": 1})
    digest = hashlib.sha256(b'["Square","version 1",{"n":3}]').hexdigest()
    group = hashlib.sha256(b'["function", "Square"]').hexdigest()[:12]
    assert memos(platform) == [Key(f"memo:w/{group}~{digest[0]}", digest)]
    ((item, _),) = [platform.memory._items[key] for key in memos(platform)]
    assert {name: item[name] for name in ("value", "of")} == {"value": "9", "of": '{"n":3}'}
    assert str(item["by"]).startswith("w/one:")


def test_other_functions_and_workflows_share_nothing() -> None:
    options = {"F": MEMOIZE, "G": MEMOIZE}
    platform = Platform.of(chain("F", "G"), options, F=lambda event: event, G=lambda event: event)
    platform.run(value=1)
    assert platform.calls == {"F": 1, "G": 1}
    (task, *_) = platform.workflow.tasks
    assert memo_key("a", task, "d") != memo_key("b", task, "d")


def test_two_tasks_of_one_function_share_its_results() -> None:
    platform = Platform.of(chain("F/One", "F/Two"), {"F": MEMOIZE}, F=lambda event: event)
    platform.run(value=1)
    assert platform.calls.total() == 1


def test_handlers_of_one_function_share_nothing() -> None:
    platform = Platform.of(chain("F/One", "F/Two"), {"F": MEMOIZE}, F=lambda event: event)
    states = {each.name: replace(each, handler=each.name) for each in platform.workflow.tasks}
    platform.workflow = replace(platform.workflow, states=states)
    platform.run(value=1)
    assert platform.calls.total() == 2


def named(platform: Platform, **choice: Any) -> Platform:
    """The same platform with results that are named by `choice`."""
    workflow = Platform.of(
        chain("Square", Square={"ResultPath": "$.square", **ARRAY}), {"Square": choose(**choice)}, Square=id
    )
    platform.workflow = workflow.workflow
    return platform


def choose(**choice: Any) -> FunctionOptions:
    return FunctionOptions(memoize=Memoization(**choice))


def test_a_key_names_a_result_whatever_else_the_event_has() -> None:
    keyed = {"F": choose(key=["$.image", "$.sizes[0]"])}
    platform = Platform.of(chain("F"), keyed, F=lambda event: event["who"])
    same = [{"image": "i", "sizes": [1, each], "who": each} for each in (1, 2)]
    assert [platform.run(str(each["who"]), each) for each in same] == [Ending(Status.SUCCEEDED, Success(1))] * 2
    others = [{"image": "j", "sizes": [1], "who": 3}, {"image": "i", "sizes": [2], "who": 4}]
    assert [platform.run(str(each["who"]), each) for each in others] == [
        Ending(Status.SUCCEEDED, Success(each["who"])) for each in others
    ]


@pytest.mark.parametrize("event", [{}, {"image": "x"}, {"image": ["x"]}, {"image": {"0": 1}}, ["image"], "image", None])
def test_an_event_without_the_key_fails_its_task(event: Any) -> None:
    platform = Platform.of(chain("F"), {"F": choose(key="$.image[1]")}, F=lambda event: event)
    ending = platform.run(value=event)
    assert ending is not None
    cause = "state 'F': the event has no value at $['image'][1], which identifies the memoized result"
    assert ending.outcome == Failure("States.ParameterPathFailure", cause)
    assert platform.calls["F"] == 0


def test_a_version_keeps_results_over_deployments_until_it_changes() -> None:
    platform = named(memoized(code="version 1"), version="1")
    platform.run("one", {"n": 3})
    platform.options = {"code": "version 2"}
    assert platform.run("two", {"n": 3}) == squared(3)
    assert platform.calls["Square"] == 1
    named(platform, version="2").run("three", {"n": 3})
    assert platform.calls["Square"] == 2


def test_without_a_version_of_its_own_a_key_forgets_with_every_deployment() -> None:
    platform = named(memoized(code="version 1"), key="$.n")
    platform.run("one", {"n": 3})
    platform.options = {"code": "version 2"}
    platform.run("two", {"n": 3})
    assert platform.calls["Square"] == 2


def test_a_name_by_choice_is_never_one_that_earlier_releases_gave() -> None:
    platform = memoized(code="1")
    platform.run("one", {"n": 3})
    named(platform, version="1").run("two", {"n": 3})
    named(platform, key="$").run("three", {"n": 3})
    assert len(set(memos(platform))) == 3


@pytest.mark.parametrize(("scope", "calls"), [(MemoScope.FUNCTION, 3), (MemoScope.WORKFLOW, 2), (MemoScope.TABLE, 1)])
def test_a_scope_says_who_shares(scope: MemoScope, calls: int) -> None:
    def deployed(name: str, function: str) -> Platform:
        options = {function: choose(version="1", scope=scope)}
        platform = Platform.of(chain(function), options, **{function: lambda event: event})
        platform.workflow = replace(platform.workflow, name=name)
        return platform

    first = deployed("w", "F")
    others = [deployed("w", "G"), deployed("other", "F")]
    first.run("1", 1)
    for number, other in enumerate(others):
        other.store = other.memory = first.memory
        other.start(f"other {number}", 1)
        other.deliver_all()
    assert sum(each.calls.total() for each in (first, *others)) == calls
    assert all(key.partition.startswith("memo:/") for key in memos(first)) == (scope is MemoScope.TABLE)


def test_a_lifetime_of_its_own_may_be_shorter_or_longer_than_the_retention() -> None:
    for lifetime, calls in [(timedelta(hours=1), 2), (timedelta(days=9), 1)]:
        platform = named(memoized(retention_s=2 * 86_400), lifetime=lifetime)
        platform.run("one", {"n": 3})
        platform.clock.pass_seconds(3 * 86_400)
        platform.run("two", {"n": 3})
        assert platform.calls["Square"] == calls


def test_failures_are_not_shared() -> None:
    outcomes = iter((ZeroDivisionError("first"), 9))

    def once(_event: Any) -> Any:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    platform = memoized(once)
    first = platform.run("one", {"n": 3})
    assert first is not None
    assert isinstance(first.outcome, Failure)
    assert memos(platform) == []
    assert platform.memory._leases == {}
    assert platform.run("two", {"n": 3}) == squared(3)


def test_other_functions_are_not_memoized() -> None:
    platform = Platform.of(chain("F"), F=lambda event: event)
    platform.run("one", 1)
    platform.run("two", 1)
    assert platform.calls["F"] == 2
    assert memos(platform) == []


def test_executions_wait_for_one_another_by_a_lease() -> None:
    def square(event: Any) -> Any:
        platform.start("two", {"n": 3})
        return event["n"] ** 2

    platform = memoized(square)
    assert platform.run("one", {"n": 3}) == squared(3)
    assert platform.memory._leases == {}
    assert platform.ending("two") is None
    platform.deliver(platform.pass_to_next())
    assert platform.ending("two") == squared(3)
    assert platform.calls["Square"] == 1
    reasons = [fields["reason"] for message, fields in platform.logged if message == "waits for a lease"]
    assert [reason.partition(": ")[2] for reason in reasons] == ["another execution computes the same result"]


def test_a_result_that_came_while_the_lease_was_asked_for_is_used() -> None:
    platform = memoized()
    platform.run("one", {"n": 3})
    (key,) = memos(platform)

    class Late(MemoryStore):
        """Does not find the result at first, and finds its lease held."""

        looked = 0

        def read(self, keys: Any) -> Any:
            found = super().read(keys)
            self.looked += key in found
            return {} if key in found and self.looked == 1 else found

    memory = platform.memory
    platform.store = Late(platform.clock, memory._items, memory._sets, memory._leases)
    memory.acquire(lease_key(key), "other", expires_at_ms=platform.clock.ms + 900_000)
    assert platform.run("two", {"n": 3}) == squared(3)
    assert platform.calls["Square"] == 1


def test_forgotten_result_is_computed_again_by_a_clock_that_is_late() -> None:
    """Forgetting leaves an item without a value, which has expired for every other clock."""
    platform = memoized()
    platform.run("one", {"n": 3})
    (key,) = memos(platform)
    platform.memory.replace(key, {}, expires_at_s=platform.clock.ms // 1000 + 60)
    assert platform.run("two", {"n": 3}) == squared(3)
    assert platform.calls["Square"] == 2


class Freezing(MemoryStore):
    """A store whose client freezes right after it looked for a shared result the second time, under its lease."""

    looks = 0
    meanwhile: Any = None

    def read(self, keys: Any) -> Any:
        found = super().read(keys)
        self.looks += any(is_memo(key) for key in keys)
        if self.looks == 2 and self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return found


@pytest.mark.parametrize("seconds", [0, 900])
def test_lease_is_looked_at_again_after_a_freeze(seconds: int) -> None:
    """A delivery that froze until its lease may have expired gives way to the one that has computed the result."""
    platform = memoized()
    platform.store = platform.memory = store = Freezing(platform.clock)

    def freeze() -> None:
        platform.clock.pass_seconds(seconds)
        platform.start("two", {"n": 3})

    store.meanwhile = freeze
    platform.start("one", {"n": 3})
    platform.deliver_all()
    assert platform.calls["Square"] == 1
    while platform.waiting:
        platform.deliver(platform.pass_to_next())
    assert platform.ending("one") == platform.ending("two") == squared(3)
    assert platform.calls["Square"] == 1


def test_an_execution_does_not_wait_for_ever() -> None:
    platform = memoized()
    platform.run("one", {"n": 3})
    (key,) = memos(platform)
    del platform.memory._items[key]
    platform.memory.acquire(lease_key(key), "other", expires_at_ms=platform.clock.ms + 86_400_000)
    platform.start("two", {"n": 3})
    begun_ms = platform.clock.ms
    while platform.waiting:
        assert platform.calls["Square"] == 1
        platform.deliver(platform.pass_to_next())
    assert platform.ending("two") == squared(3)
    assert 0 <= platform.clock.ms - begun_ms - PATIENCE_MS <= MOST_MS


def test_of_two_that_compute_one_result_both_take_the_first_to_be_stored() -> None:
    values = iter((1, 2))

    def nondeterministic(_event: Any) -> Any:
        value = next(values)
        if value == 1:  # the lease expires, and another execution computes the same
            platform.clock.pass_seconds(900)
            platform.start("two", {"n": 0})
        return value

    platform = memoized(nondeterministic)
    platform.start("one", {"n": 0})
    assert platform.ending("one") == platform.ending("two") == Ending(Status.SUCCEEDED, Success({"n": 0, "square": 2}))


def test_results_expire_with_the_retention() -> None:
    platform = memoized(retention_s=86_400)
    platform.run("one", {"n": 3})
    platform.clock.pass_seconds(86_400)
    platform.run("two", {"n": 3})
    assert platform.calls["Square"] == 2


def test_user_code_may_change_its_input() -> None:
    def change(event: Any) -> Any:
        event["n"] += 1
        return event["n"]

    platform = memoized(change)
    for name in ("one", "two"):
        assert platform.run(name, {"n": 3}) == Ending(Status.SUCCEEDED, Success({"n": 3, "square": 4}))


def test_what_it_costs() -> None:
    platform = memoized()
    platform.store = store = CountingStore(platform.memory)
    platform.run("one", {"n": 3})
    assert store.calls == {"create": 3, "read": 2, "acquire": 1, "release": 1}
    store.calls.clear()
    platform.run("two", {"n": 3})
    assert store.calls == {"create": 2, "read": 1}


def test_a_waiter_looks_at_the_deadline_of_its_execution() -> None:
    definition = {**chain("Square"), "TimeoutSeconds": 33}
    platform = Platform.of(definition, {"Square": MEMOIZE}, Square=lambda event: event)

    def square(event: Any) -> Any:
        platform.start("two", 1)
        begun_ms = platform.clock.ms
        while platform.ending("two") is None:
            platform.deliver(platform.pass_to_next())
        assert platform.clock.ms == begun_ms + 33_000
        return event

    platform.functions["Square"] = square
    platform.run("one", 1)
    ending = platform.ending("two")
    assert ending is not None
    assert ending.status is Status.TIMED_OUT
    assert platform.calls["Square"] == 1


def test_what_a_look_of_a_waiter_costs() -> None:
    platform = memoized()
    platform.run("one", {"n": 3})
    (key,) = memos(platform)
    del platform.memory._items[key]
    platform.memory.acquire(lease_key(key), "other", expires_at_ms=platform.clock.ms + 60_000)
    platform.start("two", {"n": 3})
    platform.store = store = CountingStore(platform.memory)
    platform.deliver(platform.pass_to_next())
    assert store.calls == {"read": 3, "acquire": 1}, "the guard's read, and the memo before and after the claim"
    assert len(platform.waiting) == 1


class Broken(MemoryStore):
    """A store that fails at results that are shared, and at leases."""

    def read(self, keys: Any) -> Any:
        wanted = list(keys)
        if any(map(is_memo, wanted)):
            raise StoreError("read")
        return super().read(wanted)

    def create(self, key: Key, *args: Any, **named: Any) -> Any:
        if is_memo(key):
            raise StoreError("create")
        return super().create(key, *args, **named)

    def acquire(self, *_args: Any, **_named: Any) -> str:
        raise StoreError("acquire")

    def release(self, *_args: Any) -> None:
        raise StoreError("release")


def test_a_store_that_fails_at_shared_results_costs_work_and_nothing_else() -> None:
    platform = memoized()
    platform.store = platform.memory = Broken(platform.clock)
    assert platform.run("one", {"n": 3}) == squared(3)
    assert platform.run("two", {"n": 3}) == squared(3)
    assert platform.calls["Square"] == 2
    assert {"memo failed", "lease failed"} <= set(platform.messages())


def test_a_result_that_is_too_large_to_be_stored_fails_as_without() -> None:
    platform = Platform.of(chain("F"), {"F": MEMOIZE}, F=lambda _: "x" * 500_000)
    ending = platform.run()
    assert ending is not None
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "States.DataLimitExceeded"


def test_it_goes_with_every_guard() -> None:
    for guard in Guard:
        options = {"B": FunctionOptions(guard=guard, memoize=True)}
        platform = Platform.of(chain("A", "B"), options, A=lambda event: event, B=lambda event: event + 1)
        for name in ("one", "two"):
            assert platform.run(name, 1) == Ending(Status.SUCCEEDED, Success(2))
        assert platform.calls["B"] == 1
        assert platform.memory._leases == {}


NAMED: dict[str, tuple[dict[str, Any], str]] = {
    "version": ({"version": "2"}, '["function","Square",{"version":"2"},{"event":{"n":3}}]'),
    "key": ({"key": ["$.n"]}, '["function","Square","code",{"key":[3]}]'),
    "both": ({"version": "2", "key": ["$.n"]}, '["function","Square",{"version":"2"},{"key":[3]}]'),
}


@pytest.mark.parametrize("choice", NAMED)
def test_results_named_by_choice_have_a_name_that_no_release_may_change(choice: str) -> None:
    fields, names = NAMED[choice]
    platform = named(memoized(code="code"), **fields)
    platform.run("one", {"n": 3})
    ((key, (item, _)),) = [(key, stored) for key, stored in platform.memory._items.items() if is_memo(key)]
    assert key.sort == hashlib.sha256(names.encode()).hexdigest()
    assert type(item["until"]) is int


def test_a_lifetime_of_its_own_ends_at_a_whole_second() -> None:
    platform = named(memoized(), lifetime=timedelta(days=1))
    platform.clock.ms += 1
    platform.run("one", {"n": 3})
    ((item, expires_at_s),) = [stored for key, stored in platform.memory._items.items() if is_memo(key)]
    assert repr(item["until"]) == repr(expires_at_s) == str(platform.clock.ms // 1000 + 86_400)


def test_handlers_of_one_function_share_nothing_by_choice_either() -> None:
    options = {"F": choose(version="1", scope=MemoScope.FUNCTION)}
    platform = Platform.of(chain("F/One", "F/Two"), options, F=lambda event: event)
    states = {each.name: replace(each, handler=each.name) for each in platform.workflow.tasks}
    platform.workflow = replace(platform.workflow, states=states)
    platform.run(value=1)
    assert platform.calls.total() == 2


def test_call_whose_remembered_result_cannot_be_read_fails() -> None:
    platform = memoized()
    platform.store = platform.memory = Broken(platform.clock)
    key = memo_key("w", platform.workflow.task("Square"), "d")
    assert find_stored(platform.runtime(), key, None) is None
    platform.workflow = replace(platform.workflow, variant=Variant.CALL)
    with pytest.raises(StoreError):
        find_stored(platform.runtime(), key, None)


def test_name_of_a_result_has_its_handler() -> None:
    platform = named(memoized(), version="1", scope=MemoScope.FUNCTION)
    task = replace(platform.workflow.task("Square"), handler="one.square")
    assert _own_names(platform.runtime(), task, 1)[1] == "one.square"
    assert _names(platform.runtime(), task, 1)[0] == "one.square"
