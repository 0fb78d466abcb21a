"""Commits: what one contains beside its outcome, which sizes are accepted, and which stored items are not."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import Began, Continuation, Failure, Success
from unum_runtime.protocol.delivery.commit import MAX_CAUSE_LENGTH, MAX_ERROR_LENGTH, limit_outcome, shorten
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES

ROUTES = {"A": "A:1", "B": "B:1", "C": "C:1"}


def platform_of(*states: str, **options: Any) -> Platform:
    platform = Platform.of(chain(*states), None, **dict.fromkeys(states, lambda event: event))
    platform.options = options
    return platform


def of_bytes(size: int) -> Success:
    """Return a result with `size` bytes of JSON."""
    return Success.from_text(f'"{"x" * (size - 2)}"')


def test_only_the_first_commit_tells_the_versions_that_the_execution_began_with() -> None:
    platform = platform_of("A", "B", "C", own_address="F:7", carried=("A", "B", "C"))
    platform.run()
    assert [step.began for step in platform.steps()] == [Began("F:7", dict(zip("ABC", "ABC", strict=True))), None, None]


def test_a_function_without_an_address_tells_no_versions() -> None:
    platform = platform_of("A", "B")
    platform.run()
    assert [step.began for step in platform.steps()] == [None, None]


def test_first_commits_of_branches_tell_no_versions() -> None:
    branch = {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "B", "End": True}}}
    definition = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": branch, "End": True}}}
    platform = Platform.of(definition, B=lambda event: event)
    platform.options = {"own_address": "F:7"}
    platform.run(value=[1])
    inside = [key for key in platform.memory._items if "/M@" in key.partition and key.sort != "done"]
    assert inside
    assert not any(
        "began" in platform.memory._items[key][0] or "by" in platform.memory._items[key][0] for key in inside
    )


@pytest.mark.parametrize(
    ("change", "found"),
    [({"digest": "other"}, "found that of 'B' by IR other"), ({"state": "A"}, "found that of 'A' by IR {ir}")],
)
def test_an_outcome_of_another_state_or_version_is_an_error(change: dict[str, str], found: str) -> None:
    platform = platform_of("A", "B")
    platform.start()
    event, ir = platform.sent[0], platform.workflow.digest
    platform.deliver_all()
    (key,) = [key for key in platform.memory._items if key.sort == "000000002"]
    item, expires_at_s = platform.memory._items[key]
    stored = {"state": item["state"], "ir": item["ir"]} | {
        {"digest": "ir"}.get(key, key): change[key] for key in change
    }
    platform.memory._items[key] = ({**item, **stored}, expires_at_s)
    with pytest.raises(InconsistentHistory) as error:
        platform.deliver(event)
    assert str(error.value) == (
        f"{event.name}: expected the outcome of 'B' by IR {ir}, {found.format(ir=ir)}; "
        "was a name used by two deployments?"
    )


@pytest.mark.parametrize(("size", "fits"), [(MAX_OUTCOME_BYTES, True), (MAX_OUTCOME_BYTES + 1, False)])
def test_an_outcome_may_have_as_many_bytes_as_an_item_stores(size: int, *, fits: bool) -> None:
    rt, outcome = platform_of("A").runtime(), of_bytes(size)
    cause = f"the output has {size} bytes; at most {MAX_OUTCOME_BYTES} are stored"
    found = limit_outcome(rt, outcome)
    assert found == outcome if fits else isinstance(found, Failure)
    if isinstance(found, Failure):
        assert found.error == "States.DataLimitExceeded"
        assert (found.cause or "").startswith(cause)


def test_variables_count() -> None:
    rt, continuation = platform_of("A").runtime(), Continuation(variables={"v": "x" * 100})
    found = limit_outcome(rt, of_bytes(MAX_OUTCOME_BYTES - 50), continuation, what="input")
    assert isinstance(found, Failure)
    assert (found.cause or "").startswith("the input with the variables has ")
    assert limit_outcome(rt, of_bytes(MAX_OUTCOME_BYTES - 500), continuation) == of_bytes(MAX_OUTCOME_BYTES - 500)


@pytest.mark.parametrize(("size", "fits"), [(30, True), (31, False)])
def test_a_limit_of_the_workflow(size: int, *, fits: bool) -> None:
    outcome = of_bytes(size)
    refused = Failure(
        "States.DataLimitExceeded",
        f"the output has {size} bytes; at most 30 are allowed: pass large data by reference",
    )
    assert limit_outcome(platform_of("A").runtime(), outcome, limit=30) == (outcome if fits else refused)


def test_failures_are_cut_to_their_limits() -> None:
    long = Failure("e" * (MAX_ERROR_LENGTH + 1), "c" * (MAX_CAUSE_LENGTH + 1))
    assert shorten(long) == Failure("e" * MAX_ERROR_LENGTH, "c" * MAX_CAUSE_LENGTH)
    assert limit_outcome(platform_of("A").runtime(), long) == shorten(long)
    exact = Failure("e" * MAX_ERROR_LENGTH, None)
    assert shorten(exact) == exact
    assert shorten(replace(exact, error="")) == Failure("", None)
