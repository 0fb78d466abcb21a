"""Holes of the published protocol, and others found later, each by its name."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.scenarios import scenario
from tests.simulation.stage import PLENTY, Order, Stage
from unum_runtime.model.checkpoint import Failure, Status
from unum_runtime.model.ir import Collection
from unum_simulator import Context, Scenario
from unum_simulator.faults import Fault
from unum_simulator.recorded_calls import Primitive

ORDERS = pytest.mark.parametrize("order", Order)
COLLECTIONS = pytest.mark.parametrize("collection", Collection)


def stage(graph: str, **fields: Any) -> Stage:
    return Stage(scenario(graph, faults=PLENTY, **fields))


@COLLECTIONS
@pytest.mark.parametrize("event", ["start", "B", "C"])
def test_late_duplicate_in_a_chain(event: str, collection: Collection) -> None:
    play = stage("chain", collection=collection)
    ending = play.run()
    play.jump(0)
    play.repeat(event)
    assert play.run() == ending
    assert [play.runs_of(state) for state in "ABC"] == [[1], [1], [1]]


def test_duplicate_after_everything_expired() -> None:
    play = stage("chain")
    play.run()
    play.jump(1)
    play.repeat("B")
    play.run()
    assert play.runs_of("B") == [1]
    assert "is refused" in play.log[-1]


@ORDERS
@COLLECTIONS
def test_originator_whose_second_run_returns_five_items_instead_of_three(collection: Collection, order: Order) -> None:
    play = stage("three then five", collection=collection)
    play.run(order)
    play.jump(0)
    play.repeat("A")
    assert len(play.result(order)) == 3
    assert play.runs_of("A") == [1]


@ORDERS
def test_originator_that_runs_twice_at_the_same_time(order: Order) -> None:
    play = stage("three then five")
    play.run_until("A")
    play.deliver("A")
    play.proceed_to(Primitive.CREATE)  # has computed three items
    play.repeat("A")
    play.proceed_to(Primitive.CREATE)  # has computed five
    play.finish()  # and is the first to commit
    assert len(play.result(order)) == 5
    assert play.runs_of("A") == [2]
    assert play.runs_of("B") == [1, 1, 1, 1, 1]
    assert play.runs_of("C") == [1]


def test_start_delivered_twice() -> None:
    play = stage("chain")
    play.run()
    play.repeat("start")
    play.run()
    assert play.runs_of("A") == [1]
    assert play.runs_of("C") == [1]


def test_start_delivered_twice_at_once() -> None:
    play = stage("chain")
    play.deliver("start")
    play.repeat("start")
    play.run()
    assert play.runs_of("C") == [1]
    assert len({key for key in play.world.records if key.sort == "start"}) == 1


def test_crash_after_the_checkpoint() -> None:
    play = stage("chain")
    play.run_until("B")
    play.deliver("B")
    play.proceed_to(Primitive.CREATE)
    play.fail(Fault.CRASH_AFTER)
    play.run()
    assert play.runs_of("B") == [1]


def test_crash_after_one_of_three_invocations() -> None:
    play = stage("three then five")
    play.run_until("A")
    play.deliver("A")
    play.proceed_to(Primitive.INVOKE)
    play.fail(Fault.CRASH_AFTER, sent=1)
    assert len(play.result()) == 3
    assert play.runs_of("B") == [1, 1, 1]


@COLLECTIONS
def test_retries_exhausted_and_then_sent_again(collection: Collection) -> None:
    play = stage("chain", collection=collection)
    play.run_until("C")
    play.lose("C")
    play.jump(0)
    play.run()
    assert play.world.ending is not None
    assert [play.runs_of(state) for state in "ABC"] == [[1], [1], [1]]


@COLLECTIONS
def test_late_branch_after_the_join(collection: Collection) -> None:
    play = stage("map", collection=collection)
    ending = play.run()
    play.jump(0)
    play.repeat("B")
    assert play.run() == ending
    assert play.runs_of("B") == [1, 1]
    assert play.runs_of("C") == [1]


@ORDERS
def test_nested_maps_of_three_by_three_keep_their_places(order: Order) -> None:
    play = stage("nested maps")
    assert play.result(order) == [[11, 12, 13], [21, 22, 23], [31, 32, 33]]


def test_names_that_are_prefixes_of_one_another() -> None:
    play = stage("prefixes")
    play.result()
    assert [play.runs_of(state) for state in ("F1", "F10", "F100")] == [[1], [1], [1]]


def test_two_branches_that_end_in_one_function() -> None:
    play = stage("one function at both ends")
    play.result(Order.NEWEST_FIRST)
    assert [play.runs_of(state) for state in ("BEnd", "CEnd", "D")] == [[1], [1], [1]]


def test_iterations_that_end_in_different_functions() -> None:
    play = stage("conditional ends")
    play.result()
    assert play.runs_of("Big") == [1]
    assert play.runs_of("B") == [1, 1]
    assert play.runs_of("C") == [1]


def test_empty_map() -> None:
    play = stage("empty map")
    play.result()
    assert play.runs_of("B") == []
    assert play.runs_of("C") == [1]


def test_cycle_of_three_rounds() -> None:
    play = stage("three rounds")
    assert play.result()["round"] == 3
    assert play.runs_of("Work") == [1, 1, 1]


def test_runaway_loop_fails_by_name() -> None:
    ending = stage("runaway loop").run()
    assert ending.status is Status.FAILED
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "Unum.HopBudgetExceeded"


def test_a_map_beyond_the_budget_is_not_caught() -> None:
    play = stage("loop over a map beyond its budget")
    outcome = play.run().outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "Unum.InvocationBudgetExceeded"
    assert len(play.runs_of("B")) == 2


def test_output_of_500_kilobytes_fails_visibly() -> None:
    outcome = stage("large result").run().outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "States.DataLimitExceeded"


def test_input_of_500_kilobytes_fails_visibly() -> None:
    outcome = Stage(replace(scenario("chain", faults=PLENTY), input="x" * 500_000)).run().outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "States.DataLimitExceeded"


def test_result_that_fits_only_apart_from_the_outcome_it_is_made_of() -> None:
    assert len(stage("growing results").result()["other"]) == 150_000


def test_error_message_of_500_kilobytes_is_cut() -> None:
    def shout(_event: object, _context: Context) -> None:
        raise ValueError("x" * 500_000)

    outcome = Stage(_with_functions(scenario("chain", faults=PLENTY), a=shout)).run().outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "ValueError"


def test_output_that_cannot_be_serialized() -> None:
    play = Stage(_with_functions(scenario("chain", faults=PLENTY), a=lambda _event, _context: {1, 2}))
    outcome = play.run().outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "Runtime.MarshalError"
    assert play.runs_of("B") == []


def test_next_delivery_repeats_a_batch_read_that_stays_throttled() -> None:
    play = stage("loop in a map")
    play.run_until("Work")
    play.deliver("Work")
    play.finish()  # the first round of one branch; its second comes last
    play.deliver(str(play.world.waiting[-1]))
    pending = play.proceed_to(Primitive.READ).pending
    assert len(pending.positional[0]) == 2
    play.fail(Fault.THROTTLED)
    play.result()
    assert set(play.runs_of("Work")) == {1}


def test_collected_branch_does_not_end_the_delivery_of_its_sibling() -> None:
    play = stage("nested maps in place", collection=Collection.EAGER)
    play.deliver("start")
    play.proceed_to(Primitive.INVOKE)
    play.fail(Fault.CRASH_AFTER, sent=2)  # both of the first row, not the one of the second
    for _ in range(2):
        play.deliver("Cell")
        play.finish()
    play.run()
    assert play.runs_of("Cell") == [1, 1, 1]


@COLLECTIONS
def test_late_failure_of_a_branch_whose_fan_out_was_retried_meanwhile(collection: Collection) -> None:
    play = stage("two failures", collection=collection)
    play.deliver("start")
    play.finish()
    play.deliver("C")
    play.proceed_to(Primitive.CREATE)  # has failed, too, with an error that is caught
    play.deliver("B")
    play.finish()  # fails the fan-out, which is to be retried
    play.jump(0)
    play.deliver("P")
    play.finish()  # and begins anew; what told it to may be collected
    play.finish()  # only now C commits
    assert set(play.result()) == {"by", "run", "saw"}
    assert play.runs_of("Other") == []
    assert play.runs_of("D") == [1]


@ORDERS
@COLLECTIONS
def test_late_success_of_a_branch_whose_fan_out_was_retried_meanwhile(collection: Collection, order: Order) -> None:
    play = stage("retry of a parallel", collection=collection)
    play.deliver("start")
    play.finish()
    play.deliver("C")
    play.proceed_to(Primitive.CREATE)
    play.deliver("B")
    play.finish()
    play.jump(0)
    play.deliver("P")
    play.finish()
    play.finish()  # a branch of the generation that failed completes
    play.result(order)
    assert play.runs_of("B") == [1, 1]
    assert play.runs_of("C") == [1, 1]
    assert play.runs_of("D") == [1]


def test_crash_after_settling_a_fan_out_beside_a_sibling_that_takes_back() -> None:
    play = stage("condition after a map", collection=Collection.EAGER)
    play.deliver("start")
    play.finish()
    play.deliver("B")
    play.proceed_to(Primitive.ADD)
    play.fail(Fault.NONE)  # has ended, and has yet to look whether the fan-out is settled
    play.deliver("B")
    play.proceed_to(Primitive.QUERY)
    play.proceed_to(Primitive.CREATE)
    play.fail(Fault.CRASH_AFTER)  # has joined the results, and not sent what follows
    first = play.world.running[-1]
    play.finish()
    assert first not in play.world.running
    play.result()
    assert play.runs_of("B") == [1, 1]
    assert play.runs_of("C") == [1]


def test_crash_between_a_retry_and_its_event() -> None:
    play = stage("retry of a task")
    play.deliver("start")
    play.proceed_to(Primitive.SCHEDULE)
    play.fail(Fault.CRASH_BEFORE)
    play.result()
    assert play.runs_of("A") == [2], "the second run needed no retry"


def test_retry_delivered_twice() -> None:
    play = stage("retry of a task")
    play.deliver("start")
    play.finish()
    play.jump(0)
    play.deliver("A")
    play.proceed_to(Primitive.CREATE)
    play.repeat("A")
    play.finish()
    play.result()
    assert play.runs_of("A") == [1, 2], "that of the start, and both of the retry"
    assert play.runs_of("B") == [1]


def test_wait_that_outlasts_every_event() -> None:
    play = stage("long wait")
    play.result()
    play.repeat("B")
    play.run()
    assert play.runs_of("B") == [1]


def _with_functions(base: Scenario, **functions: Any) -> Scenario:
    return replace(base, functions={**base.functions, **functions})
