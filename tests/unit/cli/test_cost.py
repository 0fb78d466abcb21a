"""``unum cost``: bills from counts, for people and for programs."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from unum_cli.grammar import AMOUNTS
from unum_compiler.cost.skeleton import Amounts
from unum_compiler.lambda_settings import DEFAULT_MEMORY_MB, FUNCTION_TIMEOUT_S

STATES: dict[str, Any] = {
    "One": {"Type": "Task", "Resource": "one", "Next": "Two"},
    "Two": {"Type": "Task", "Resource": "two", "End": True},
}
CHAIN = {"StartAt": "One", "States": STATES}
RATES = ("often", "nan", "inf", "0", "10/m")
GUARDS = [("--guard", guard) for guard in ("read", "commit", "lease")]
AT_ONCE = {"MaxConcurrency": 10}
SMALL = ["--small-results", "--result-bytes", "20"]
COST_PAGE = Path(__file__).parents[3] / "docs" / "cost.md"
FUNCTIONS = "def one(event, context): return event\ndef two(event, context): {}\n"


def test_the_table_has_a_column_for_each_way_to_run_it(unum: Any, file: Any) -> None:
    file("chain.json", CHAIN)
    ran = unum("cost", "chain.json", "--duration-ms", "100", "--rate", "10/s")
    assert (ran.code, ran.err) == (0, "")
    _, bills, verdict = ran.out.split("\n\n")
    _, headings, *rows = bills.splitlines()
    assert headings.split() == ["here", "standard", "express", "durable"]
    cells = {row[:20].strip(): row[20:].split() for row in rows}
    assert cells["transitions"] == ["50.00"]
    a_million, a_month = (float(cells[row][1].replace(",", "")) for row in ("total", "a month at 10/s"))
    assert a_month == pytest.approx(a_million * 25.92, rel=1e-3)
    assert verdict.startswith("Express is cheaper for executions that last less than")


def test_json_has_the_receipt_and_every_bill_with_its_total(unum: Any, file: Any) -> None:
    file("chain.json", CHAIN)
    reply = json.loads(unum("cost", "chain.json", "--json").out)
    assert reply["execution"]["usage"]["writes"] == 3
    for bill in reply["usd_per_million"].values():
        assert bill.pop("total") == pytest.approx(sum(bill.values()))
    assert reply["usd_per_month"] is None


def test_a_called_function_costs_a_request_and_the_waiting_for_it(unum: Any, file: Any) -> None:
    file("chain.json", CHAIN)
    asked = ["cost", "chain.json", "--json", "--duration-ms", "1000"]
    hosted, called = (
        json.loads(unum(*asked, *options).out)["usd_per_million"]["here"] for options in ([], ["--called", "two"])
    )
    assert called["calling"] == pytest.approx(1.67, abs=0.01)
    assert (called["user_code"], hosted["calling"]) == (pytest.approx(hosted["user_code"]), 0)
    # Two requests for the Task: one for the service function and one for the function that it calls.
    assert called["requests"] == pytest.approx(hosted["requests"] + 0.2)
    refused = unum("cost", "chain.json", "--called", "three")
    assert (refused.code, "--called: expected a function of the definition" in refused.err) == (2, True)


def test_handlers_take_the_place_of_amounts(unum: Any, file: Any) -> None:
    file("chain.json", CHAIN)
    file("code.py", FUNCTIONS)
    given = ("cost", "chain.json", "--functions", "code.py", "--json", "--input")
    small, large = (json.loads(unum(*given, json.dumps("x" * size)).out) for size in (10, 4_500))
    more = large["execution"]["usage"]["write_units"] - small["execution"]["usage"]["write_units"]
    assert more == 2 * 4  # of the start record, and of the first of two steps


def test_small_results_are_billed_as_the_construct_would_store_them(unum: Any, file: Any) -> None:
    each = {"Type": "Map", "ItemProcessor": {"StartAt": "One", "States": {"One": {**STATES["Two"]}}}, "Next": "Two"}
    file("map.json", {"StartAt": "Each", "States": {"Each": each, "Two": STATES["Two"]}})
    given = ("cost", "map.json", "--json", "--items", "70", "--result-bytes")
    small, large = ([*given, size] for size in ("20", "200"))
    plain, packed, full = (
        json.loads(unum(*options).out)["execution"]["usage"]["writes"]
        for options in (small, [*small, "--small-results"], [*large, "--small-results"])
    )
    assert plain - packed == 70 - 10  # commit and completion are one write, and each ten packs are one more
    assert full > plain, "what has no room in a pack is written beside it"


def test_small_results_of_nothing_are_refused(unum: Any, file: Any) -> None:
    file("chain.json", CHAIN)
    ran = unum("cost", "chain.json", "--small-results")
    assert (ran.code, ran.out) == (2, "")
    assert "--small-results: expected a Map or Parallel whose branches certainly end with a Task" in ran.err


def test_the_guard_of_functions_decides_about_reads_and_claims(unum: Any, file: Any) -> None:
    file("chain.json", CHAIN)
    found = (json.loads(unum("cost", "chain.json", "--json", *given).out) for given in ([], *GUARDS))
    used = [(reply["execution"]["usage"]["reads"], reply["execution"]["usage"]["writes"]) for reply in found]
    assert used == [(1, 3), (1, 3), (0, 3), (1, 7)]


@pytest.mark.parametrize(
    ("row", "limit", "options"),
    [
        ("all branches at once", {}, []),
        ('`"MaxConcurrency": 10`', AT_ONCE, []),
        ("and `small_results=True`, results of 20 bytes", AT_ONCE, SMALL),
        ("and `guard=Guard.COMMIT`", AT_ONCE, [*SMALL, "--guard", "commit"]),
    ],
)
def test_the_docs_say_what_limited_maps_cost(unum: Any, file: Any, row: str, limit: Any, options: list[str]) -> None:
    (cells,) = re.findall(rf"^\| {re.escape(row)} \| (.*) \|$", COST_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    work = {"StartAt": "Work", "States": {"Work": {"Type": "Task", "Resource": "work", "End": True}}}
    each = {"Type": "Map", "ItemProcessor": work, "Next": "Two", **limit}
    states = {"One": {**STATES["One"], "Next": "Each"}, "Each": each, "Two": STATES["Two"]}
    file("map.json", {"StartAt": "One", "States": states})
    reply = json.loads(unum("cost", "map.json", "--json", "--items", "100", *options).out)
    usage, usd = reply["execution"]["usage"], reply["usd_per_million"]["here"]["total"]
    assert cells == f"{usage['invocations']} | {usage['reads'] + usage['writes']} | ${usd:.0f}"


def test_a_limit_that_the_data_have_is_not_known(unum: Any, file: Any) -> None:
    processor = {"StartAt": "One", "States": {"One": {**STATES["Two"]}}}
    each = {"Type": "Map", "ItemProcessor": processor, "MaxConcurrencyPath": "$.limit", "End": True}
    file("map.json", {"StartAt": "Each", "States": {"Each": each}})
    assert json.loads(unum("cost", "map.json", "--json").out)["execution"]["usage"]["invocations"] == 11


def test_express_is_not_offered_where_it_does_not_run(unum: Any, file: Any) -> None:
    file("chain.json", CHAIN)
    assert "Express allows at most 300 s" in unum("cost", "chain.json", "--duration-ms", "200000").out


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        *(("--rate", given, f"--rate: expected executions a second, such as 10/s, got {given}") for given in RATES),
        ("--rate=-1/s", None, "--rate: expected executions a second, such as 10/s, got -1/s"),
        ("--rounds", "0", "--rounds: expected an integer from 1 up, got '0'"),
        ("--items", "many", "--items: expected an integer from 0 up, got 'many'"),
        ("--memory-mb", "10241", "--memory-mb: expected an integer from 128 to 10,240, got '10241'"),
        ("--duration-ms", "900001", "--duration-ms: expected an integer from 0 to 900,000, got '900001'"),
        ("--payload", "s4", "--payload: invalid choice: 's4'"),
    ],
)
def test_an_amount_that_is_none_is_refused(unum: Any, file: Any, option: str, value: str | None, message: str) -> None:
    file("chain.json", CHAIN)
    ran = unum("cost", "chain.json", *filter(None, (option, value)))
    assert ran.code == 2
    assert message in ran.err


def test_what_express_does_not_run_is_not_compared_with_it(unum: Any, file: Any) -> None:
    wait = {"Type": "Wait", "Seconds": 301, "Next": "One"}
    file("long.json", {"StartAt": "Sleep", "States": {"Sleep": wait, "One": STATES["Two"]}})
    reply = json.loads(unum("cost", "long.json", "--json").out)
    assert reply["express_is_cheaper_below_s"] is None
    assert reply["express_does_not_run_it"] == "it lasts 301 s, and Express allows at most 300 s"
    assert "Express does not run it: it lasts 301 s" in unum("cost", "long.json").out


def test_large_values_are_objects_where_the_construct_would_make_a_bucket(unum: Any, file: Any) -> None:
    reader = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "b", "Key": "k"}}
    mode = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    each = {"Type": "Map", "ItemReader": {**reader, "ReaderConfig": {"InputType": "JSON"}}, "Next": "Two"}
    each["ItemProcessor"] = {**mode, "StartAt": "One", "States": {"One": STATES["Two"]}}
    file("chain.json", CHAIN)
    file("reading.json", {"StartAt": "Each", "States": {"Each": each, "Two": STATES["Two"]}})

    def objects(name: str, *options: str) -> int:
        ran = unum("cost", name, "--result-bytes", "20000", "--json", *options)
        return int(json.loads(ran.out)["execution"]["usage"]["object_writes"])

    assert objects("chain.json") == 0 < objects("chain.json", "--payload", "s3")
    assert objects("reading.json") > 0 == objects("reading.json", "--payload", "inline")
    ran = unum("cost", "chain.json", "--result-bytes", "400000")
    assert (ran.code, ran.out) == (1, "")
    assert 'payload="s3"' in ran.err


def test_what_help_says_is_taken_is_taken() -> None:
    said = {name.replace("-", "_"): value for name, _, _, value, _ in AMOUNTS}
    assert said == asdict(Amounts()) | {
        "duration_ms": 0,
        "memory_mb": DEFAULT_MEMORY_MB,
        "timeout_s": FUNCTION_TIMEOUT_S,
    }


def test_functions_go_on_as_long_as_their_timeout_lets_them(unum: Any, file: Any) -> None:
    together = {name: {**state, "Resource": "one"} for name, state in STATES.items()}
    file("chain.json", {**CHAIN, "States": together})

    def invocations(*options: str) -> int:
        ran = unum("cost", "chain.json", "--json", *options)
        return int(json.loads(ran.out)["execution"]["usage"]["invocations"])

    assert invocations() == invocations("--duration-ms", "7000") == 1
    assert invocations("--duration-ms", "8000") == invocations("--duration-ms", "60000") == 2
    assert invocations("--duration-ms", "8000", "--timeout-s", "60") == 1
    ran = unum("cost", "chain.json", "--duration-ms", "8001", "--timeout-s", "8")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("--timeout-s: expected at least the 8001 ms of --duration-ms, got 8 s")


def test_what_would_be_ignored_is_refused(unum: Any, file: Any) -> None:
    file("chain.json", CHAIN)
    file("code.py", FUNCTIONS)
    ran = unum("cost", "chain.json", "--functions", "code.py", "--items", "3", "--result-bytes", "9")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("--items, --result-bytes: with --functions, the handlers decide that")
    ran = unum("cost", "chain.json", "--input", "{}")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("--input: nothing reads it without --functions")


def test_an_execution_that_fails_has_no_price(unum: Any, file: Any) -> None:
    file("failing.json", {"StartAt": "No", "States": {"No": {"Type": "Fail", "Error": "Never"}}})
    ran = unum("cost", "failing.json")
    assert (ran.code, ran.err) == (1, "failing.json: the simulated execution failed: Never\n")
