"""Latency between steps in the emulator, compared with its Step Functions; the results are ratios.

    python benchmarks/latency.py [--json] [--runs 5] [--widths 2,10,...] [--output FOLDER]

Workflows and state machines share one definition, one set of functions and one run. The emulator's Step Functions is
ministack's without its pause of 0.15 s per execution (`unum_emulator.aws_services.state_machines`).
"""

import argparse
import json
import os
import shlex
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import boto3
from latency_stack import AT_ONCE, LENGTH, STACK
from plot import line_chart
from setting import PAGE, machine

from unum_cli.commands.stack import with_addresses
from unum_client import Client
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.aws.invoker import PARALLEL_CALLS, LambdaInvoker
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key
from unum_runtime.store.dynamodb import DynamoStore
from unum_runtime.wire.service_clients import wire_client

ROOT = Path(__file__).parents[1]
EMULATOR_PYTHON = ROOT / "emulator" / ".venv" / "bin" / "python"
APP = f"{shlex.quote(sys.executable)} benchmarks/latency_stack.py"
WIDTHS = (2, 10, 50, 100, 500, 1_000)
WIDEST_LANES = 500
"""Maximum branches of Maps with lanes; wider ones take long with Step Functions."""
RUNS = 5
STARTED = 100
"""Branches whose start is timed, sequentially and in parallel."""
ANSWER_S = 0.03
"""Lambda's time to accept an event, as in `PARALLEL_CALLS`."""
CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL")
"""Environment variables that the runtime's own client reads."""
REPEATED = 50
"""Maximum width of Maps that run as often as chains, after a first run that starts the processes."""
CHAIN_RUNS = 3
"""Runs of chains per run of Maps, because chains are short."""
HERE, STEP_FUNCTIONS, FUSED = "here", "Step Functions", "here, in one function"
TIME_LIMIT_S = 900
OUTCOME: Item = {"state": "Task", "phase": "left", "ir": "0" * 12, "at": 0, "ms": 0, "attempt": 0, "value": "[0.1]"}
"""An item like a checkpoint's, for single requests."""
POLL_S = 0.1
MEMORY_POLL_S = 0.5
"""Interval of memory checks; the system itself records each process's peak."""

Execute = Callable[[Any], tuple[Any, float]]
"""Function that executes an input; returns the output, and the seconds from start to end."""


class Fan(NamedTuple):
    """Seconds of one Map from the creation of its items: medians.

    Attributes:
        began: until the start of its last branch.
        joined: until the start of the Task after it.
        whole: the whole execution.
    """

    began: float
    joined: float
    whole: float


@dataclass(frozen=True)
class Found:
    """Measured figures.

    Attributes:
        hop: seconds between two Tasks of a chain, by system, and between fused Tasks: medians.
        chain: seconds of a chain of `LENGTH`, by system: medians.
        fans: figures of Maps, by system and width.
        lanes: figures of Maps with `AT_ONCE` parallel branches, by system and width.
        requests: seconds per request of a hop, without other load: medians.
        sending: seconds to send `STARTED` events, by server and method.
        peak_mb: peak memory of function processes after the widest Map.
    """

    hop: Mapping[str, float]
    chain: Mapping[str, float]
    fans: Mapping[str, Mapping[int, Fan]]
    lanes: Mapping[str, Mapping[int, Fan]]
    requests: Mapping[str, float]
    sending: Mapping[str, Mapping[str, float]]
    peak_mb: Mapping[str, int]


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runs", type=int, default=RUNS, help="executions per figure, except wide Maps (default: 5)")
    parser.add_argument("--widths", type=_numbers, default=WIDTHS, help="comma-separated widths of Maps")
    parser.add_argument("--output", type=Path, default=PAGE, help="folder for page and chart")
    options = parser.parse_args()
    found = measure_in_emulator(options.runs, options.widths)
    text = write(found, options.output, options.runs)
    print(json.dumps(asdict(found), indent=1) if options.json else text)


def measure_in_emulator(runs: int = RUNS, widths: Sequence[int] = WIDTHS) -> Found:
    """Measure in a new emulator, whose credentials stay in this process's environment."""
    with Emulator(EMULATOR_PYTHON) as emulator:
        os.environ.update({name: value for name, value in emulator.environment().items() if name.startswith("AWS_")})
        return measure(emulator, runs, widths)


def write(found: Found, folder: Path, runs: int = RUNS) -> str:
    """Write the page and its chart; return the page."""
    text = page(found, runs)
    (folder / "latency.md").write_text(text, encoding="utf-8")
    (folder / "latency.svg").write_text(chart(found), encoding="utf-8")
    return text


def measure(emulator: Emulator, runs: int, widths: Sequence[int]) -> Found:
    """Deploy and measure."""
    cdk.bootstrap(emulator, cwd=ROOT)
    outputs = with_addresses(cdk.deploy(emulator, [STACK], app=APP, cwd=ROOT)[STACK])
    chains = {
        HERE: _workflow(outputs, "Chain"),
        STEP_FUNCTIONS: _state_machine(outputs["ChainMachineArn"]),
        FUSED: _workflow(outputs, "Fused"),
    }
    fans, lanes = (
        {HERE: _workflow(outputs, name), STEP_FUNCTIONS: _state_machine(outputs[f"{name}MachineArn"])}
        for name in ("Fan", "Lanes")
    )
    gaps, whole = _measure_chains(chains, runs * CHAIN_RUNS)
    in_lanes = _measure_fans(lanes, runs, [width for width in widths if width <= WIDEST_LANES])
    # Runs last, so the peaks are those after the widest Map.
    with peaks_mb("Make", "Work", "Join") as peaks:
        found = _measure_fans(fans, runs, widths)
    return Found(
        hop=gaps,
        chain=whole,
        fans=found,
        lanes=in_lanes,
        peak_mb=peaks,
        requests=measure_requests(outputs["ChainTable"], outputs["SinkArn"]),
        sending=measure_sending(outputs["SinkArn"]),
    )


def _measure_chains(executes: Mapping[str, Execute], runs: int) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return medians of hops and whole chains; systems alternate, after an uncounted run that starts the processes."""
    for execute in executes.values():
        execute([])
    found = [{who: execute([]) for who, execute in executes.items()} for _ in range(runs)]
    hops = {who: statistics.median(gap for each in found for gap in _gaps(each[who][0])) for who in executes}
    return hops, {who: statistics.median(each[who][1] for each in found) for who in executes}


def _measure_fans(executes: Mapping[str, Execute], runs: int, widths: Sequence[int]) -> Mapping[str, Mapping[int, Fan]]:
    found: dict[str, dict[int, Fan]] = {who: {} for who in executes}
    for width in widths:
        for who, execute in executes.items():
            # The uncounted run starts the processes; a wide Map has to start its own anyway.
            if width <= REPEATED:
                execute(width)
            times = [_measure_fan(who, execute, width) for _ in range(runs if width <= REPEATED else 1)]
            found[who][width] = Fan(*map(statistics.median, zip(*times, strict=True)))
    return found


def _measure_fan(who: str, execute: Execute, width: int) -> Fan:
    output, took = execute(width)
    sys.stderr.write(f"{who}: Map of {width:,} in {took:.2f} s\n")
    return Fan(output["began"] - output["opened"], output["joined"] - output["opened"], took)


def _gaps(times: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise(times)]


def _workflow(outputs: Mapping[str, str], name: str) -> Execute:
    client = Client.connect(
        table=outputs[f"{name}Table"], workflow=outputs[f"{name}Workflow"], start_alias=outputs[f"{name}StartAlias"]
    )

    def execute(value: Any) -> tuple[Any, float]:
        began_s = time.time()
        ended = client.wait(client.start(value).name, timeout_s=TIME_LIMIT_S)
        if ended.stopped_at is None or ended.error is not None:
            raise RuntimeError(f"{name}: {ended}")
        # The stored end, not the time of the poll that found it.
        return ended.output, ended.stopped_at.timestamp() - began_s

    return execute


def _state_machine(arn: str) -> Execute:
    client = boto3.client("stepfunctions")

    def execute(value: Any) -> tuple[Any, float]:
        began_s = time.time()
        execution = client.start_execution(stateMachineArn=arn, input=json.dumps(value))["executionArn"]
        while (ended := client.describe_execution(executionArn=execution))["status"] == "RUNNING":
            time.sleep(POLL_S)
        if ended["status"] != "SUCCEEDED":
            raise RuntimeError(f"{arn}: {ended}")
        # The same for Step Functions, whose polling interval is longer than most executions.
        return json.loads(ended["output"]), ended["stopDate"].timestamp() - began_s

    return execute


def measure_requests(table: str, function: str) -> Mapping[str, float]:
    """Return each request's duration in a hop, without other load."""
    environment = {name: os.environ[name] for name in CREDENTIALS}
    store, steps = DynamoStore(wire_client("dynamodb", environment), table), count()
    invoker = LambdaInvoker(wire_client("lambda", environment))
    expires_at_s = int(time.time()) + TIME_LIMIT_S

    def read() -> object:
        return store.read([Key("latency", "none")])

    def create() -> object:
        return store.create(Key("latency", f"{next(steps)}"), OUTCOME, expires_at_s=expires_at_s)

    return {
        "GetItem, the Task's earlier outcome": _median(read),
        "PutItem, the Task's outcome": _median(create),
        "Invoke, the next Task's event": _median(lambda: invoker.invoke([(function, b"[]")])),
    }


def _median(work: Callable[[], object]) -> float:
    work()  # opens the connection
    return statistics.median(_duration_s(work) for _ in range(STARTED))


def measure_sending(function: str) -> Mapping[str, Mapping[str, float]]:
    """Return the time to send `STARTED` events, sequentially and in parallel."""
    environment = {name: os.environ[name] for name in CREDENTIALS}
    with slow_lambda() as endpoint:
        return {
            "the emulator": _send_times(function, environment),
            f"a server that answers after {ANSWER_S * 1000:g} ms": _send_times(
                function, {**environment, "AWS_ENDPOINT_URL": endpoint}
            ),
        }


def _send_times(function: str, environment: Mapping[str, str]) -> Mapping[str, float]:
    client: Any = wire_client("lambda", environment)
    invoker = LambdaInvoker(client)
    events = [(function, b"[]")] * STARTED
    invoker.invoke(events[:PARALLEL_CALLS])  # opens the connections
    return {
        "one after the other": sum(_duration_s(partial(invoker.invoke, [event])) for event in events),
        "in parallel": _duration_s(partial(invoker.invoke, events)),
    }


def _duration_s(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


class _Slow(BaseHTTPRequestHandler):
    """Server that accepts every event after Lambda's response time."""

    protocol_version = "HTTP/1.1"
    # Otherwise delayed acknowledgements would add 40 ms to some responses.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        time.sleep(ANSWER_S)
        self.send_response(202)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log no requests."""


@contextmanager
def slow_lambda() -> Iterator[str]:
    """Yield the endpoint of a server that accepts events."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Slow) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def peaks_mb(*keys: str) -> Iterator[dict[str, int]]:
    """Yield the peak memory of each function's processes, updated meanwhile; zeros on systems without these figures."""
    peaks, is_over = dict.fromkeys(keys, 0), threading.Event()

    def poll() -> None:
        while not is_over.wait(MEMORY_POLL_S):
            peaks.update({key: max(peak, _peak_mb(key)) for key, peak in peaks.items()})

    polling = threading.Thread(target=poll)
    polling.start()
    try:
        yield peaks
    finally:
        is_over.set()
        polling.join()


def _peak_mb(key: str) -> int:
    wanted = f"\0AWS_LAMBDA_FUNCTION_NAME={STACK}-{key}"
    return max((_process_peak_mb(process, wanted) for process in Path("/proc").glob("[0-9]*")), default=0)


def _process_peak_mb(process: Path, wanted: str) -> int:
    try:
        if wanted not in f"\0{(process / 'environ').read_bytes().decode(errors='replace')}":
            return 0
        status = (process / "status").read_text()
    except OSError:  # the process has ended, or belongs to another user
        return 0
    # The kernel's peak of resident memory, so no peak between two polls is missed.
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def page(found: Found, runs: int) -> str:
    """Return the figures as a Markdown page."""
    return (
        "\n".join([*_head(runs), *_chain(found), *_requests(found), *_widths(found), *_sending(found), *_memory(found)])
        + "\n"
    )


def _head(runs: int) -> list[str]:
    date = time.strftime("%Y-%m-%d", time.gmtime())
    return [
        "# Latency in the emulator",
        "",
        f"Written by `benchmarks/latency.py` on {date}; {machine()}, after the widest Maps.",
        f"Figures are medians of {runs * CHAIN_RUNS} alternating chains, and of {runs} Maps of up to {REPEATED}",
        "branches; wider Maps ran once each.",
        "",
        *_ABOUT.splitlines(),
    ]


_ABOUT = """\
Seconds depend on this machine and its other load, so compare only ratios within this run, and ratios of short
executions with care. Step Functions is the emulator's, without its pause of 0.15 s before each execution: it calls
functions inside the emulator's own process, while each step here sends HTTP requests to DynamoDB and Lambda. On AWS
these are separate services that answer in parallel. At most 24 function processes run at once, so wide Maps take as
long as the processors need for all branches, on both systems."""


def _chain(found: Found) -> list[str]:
    rows = {"hop": found.hop, f"chain of {LENGTH}, start to end": found.chain}
    lines = ["", "## Chain", "", _HEAD, _RULE]
    lines += [_row(name, [each[HERE], each[STEP_FUNCTIONS]]) for name, each in rows.items()]
    lines += ["", "The same with all Tasks in one function, where fusion saves the invocations:", ""]
    lines += ["| | one function, s | many, s | ratio |", _RULE]
    return [*lines, *(_row(name, [each[FUSED], each[HERE]]) for name, each in rows.items())]


def _requests(found: Found) -> list[str]:
    """Return a hop's minimum duration: its requests; a fused hop has all but the last."""
    lines = [
        "",
        "## What a hop takes",
        "",
        *_HOP.splitlines(),
        "",
        "| request | s | share of the hop |",
        "|---|---:|---:|",
    ]
    rows = {**found.requests, "all": sum(found.requests.values())}
    return [*lines, *(f"| {name} | {each:.4f} | {each / found.hop[HERE]:.2f} |" for name, each in rows.items())]


_HOP = """\
A hop is three sequential requests, and the event's time in Lambda: queue, idle process, user code. The emulator's
Step Functions needs no request and no queue: it calls functions from its own process, and keeps state in memory.
Each request alone, without other load:"""


def _widths(found: Found) -> list[str]:
    lines = [
        "",
        "## Map",
        "",
        "Measured from the end of the Task that makes the items; `whole` is the whole execution.",
        "",
    ]
    lines += [*_fan_rows(found.fans), "", "![Latency](latency.svg)"]
    lines += ["", f"## Map with MaxConcurrency {AT_ONCE}", "", *_LANES.splitlines(), ""]
    return [*lines, *_fan_rows(found.lanes)]


_LANES = """\
Here the function continues with the next branch in the same delivery. The workflow declares small results, and no
check for earlier outcomes (`Guard.COMMIT`)."""


def _fan_rows(fans: Mapping[str, Mapping[int, Fan]]) -> list[str]:
    ours, theirs = fans.values()
    lines = [_HEAD, _RULE]
    for width, mine in ours.items():
        for field, name in (("began", "last branch began"), ("joined", "join began"), ("whole", "whole")):
            lines.append(_row(f"{width:,} branches: {name}", [getattr(mine, field), getattr(theirs[width], field)]))
    return lines


def _sending(found: Found) -> list[str]:
    lines = ["", f"## Sending {STARTED} events", ""]
    lines += [f"`In parallel` means {PARALLEL_CALLS} calls at once, over open connections.", ""]
    lines += ["| to | one after the other, s | in parallel, s | ratio |", "|---|---:|---:|---:|"]
    return [*lines, *(_row(place, list(each.values()), is_share=True) for place, each in found.sending.items())]


def _memory(found: Found) -> list[str]:
    widest = max(next(iter(found.fans.values())))
    lines = ["", "## Memory", "", f"Peaks of processes after Maps of up to {widest:,} branches:", ""]
    lines += ["| function | MB |", "|---|---:|"]
    return [*lines, *(f"| {name} | {peak} |" for name, peak in found.peak_mb.items())]


_HEAD = "| | here, s | Step Functions, s | ratio |"
_RULE = "|---|---:|---:|---:|"


def _row(name: str, pair: Sequence[float], *, is_share: bool = False) -> str:
    first, second = pair
    ratio = second / first if is_share else first / second
    return f"| {name} | {first:.4f} | {second:.4f} | {ratio:.2f} |"


def chart(found: Found) -> str:
    """Return a chart of the seconds until the Task after a Map begins, by width."""
    lines = {who: [(float(width), fan.joined) for width, fan in each.items()] for who, each in found.fans.items()}
    return line_chart("From a Map's items to the Task after it, in the emulator", "branches", "seconds", lines)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


if __name__ == "__main__":
    main()
