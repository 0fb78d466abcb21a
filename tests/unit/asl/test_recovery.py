"""Retriers and catchers. No recording has several retriers on one state; the specification defines them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.recovery import NextRetry, find_catcher, longest_wait_ms, matches, next_retry
from unum_runtime.model.states import Catcher, Retrier

CONTEXT = ExpressionContext({}, seed="e/1")


@pytest.mark.parametrize(
    ("errors", "error", "expected"),
    [
        (["A", "B"], "B", True),
        (["A"], "a", False),
        (["States.ALL"], "A", True),
        (["States.ALL"], None, True),
        (["A"], None, False),
        (["States.ALL"], "States.DataLimitExceeded", True),  # recorded by AWS
        (["States.TaskFailed"], "States.DataLimitExceeded", True),
        (["States.DataLimitExceeded"], "States.DataLimitExceeded", True),
        (["States.ALL"], "States.Runtime", False),
        (["States.Runtime"], "States.Runtime", False),
        (["States.TaskFailed"], "Exception", True),
        (["States.TaskFailed"], "States.BranchFailed", True),
        (["States.TaskFailed"], "States.Timeout", False),
        (["States.TaskFailed"], "States.HeartbeatTimeout", True),
        (["A"], "States.HeartbeatTimeout", False),
        (["States.ALL"], "States.Timeout", True),
        (["States.Timeout"], "States.HeartbeatTimeout", True),
        (["States.HeartbeatTimeout"], "States.HeartbeatTimeout", True),
        (["States.HeartbeatTimeout"], "States.Timeout", False),
        (["State.ALL"], "A", False),
        ([], "A", False),
    ],
)
def test_names(errors: list[str], error: str | None, expected: bool) -> None:  # noqa: FBT001 - a table of cases
    assert matches(errors, error) is expected


def delays(retrier: Retrier, context: ExpressionContext = CONTEXT) -> list[int]:
    found: list[int] = []
    again = next_retry([retrier], (), "A", context)
    while again is not None and len(found) < 50:
        found.append(again.delay_ms)
        again = next_retry([retrier], again.counts, "A", context)
    return found


def test_defaults_are_three_retries_with_growing_intervals() -> None:
    assert delays(Retrier(errors=("A",))) == [1000, 2000, 4000]


def test_intervals() -> None:
    assert delays(Retrier(errors=("A",), max_attempts=0)) == []
    assert delays(Retrier(errors=("A",), interval_s=3, backoff_rate=1)) == [3000, 3000, 3000]
    assert delays(Retrier(errors=("A",), interval_s=3, backoff_rate=1.5, max_delay_s=5)) == [3000, 4500, 5000]


def test_an_interval_is_never_longer_than_a_leap_year() -> None:
    assert delays(Retrier(errors=("A",), backoff_rate=1e300, max_attempts=4))[1:] == [31_622_400_000] * 3
    huge = next_retry([Retrier(errors=("A",), max_attempts=99_999_999)], (90_000_000,), "A", CONTEXT)
    assert huge == NextRetry((90_000_001,), 31_622_400_000)


@given(st.text(max_size=3))
def test_jitter_makes_an_interval_a_part_of_itself(seed: str) -> None:
    retrier = Retrier(errors=("A",), interval_s=10, backoff_rate=2, max_delay_s=15, jitter=True)
    first, again = delays(retrier, ExpressionContext({}, seed=seed)), delays(retrier, ExpressionContext({}, seed=seed))
    assert first == again
    assert all(0 <= delay <= limit for delay, limit in zip(first, (10_000, 15_000, 15_000), strict=True))


def test_each_retrier_counts_alone_and_the_first_match_decides() -> None:
    retriers = [Retrier(errors=("A",), max_attempts=1), Retrier(errors=("States.ALL",), interval_s=7, max_attempts=2)]
    assert next_retry(retriers, (), "B", CONTEXT) == NextRetry((0, 1), 7000)
    assert next_retry(retriers, (0, 1), "A", CONTEXT) == NextRetry((1, 1), 1000)
    assert next_retry(retriers, (1, 1), "A", CONTEXT) is None  # although the States.ALL retrier has one retry left
    assert next_retry(retriers, (1, 1), "B", CONTEXT) == NextRetry((1, 2), 14_000)
    assert next_retry(retriers, (1, 2), "B", CONTEXT) is None
    assert next_retry(retriers, (), "States.Runtime", CONTEXT) is None
    assert next_retry([], (), "A", CONTEXT) is None


def test_the_first_matching_catcher() -> None:
    catchers = [Catcher(errors=errors, next="X", data={}) for errors in (("A",), ("A", "B"), ("States.TaskFailed",))]
    assert [find_catcher(catchers, error) for error in ("A", "B", "C", "States.Timeout", "States.Runtime")] == [
        *(0, 1, 2),
        *(None, None),
    ]


@given(
    st.builds(
        Retrier,
        errors=st.just(("States.ALL",)),
        interval_s=st.integers(1, 100),
        max_attempts=st.integers(0, 8),
        backoff_rate=st.floats(1, 4),
        max_delay_s=st.none() | st.integers(101, 1_000),
    )
)
def test_the_longest_wait_covers_all_retries(retrier: Retrier) -> None:
    waited_ms, counts = 0, (0,)
    while (again := next_retry((retrier,), counts, "E", CONTEXT)) is not None:
        waited_ms, counts = waited_ms + again.delay_ms, again.counts  # type: ignore[assignment]  # by name
    longest_ms = longest_wait_ms((retrier,))
    assert waited_ms <= longest_ms + retrier.max_attempts
    if retrier.max_delay_s is None and retrier.backoff_rate > 1.01:
        assert longest_ms <= waited_ms + retrier.max_attempts + 1


def test_retries_without_end_have_a_longest_wait() -> None:
    endless = Retrier(errors=("States.ALL",), max_attempts=99_999_999)
    assert longest_wait_ms((endless,)) >= 31_622_400_000
    assert longest_wait_ms(()) == 0
