"""``unum cost``: estimate the price of executions, here and elsewhere; and ``unum describe --receipt``."""

import argparse
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from math import inf

from unum_cli.commands.command_arguments import compiled_or_failed, json_option
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.handlers import is_answered, stand_ins
from unum_cli.commands.printing import print_json
from unum_client.client import Client
from unum_compiler.cost.estimate import (
    EXPRESS_LIMIT_S,
    MILLION,
    MONTH_S,
    Bill,
    NoResult,
    Receipt,
    estimate,
    total,
)
from unum_compiler.cost.receipt import UNKNOWN, StoredReceipt, stored_receipt
from unum_compiler.cost.skeleton import Amounts
from unum_compiler.lambda_settings import DEFAULT_MEMORY_MB, FUNCTION_TIMEOUT_S
from unum_compiler.lowering.lower import called_keys, with_calls
from unum_compiler.payload_storage import wants_bucket
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Form, Guard, Json, Task
from unum_runtime.protocol.fanout.packing import packed_tasks
from unum_simulator.stand_ins.modelled_services import ModelledServices, with_end

_WIDTH = 12


def run(options: argparse.Namespace) -> None:
    """Print the receipt of one execution and the bills of a million executions.

    Raises:
        UsageError: invalid file, input, amount or handler module; or small results for a workflow that has none.
        CommandFailed: problems in the definition, or a failed simulated execution.
    """
    rate = None if options.rate is None else _rate(options.rate)
    receipt = _receipt(options)
    if options.json:
        print_json(_plain(receipt, rate))
    else:
        print("\n".join(_lines(receipt, rate)))


def _receipt(options: argparse.Namespace) -> Receipt:
    workflow = _with_called(compiled_or_failed(options.file, options.name), options.called)
    if options.auto_mock:
        workflow = with_end(workflow)
    if options.small_results:
        workflow = _with_small_results(workflow)
    if options.guard:
        workflow = _guarded(workflow, Guard(options.guard))
    amounts = _given(options, "items", "rounds", "result_bytes")
    _check_source(options, amounts)
    # Handlers decide branch counts and sizes themselves; amounts are only for executions without code.
    functions = partial(stand_ins, options, workflow, workflow.tasks) if is_answered(options) else None
    try:
        return estimate(
            workflow,
            amounts=Amounts(**amounts),
            functions=functions,
            value=_input(options, workflow),
            task_ms=options.duration_ms or 0,
            memory_mb=options.memory_mb or DEFAULT_MEMORY_MB,
            timeout_s=_timeout_s(options),
            by_reference=wants_bucket(workflow, options.payload),
        )
    except NoResult as error:
        raise CommandFailed(f"{options.file}: {error}") from error


def _input(options: argparse.Namespace, workflow: Workflow) -> Json:
    if options.input:
        return json_option("--input", options.input)
    return ModelledServices(workflow).input() if options.auto_mock else {}


def _timeout_s(options: argparse.Namespace) -> int:
    """Return the timeout of each function: as given, or long enough for the user code."""
    # Round up: a timeout of whole seconds must cover the last started second.
    duration_s = -(-(options.duration_ms or 0) // 1000)
    if options.timeout_s is None:
        return max(FUNCTION_TIMEOUT_S, duration_s)
    if duration_s > options.timeout_s:
        expected = f"expected at least the {options.duration_ms} ms of --duration-ms"
        raise UsageError(f"--timeout-s: {expected}, got {options.timeout_s} s")
    return int(options.timeout_s)


def _given(options: argparse.Namespace, *names: str) -> dict[str, int]:
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _check_source(options: argparse.Namespace, amounts: Mapping[str, int]) -> None:
    """Raise UsageError for amounts beside handlers, which decide these, and for an input without handlers."""
    if is_answered(options) and amounts:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in amounts)
        raise UsageError(f"{names}: with --functions, the handlers decide that; leave one of both out")
    if options.input and not is_answered(options):
        raise UsageError("--input: nothing reads it without --functions; add handlers or mocks, or leave it out")


def _with_small_results(workflow: Workflow) -> Workflow:
    packed = replace(workflow, small_results=True)
    if not packed_tasks(packed):
        raise UsageError(
            "--small-results: expected a Map or Parallel whose branches certainly end with a Task; "
            "found none, so leave it out"
        )
    return packed


def _with_called(workflow: Workflow, called: Collection[str]) -> Workflow:
    """Return `workflow` with calls of the functions `called`."""
    known = {task.function for task in workflow.tasks if task.form is not Form.SERVICE} | called_keys(workflow)
    for key in called:
        if key not in known:
            raise UsageError(f"--called: expected a function of the definition, one of {sorted(known)}, got {key!r}")
    return with_calls(workflow, called)


def _guarded(workflow: Workflow, guard: Guard) -> Workflow:
    """Return `workflow` with `guard` on all Tasks that invoke functions; service Tasks keep the default."""
    states = {
        name: replace(state, guard=guard) if isinstance(state, Task) and state.resource is None else state
        for name, state in workflow.states.items()
    }
    return replace(workflow, states=states)


def _rate(text: str) -> float:
    """Parse executions per second: ``10`` or ``10/s``."""
    with suppress(ValueError):
        if 0 < (rate := float(text.removesuffix("/s"))) < inf:
            return rate
    raise UsageError(f"--rate: expected executions a second, such as 10/s, got {text}")


def _bills(receipt: Receipt) -> dict[str, Bill]:
    return {
        "here": receipt.here(),
        "standard": receipt.standard(),
        "express": receipt.express(),
        "durable": receipt.durable(),
    }


def _plain(receipt: Receipt, rate: float | None) -> Json:
    bills = _bills(receipt)
    return {
        "execution": {**asdict(receipt), "prices": {"region": receipt.prices.region, "as_of": receipt.prices.as_of}},
        "usd_per_million": {name: {**bill, "total": total(bill)} for name, bill in bills.items()},
        "usd_per_month": None if rate is None else _months(bills, rate),
        "express_does_not_run_it": receipt.not_express,
        "express_is_cheaper_below_s": None if receipt.not_express else receipt.express_is_cheaper_below_s(),
    }


def _months(bills: Mapping[str, Bill], rate: float) -> dict[str, float]:
    return {name: total(bill) * rate * MONTH_S / MILLION for name, bill in bills.items()}


def _lines(receipt: Receipt, rate: float | None) -> Iterator[str]:
    bills = _bills(receipt)
    yield from _receipt_lines(receipt)
    yield ""
    yield f"US dollars for a million executions; {receipt.prices.region}, list prices of {receipt.prices.as_of}"
    yield _row("", list(bills))
    for item in dict.fromkeys(item for bill in bills.values() for item in bill):
        found = [bill.get(item) for bill in bills.values()]
        if any(found):
            yield _row(item.replace("_", " "), ["" if usd is None else f"{usd:,.2f}" for usd in found])
    yield _row("total", [f"{total(bill):,.2f}" for bill in bills.values()])
    if rate is not None:
        yield _row(f"a month at {rate:g}/s", [f"{usd:,.2f}" for usd in _months(bills, rate).values()])
    yield ""
    yield _express_line(receipt)


def _receipt_lines(receipt: Receipt) -> Iterator[str]:
    usage = receipt.usage
    yield f"an execution runs {receipt.tasks:,} Tasks in {usage.invocations:,} invocations, and enters"
    yield f"{receipt.transitions:,} states; its functions ask the store {usage.calls:,} times, for"
    yield f"{usage.write_units:,} write and {usage.read_units:,} read units, move {usage.moved_bytes:,} bytes there,"
    yield f"send {usage.payload_bytes:,} bytes in events, and run {receipt.runtime_ms:,.0f} ms beside user code"


def _express_line(receipt: Receipt) -> str:
    if receipt.not_express:
        return f"Express does not run it: {receipt.not_express}."
    least = receipt.express_is_cheaper_below_s()
    allowed = f"it allows at most {EXPRESS_LIMIT_S} s"
    return f"Express is cheaper for executions that last less than {least:.1f} s; {allowed}."


def _row(label: str, cells: list[str]) -> str:
    return f"{label:<20}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells)


def receipt_of(client: Client, execution: str) -> StoredReceipt:
    """Return the receipt of execution `execution`."""
    return stored_receipt(client.store, client.workflow, execution, retention_s=client.retention_s)


def receipt_json(receipt: StoredReceipt) -> Json:
    """Return the fields of a receipt, with its price."""
    return asdict(receipt) | {"usd": receipt.usd}


def print_receipt(receipt: StoredReceipt) -> None:
    """Print the resources that an execution used, and their minimum price."""
    stored = f"{receipt.writes:,} writes of {receipt.write_units:,} units, {receipt.item_bytes:,} bytes"
    if receipt.object_writes:
        stored += f", {receipt.object_writes:,} objects"
    tasks = f"{receipt.tasks:,} Tasks in {receipt.invocations:,} invocations"
    print(f"receipt  {tasks}, {stored}, {receipt.user_code_ms:,} ms of user code")
    print(f"         {receipt.usd:.9f} USD at least; not known: {UNKNOWN}")
