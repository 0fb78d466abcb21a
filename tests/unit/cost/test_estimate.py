"""Estimates of use and cost: figures that can be worked out by hand, and skeletons of workflows."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.cost.estimate import NoResult, estimate, total
from unum_compiler.cost.prices import list_prices
from unum_compiler.cost.skeleton import Amounts
from unum_compiler.definition import Definition
from unum_runtime.model.delays import LONG_S, MAX_DELAY_S
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.states import Json

COST_PAGE = Path(__file__).parents[3] / "docs" / "cost.md"


def task(following: str | None = None, **fields: Json) -> dict[str, Any]:
    return {"Type": "Task", "Resource": "work", **fields, **({"Next": following} if following else {"End": True})}


def each(following: str, **fields: Json) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": machine(Work=task()), "Next": following, **fields}


def machine(**states: Json) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def workflow(**states: Json) -> Workflow:
    return compile_workflow(machine(**states), name="w", functions=None)


def chain(length: int) -> Workflow:
    names = [f"T{number}" for number in range(length)]
    return workflow(**{name: {**task(after), "Resource": name} for name, after in pairwise([*names, None]) if name})


POLL = workflow(
    Ask=task("Ready?"),
    **{
        "Ready?": {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.status", "StringEquals": "failed", "Next": "Lost"},
                {"Variable": "$.status", "StringEquals": "done", "Next": "Use"},
            ],
            "Default": "Sleep",
        },
        "Sleep": {"Type": "Wait", "Seconds": 30, "Next": "Ask"},
        "Lost": {"Type": "Fail", "Error": "Lost"},
        "Use": task(),
    },
)


def test_a_chain_writes_once_for_each_task_and_once_for_the_start() -> None:
    receipt = estimate(chain(5))
    assert (receipt.usage.writes, receipt.usage.reads, receipt.usage.invocations) == (6, 4, 5)
    assert (receipt.tasks, receipt.transitions, receipt.longest_path) == (5, 5, 5)


def test_edge_of_a_region_costs_a_write_only_if_its_node_has_other_sources() -> None:
    nodes = {"a": g.task("a"), "b": g.task("b").after("a"), "c": g.task("c").after("a")}
    fanned = estimate(
        Definition.from_graph(g.task("start") >> g.dag({**nodes, "d": g.task("d").after("b")})).compile("w", None)
    )
    joined = estimate(
        Definition.from_graph(g.task("start") >> g.dag({**nodes, "d": g.task("d").after("b", "c")})).compile("w", None)
    )
    # The start record, five Tasks, the region's own outcome; two sinks, or two edges to one node.
    assert (fanned.usage.writes, joined.usage.writes) == (7 + 2, 7 + 2)
    one_path = Definition.from_graph(g.task("start") >> g.dag({"a": nodes["a"], "b": nodes["b"]}))
    chained = estimate(one_path.compile("w", None))
    assert (chained.usage.writes, chained.longest_path, joined.longest_path) == (5, 3, 4)


def test_a_result_for_the_next_branch_costs_two_writes() -> None:
    receipts = []
    for step in (g.task("b"), g.task("b").after_previous("b")):
        flow = g.map(g.task("a") >> step, items=g.out)
        compiled = Definition.from_graph(flow).compile("w", None)
        receipts.append(estimate(compiled, amounts=Amounts(items=4)))
    apart, waiting = receipts
    # The first branch waits for none; each other branch records its own arrival and the result of the branch before.
    assert waiting.usage.writes - apart.usage.writes == 3 * 2
    assert (apart.longest_path, waiting.longest_path) == (2, 5)


def test_a_chain_in_one_function_takes_one_invocation_and_no_reads() -> None:
    receipt = estimate(workflow(A=task("B"), B=task()))
    assert (receipt.usage.writes, receipt.usage.reads, receipt.usage.invocations) == (3, 0, 1)
    assert receipt.tasks == 2


def test_bills_of_a_chain_are_prices_times_counts() -> None:
    receipt = estimate(chain(5), task_ms=200)
    here, standard, express, durable = receipt.here(), receipt.standard(), receipt.express(), receipt.durable()
    assert (here["requests"], here["store_writes"], here["store_reads"]) == pytest.approx((1.0, 3.75, 0.5))
    assert (here["list"], here["sweep"]) == pytest.approx((0.625, 0.129 + 0.009 * 0.5 * 13.3334), rel=1e-2)
    assert (standard["transitions"], standard["requests"]) == pytest.approx((125, 1))
    assert (express["start"], express["duration"]) == pytest.approx((1, 1.0419), rel=1e-3)
    assert durable["operations"] == pytest.approx(48)
    compute = 5 * 0.2 * 0.125 * 13.3334
    assert [bill["user_code"] for bill in (here, standard, express, durable)] == pytest.approx([compute] * 4)
    assert total(standard) == pytest.approx(126 + compute)


def test_what_the_runtime_computes_takes_longer_in_a_share_of_a_processor() -> None:
    small, large, largest = (estimate(chain(5), memory_mb=memory).runtime_ms for memory in (128, 1_769, 10_240))
    waiting = 6 * 21 + 4 * 9 + 4 * 32
    assert largest == large == pytest.approx(waiting + 5 * 0.12)
    assert small == pytest.approx(waiting + 5 * 0.12 * 1_769 / 128)


def test_express_is_cheaper_up_to_the_named_duration_and_not_beyond() -> None:
    receipt = estimate(chain(5))
    named_ms = round(receipt.express_is_cheaper_below_s() * 1000)
    cheaper, dearer = (replace(receipt, usage=replace(receipt.usage, waited_ms=named_ms + more)) for more in (0, 1))
    assert total(cheaper.express()) < total(receipt.here()) < total(dearer.express())


def test_express_is_paid_by_the_tenth_of_a_second() -> None:
    one, other = (estimate(chain(5), task_ms=ms) for ms in (1, 20))
    assert (one.lasts_s, other.lasts_s) == (0.005, 0.1)
    assert one.express()["duration"] == other.express()["duration"] == pytest.approx(0.1 / 16 * 16.67)


def test_express_has_no_jobs_no_tokens_and_no_distributed_maps() -> None:
    job = {"Type": "Task", "Resource": "arn:aws:states:::glue:startJobRun.sync", "Parameters": {"JobName": "j"}}
    mode = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    wide = {"Type": "Map", "ItemProcessor": {**machine(Work=task()), **mode}, "End": True}
    token = {"FunctionName": "work", "Payload": {"token.$": "$$.Task.Token"}}
    waiting = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "Parameters": token}
    for flow, reason in (
        (workflow(Job={**job, "End": True}), "state 'Job' waits for more than a response"),
        (workflow(Ask={**waiting, "End": True}), "state 'Ask' waits for more than a response"),
        (workflow(Each=wide), "state 'Each' is a distributed Map"),
        (chain(5), None),
    ):
        assert estimate(flow).not_express == reason


def test_step_functions_does_not_pay_lambda_for_what_a_service_takes() -> None:
    put = {"Type": "Task", "Resource": "arn:aws:states:::sns:publish", "Parameters": {"TopicArn": "t", "Message": "m"}}
    receipt = estimate(workflow(One=task("Tell"), Tell={**put, "End": True}), task_ms=1_000)
    second = 0.125 * 13.3334
    assert (receipt.here()["user_code"], receipt.standard()["user_code"]) == pytest.approx((2 * second, second))
    assert receipt.express()["user_code"] == pytest.approx(second)


@pytest.mark.parametrize(
    ("seconds", "waits", "schedules"),
    [(1, 1, 0), (900, 1, 0), (901, 2, 0), (2_700, 3, 0), (2_701, 3, 1), (86_400, 3, 1), (500_000, 3, 1)],
)
def test_a_wait_is_paid_each_time_that_the_queue_has_to_be_entered(seconds: int, waits: int, schedules: int) -> None:
    flow = workflow(A=task("Sleep"), Sleep={"Type": "Wait", "Seconds": seconds, "Next": "B"}, B=task())
    receipt = estimate(flow)
    here = receipt.here()
    assert (receipt.usage.waits, receipt.usage.waited_ms) == (waits, seconds * 1_000)
    assert (here["requests"], here["queue"]) == pytest.approx((0.4 + waits * 0.2, waits * 1.2))
    assert (receipt.usage.schedules, here["schedules"]) == (schedules, schedules * 1.0)
    durable = receipt.durable()
    assert (durable["requests"], durable["operations"]) == pytest.approx((0.4, (1 + 2 + 1) * 8))
    forwarding = waits * 0.032 * 0.5 * 13.3334
    assert here["runtime"] == pytest.approx(receipt.runtime_ms / 1000 * 0.125 * 13.3334 + forwarding)


def test_a_schedule_is_used_where_it_is_cheaper_than_the_queue() -> None:
    """After the first turn in the queue: a schedule for three turns more, none for two."""
    usd, forwarded_s = list_prices().usd, list_prices().times_ms["invoke"] / 1000
    turn = 3 * usd["sqs_request"] + usd["lambda_request"] + forwarded_s * 0.5 * usd["lambda_gb_s"]
    schedule = usd["scheduler_invocation"] + 2 * turn
    assert 2 * turn < schedule < 3 * turn
    assert LONG_S == 2 * MAX_DELAY_S
    assert (round(turn * 1e6, 2), round(schedule * 1e6, 2)) == (1.61, 4.23)


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        ("a minute, up to 15", (1, 60, 900)),
        ("half an hour", (901, 1_800)),
        ("45 minutes", (1_801, 2_700)),
        ("an hour, a day, a year", (3_600, 86_400, 600_000)),
    ],
)
def test_the_docs_say_what_waits_cost(row: str, seconds: tuple[int, ...]) -> None:
    (cells,) = re.findall(rf"^\| {row} \| (.*) \|$", COST_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    reply = [float(cell.strip(" $") or 0) for cell in cells.split("|")]
    for wait_s in seconds:
        receipt = estimate(workflow(A=task("Sleep"), Sleep={"Type": "Wait", "Seconds": wait_s, "Next": "B"}, B=task()))
        here, usage = receipt.here(), receipt.usage
        forwarding = here["runtime"] - receipt.runtime_ms / 1000 * 0.125 * 13.3334
        paid = here["queue"] + here["schedules"] + here["requests"] - 2 * 0.2 + forwarding
        assert [usage.waits, usage.schedules, round(paid, 2)] == reply


def test_large_values_are_paid_as_objects_where_there_is_a_bucket() -> None:
    large = Amounts(result_bytes=100_000)
    inline, referred = (estimate(chain(5), amounts=large, by_reference=bucket) for bucket in (False, True))
    assert inline.usage.write_units == 1 + 5 * 98
    assert (referred.usage.write_units, referred.usage.object_writes) == (6, 5)
    here = referred.here()
    assert here["objects"] == pytest.approx(5 * 5)
    objects_gb = 5 * 100_021 / 2**30
    items_gb = (referred.usage.stored_bytes + 6 * 100) / 2**30
    months = 1_000_000 / 30
    assert here["storage"] == pytest.approx(months * (objects_gb * 8 * 0.023 + items_gb * 7 * 0.25))


def test_a_map_is_as_wide_as_it_is_said_to_be() -> None:
    mapped = workflow(Make=task("Each"), Each=each("Join", ItemsPath="$.nowhere"), Join=task())
    receipt = estimate(mapped, amounts=Amounts(items=100))
    assert (receipt.tasks, receipt.fan_outs, receipt.transitions, receipt.longest_path) == (102, 1, 103, 3)
    assert receipt.usage.writes == 203


def test_a_join_that_needs_the_maps_input_reads_it_in_the_skeleton_too() -> None:
    plain = workflow(Make=task("Each"), Each=each("Join"), Join=task())
    with_input = workflow(Make=task("Each"), Each=each("Join", ResultPath="$.found"), Join=task())
    read = [estimate(each_, amounts=Amounts(items=5)).usage.reads for each_ in (plain, with_input)]
    assert read[1] == read[0] + 1


def test_loop_has_its_number_of_rounds_and_ends_where_nothing_fails() -> None:
    receipt = estimate(POLL, amounts=Amounts(rounds=4))
    assert (receipt.tasks, receipt.usage.waits, receipt.usage.waited_ms) == (5, 3, 90_000)
    assert receipt.transitions == 4 + 4 + 3 + 1
    assert receipt.here()["queue"] == pytest.approx(3 * 3 * 0.4)


def test_a_loop_behind_a_fan_out_is_entered_and_one_around_a_fan_out_ends() -> None:
    flow = g.map(g.task("work"), items=g.out) >> g.fold(g.task("add"), items=g.out, initial=0)
    folding = Definition.from_graph(flow).compile("w", None)
    assert estimate(folding, amounts=Amounts(items=5, rounds=4)).tasks == 5 + 4
    again = {"Type": "Choice", "Choices": [{"Variable": "$[0]", "IsNull": True, "Next": "Each"}], "Default": "Use"}
    around = workflow(Each=each("Again?"), **{"Again?": again}, Use=task())
    assert estimate(around, amounts=Amounts(items=5, rounds=4)).tasks == 5 + 1


def test_given_functions_decide_themselves() -> None:
    answers = iter(["waiting", "done"])
    functions = {"work": lambda _event, context: {"status": next(answers) if context.unum.state == "Ask" else "used"}}
    assert estimate(POLL, functions=functions).tasks == 3


def test_an_execution_that_fails_is_no_estimate() -> None:
    with pytest.raises(NoResult, match="Lost"):
        estimate(POLL, functions={"work": lambda _event, _context: {"status": "failed"}})


def test_eager_collection_is_billed_and_the_states_are_still_known() -> None:
    ttl, eager = chain(5), replace(chain(5), collection=Collection.EAGER)
    kept, collected = estimate(ttl), estimate(eager)
    assert collected.usage.writes == kept.usage.writes + 4
    assert collected.transitions == kept.transitions


LANE = workflow(Each=each("Last", MaxConcurrency=1), Last={**task(), "Resource": "other"})


@pytest.mark.parametrize(
    ("task_ms", "timeout_s", "in_one"),
    [(0, 30, 100), (1000, 900, 100), (1000, 30, 8), (4000, 30, 2), (8000, 30, 1), (8000, 900, 28)],
)
def test_a_lane_goes_on_while_three_quarters_of_the_timeout_are_left(task_ms: int, timeout_s: int, in_one: int) -> None:
    """A branch takes its user code and some 50 ms; the one that begins before a quarter of the timeout is over is last.

    Beside the lane's, there are the invocations of the entry and of the Task after the Map.
    """
    receipt = estimate(LANE, amounts=Amounts(items=100), task_ms=task_ms, timeout_s=timeout_s)
    assert receipt.usage.invocations == 2 + -(-100 // in_one)
    assert receipt.usage.runs == receipt.tasks == 101


def test_what_the_runtime_takes_counts_for_a_lane_too() -> None:
    longer, shorter = (estimate(LANE, amounts=Amounts(items=400), timeout_s=each).usage for each in (900, 30))
    assert longer.invocations == 3 < shorter.invocations


def test_a_task_with_a_time_limit_needs_no_more_than_that() -> None:
    first = {**task("Second"), "TimeoutSeconds": 2}
    unlimited, limited = (workflow(First=first, Second={**task(), **limit}) for limit in ({}, {"TimeoutSeconds": 5}))
    assert estimate(unlimited, task_ms=8_000).usage.invocations == 2
    assert estimate(limited, task_ms=8_000).usage.invocations == 1


def test_the_function_that_calls_services_has_the_longest_timeout() -> None:
    call = {"Resource": "arn:aws:states:::sns:publish", "Parameters": {"TopicArn": "t", "Message": "m"}}
    services = workflow(First={**task("Second"), **call}, Second={**task(), **call})
    assert estimate(services, task_ms=60_000).usage.invocations == 1
    assert estimate(services, task_ms=300_000).usage.invocations == 2
