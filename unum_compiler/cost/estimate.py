"""Estimated costs of executions, here and on AWS's own services.

`estimate` runs the workflow once in this process, on the real runtime and a store that counts, and multiplies with list
prices. User code costs the same everywhere: bills include it only with a given duration. Bills exclude free tiers,
volume discounts, data transfer, logs, failures and retries.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from unum_client.reading import stored_steps
from unum_client.reading.progress import progress
from unum_compiler.cost.prices import Prices, list_prices
from unum_compiler.cost.skeleton import Amounts, skeleton, stand_ins
from unum_compiler.lambda_settings import (
    DEFAULT_MEMORY_MB,
    FUNCTION_TIMEOUT_S,
    OWN_FUNCTION_MB,
    SERVICES_TIMEOUT_S,
    service_memory_mb,
)
from unum_compiler.parsing.task_resources import SERVICES
from unum_runtime.features.regions.region import region_of
from unum_runtime.json_text import to_text
from unum_runtime.model.called_functions import calls_function
from unum_runtime.model.checkpoint import Checkpoint, Failure, Success
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import Frames
from unum_runtime.model.states import DATA_SET_TASKS, FanOut, Json, Map, Pattern, State, Task, Wait
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.store.large_items import DAY_S, object_lifetime_days
from unum_simulator.capacity import STORED_OVERHEAD_BYTES
from unum_simulator.local import Function
from unum_simulator.metering import Metered, Pace, Usage, meter

MILLION = 1_000_000
GB = 2**30
MONTH_S = 30 * 24 * 3600

EXPRESS_LIMIT_S = 300
"""Maximal duration of an Express execution. Source: AWS Step Functions Developer Guide, "Choosing workflow type"."""

_EXPRESS_STEP_MS = 100
"""Billing increment of an Express execution's duration. Source: AWS Step Functions pricing."""

_EXPRESS_CHUNK_MB = 64
_EXPRESS_BASE_MB = 50
"""Memory of an Express execution besides its definition and data, and the billing increment of memory. Source: AWS Step
Functions pricing, example 4."""

_PROCESSOR_MB = 1_769
"""Memory of a function with one whole processor; less memory has a share of one. Source: AWS Lambda Developer Guide,
"Configure Lambda function memory"."""

_QUEUE_REQUESTS = 3
"""SQS requests for a delayed event: send, receive, delete."""

_SWEPT_UNITS = 1.03
"""Read units of the one look that a sweep takes at an execution that ends within an hour: its last step, and its share
of a page of the index, with 250 bytes of the 8 KB that an eventually consistent unit reads."""

Functions: TypeAlias = Mapping[str, Function] | Callable[[], Mapping[str, Function]]
"""Handlers by function key or Task name, or what returns those of one execution."""

Bill: TypeAlias = Mapping[str, float]
"""US dollars for a million executions, by item."""


class NoResult(Exception):
    """The simulated execution failed, so its usage means nothing for successful executions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Usage of one execution, basis of bills.

    Attributes:
        usage: usage of store, events and functions.
        tasks: number of Tasks that ran.
        called: number of Tasks whose Lambda function the service function called.
        caller_mb: memory of the service function that waited for them.
        functions_called: number of Tasks that ran Lambda functions. Calls of other services wait in a function here and
            in a durable function, but not in Step Functions.
        fan_outs: number of fan-outs.
        waits: number of Waits.
        transitions: state transitions as Step Functions Standard counts them.
        result_bytes: size of the results of all Tasks and fan-outs.
        definition_bytes: size of the compiled workflow.
        task_ms: duration of each Task's user code or service request, in milliseconds.
        longest_path: Tasks in sequence on the longest path.
        memory_mb: memory of each function.
        retention_s: lifetime of items, in seconds.
        prices: region and date of the bills.
        beyond_express: part of the definition that Express lacks; None without such a part.
    """

    usage: Usage
    tasks: int
    functions_called: int
    called: int
    caller_mb: int
    fan_outs: int
    waits: int
    transitions: int
    result_bytes: int
    definition_bytes: int
    task_ms: int
    longest_path: int
    memory_mb: int
    retention_s: int
    prices: Prices
    beyond_express: str | None = None

    @property
    def runtime_ms(self) -> float:
        """Return runtime overhead in functions: computation, plus waiting for responses."""
        return _runtime_ms(self.usage, self.tasks, self.memory_mb, self.prices)

    @property
    def lasts_s(self) -> float:
        """Return the minimal duration of an execution, in seconds: user code and waits."""
        return self._lasts_ms / 1000

    @property
    def not_express(self) -> str | None:
        """Return the reason against Express, if any."""
        if self.lasts_s > EXPRESS_LIMIT_S:
            return f"it lasts {self.lasts_s:g} s, and Express allows at most {EXPRESS_LIMIT_S} s"
        return self.beyond_express

    def here(self) -> Bill:
        """Return this library's bill, with the entry of the list and the sweep, both defaults of workflows."""
        usd, usage = self.prices.usd, self.usage
        items_gb = (usage.stored_bytes + usage.items * STORED_OVERHEAD_BYTES) / GB
        items_usd = items_gb * self.retention_s / MONTH_S * usd["dynamodb_gb_month"]
        objects_s = object_lifetime_days(self.retention_s) * DAY_S
        objects_usd = usage.stored_object_bytes / GB * objects_s / MONTH_S * usd["s3_gb_month"]
        return _bill(
            requests=(usage.invocations + usage.waits + self.called) * usd["lambda_request"],
            queue=usage.waits * _QUEUE_REQUESTS * usd["sqs_request"],
            schedules=usage.schedules * usd["scheduler_invocation"],
            user_code=self._compute(self.tasks * self.task_ms),
            calling=self._compute(self.called * self.task_ms, self.caller_mb),
            runtime=self._compute(self.runtime_ms) + self._forwarding(),
            store_writes=usage.write_units * usd["dynamodb_write_unit"],
            store_reads=usage.read_units * usd["dynamodb_read_unit"],
            list=usd["dynamodb_write_unit"],
            sweep=_SWEPT_UNITS * usd["dynamodb_read_unit"] + self._own_compute(self.prices.times_ms["store_read"]),
            objects=usage.object_writes * usd["s3_put"] + usage.object_reads * usd["s3_get"],
            storage=items_usd + objects_usd,
        )

    def standard(self) -> Bill:
        """Return the bill of the same executions on Step Functions Standard."""
        return self._called(transitions=self.transitions * self.prices.usd["standard_transition"])

    def express(self) -> Bill:
        """Return the bill on Step Functions Express, for executions without delays besides user code and waits."""
        usd = self.prices.usd
        return self._called(start=usd["express_request"], duration=self._express_s() * self.express_usd_per_s())

    def durable(self) -> Bill:
        """Return a durable function's bill: one operation per start, step, fan-out and wait.

        The function ends at a wait, and is invoked again afterwards.
        Source: AWS Lambda Developer Guide, "Durable functions".
        """
        usd = self.prices.usd
        return _bill(
            requests=(1 + self.waits) * usd["lambda_request"],
            user_code=self._compute(self.tasks * self.task_ms),
            operations=(1 + self.tasks + self.fan_outs + self.waits) * usd["durable_operation"],
            data=self.result_bytes / GB * usd["durable_gb_written"],
        )

    def express_usd_per_s(self) -> float:
        """Return the price of one Express second."""
        used_mb = _EXPRESS_BASE_MB + (self.definition_bytes + self.usage.payload_bytes) / 2**20
        chunks = -(-used_mb // _EXPRESS_CHUNK_MB)  # division rounded up
        return chunks * _EXPRESS_CHUNK_MB / 1024 * self.prices.usd["express_gb_s"]

    def express_is_cheaper_below_s(self) -> float:
        """Return the break-even duration of Express against this library, in seconds; 0 if Express always costs more.

        Both run the same user code, at the same price.
        """
        fixed = total(self.express()) - self._express_s() * self.express_usd_per_s() * MILLION
        paid_ms = 1000 * (total(self.here()) - fixed) / MILLION / self.express_usd_per_s()
        return max(0, paid_ms // _EXPRESS_STEP_MS) * _EXPRESS_STEP_MS / 1000

    @property
    def _lasts_ms(self) -> int:
        return self.longest_path * self.task_ms + self.usage.waited_ms

    def _express_s(self) -> float:
        """Return the billed duration, in seconds."""
        return -(-self._lasts_ms // _EXPRESS_STEP_MS) * _EXPRESS_STEP_MS / 1000

    def _called(self, **items: float) -> Bill:
        requests = self.functions_called * self.prices.usd["lambda_request"]
        return _bill(requests=requests, user_code=self._compute(self.functions_called * self.task_ms), **items)

    def _compute(self, ms: float, memory_mb: int | None = None) -> float:
        return ms / 1000 * (memory_mb or self.memory_mb) / 1024 * self.prices.usd["lambda_gb_s"]

    def _forwarding(self) -> float:
        """Return the price of the queue's function, which makes one request per event."""
        return self._own_compute(self.usage.waits * self.prices.times_ms["invoke"])

    def _own_compute(self, ms: float) -> float:
        """Return the price of `ms` milliseconds in a function that the workflow makes."""
        return self._compute(ms, OWN_FUNCTION_MB)


def _runtime_ms(usage: Usage, tasks: int, memory_mb: int, prices: Prices) -> float:
    times = prices.times_ms
    # Lambda assigns processor time in proportion to memory, so less memory slows the runtime's own work.
    computed_ms = tasks * times["delivery"] * max(1, _PROCESSOR_MB / memory_mb)
    return (
        computed_ms
        + usage.writes * times["store_write"]
        + usage.reads * times["store_read"]
        + usage.rounds * times["invoke"]
        + usage.object_writes * times["object_write"]
        + usage.object_reads * times["object_read"]
    )


def _bill(**usd: float) -> Bill:
    return {name: each * MILLION for name, each in usd.items()}


def least_object_bytes(prices: Prices, memory_mb: int = DEFAULT_MEMORY_MB) -> int:
    """Return the smallest value size, written and read once, at which objects cost less than items.

    An item costs a write unit for each KB and a read unit for each 4 KB. An object costs two requests of any size, two
    units for the item that refers to it, and the time that a function waits longer for S3 than for DynamoDB. Storage
    for some days costs almost nothing, and less in S3.

    Args:
        prices: prices of both services.
        memory_mb: memory of the waiting function.
    """
    usd, times = prices.usd, prices.times_ms
    waiting_s = (times["object_write"] + times["object_read"]) / 1000
    waited_usd = waiting_s * memory_mb / 1024 * usd["lambda_gb_s"]
    object_usd = usd["s3_put"] + usd["s3_get"] + usd["dynamodb_write_unit"] + usd["dynamodb_read_unit"] + waited_usd
    # DynamoDB bills whole units, so the price of an item rises in steps: test size by size.
    kilobytes = next(kb for kb in count(1) if _item_usd(usd, kb) > object_usd)
    return kilobytes * 1000


def _item_usd(usd: Mapping[str, float], kilobytes: int) -> float:
    return kilobytes * usd["dynamodb_write_unit"] + -(-kilobytes // 4) * usd["dynamodb_read_unit"]


def total(bill: Bill) -> float:
    """Return a bill's sum, in US dollars per million executions."""
    return sum(bill.values())


def estimate(  # noqa: PLR0913 - all but the first have defaults
    workflow: Workflow,
    *,
    amounts: Amounts | None = None,
    functions: Functions | None = None,
    value: Json = None,
    task_ms: int = 0,
    memory_mb: int = DEFAULT_MEMORY_MB,
    timeout_s: int = FUNCTION_TIMEOUT_S,
    retention_s: int = DEFAULT_RETENTION_S,
    by_reference: bool = False,
    prices: Prices | None = None,
) -> Receipt:
    """Execute `workflow` once in this process and count its usage.

    Args:
        workflow: compiled workflow.
        amounts: assumptions about the data, without `functions`.
        functions: handlers (event, context) by function key or Task name, or what returns those of one execution;
            without them the data flow is left out.
        value: input of the execution, with `functions`.
        task_ms: duration of each Task's user code or service request, in milliseconds.
        memory_mb: memory of each function.
        timeout_s: time limit of each function, in seconds; fusion continues while enough of it is left.
        retention_s: lifetime of items, in seconds.
        by_reference: True if the workflow has a bucket for large values.
        prices: prices; by default the list prices of this package.

    Raises:
        NoResult: the execution failed; says with which error.
        KeyError: `functions` lacks a handler.
    """
    prices = prices or list_prices()
    pace = Pace(
        took_ms=lambda usage: usage.runs * task_ms + _runtime_ms(usage, usage.runs, memory_mb, prices),
        timeout_ms=lambda key: 1000 * (SERVICES_TIMEOUT_S if key == SERVICES else timeout_s),
    )
    run = _runner(workflow, amounts or Amounts(), functions, value, pace, by_reference=by_reference)
    metered, executed = run(workflow.collection)
    # Collection deletes the checkpoints that are counted below, so a second run keeps them.
    seen = metered if workflow.collection is Collection.TTL else run(Collection.TTL)[0]
    checkpoints = _checkpoints(executed, seen)
    passed = {name: each.succeeded + each.failed for name, each in progress(executed, checkpoints).items()}
    return Receipt(
        usage=metered.usage,
        tasks=_sum(workflow, passed, Task),
        functions_called=_sum(workflow, passed, Task, _is_function),
        called=_sum(workflow, passed, Task, _is_called),
        caller_mb=service_memory_mb(workflow),
        fan_outs=_sum(workflow, passed, FanOut),
        waits=_sum(workflow, passed, Wait),
        transitions=_sum(workflow, passed, State, _is_visible),
        result_bytes=sum(_result_bytes(checkpoint) for checkpoint in checkpoints),
        definition_bytes=len(workflow.to_json().encode()),
        task_ms=task_ms,
        longest_path=_longest_path(workflow, checkpoints),
        memory_mb=memory_mb,
        retention_s=retention_s,
        prices=prices,
        beyond_express=_beyond_express(workflow),
    )


def _runner(
    workflow: Workflow,
    amounts: Amounts,
    functions: Functions | None,
    value: Json,
    pace: Pace,
    *,
    by_reference: bool,
) -> Callable[[Collection], tuple[Metered, Workflow]]:
    """Return a function that executes workflow or skeleton, returning the run and the executed workflow."""

    def run(collection: Collection) -> tuple[Metered, Workflow]:
        if functions is None:
            executed, called, start_input = skeleton(workflow, amounts), stand_ins(workflow, amounts), None
        else:
            executed, called, start_input = workflow, functions() if callable(functions) else functions, value
        found = meter(executed, called, start_input, collection=collection, by_reference=by_reference, pace=pace)
        return _succeeded(found), executed

    return run


def _succeeded(run: Metered) -> Metered:
    outcome = run.ending.outcome
    if isinstance(outcome, Failure):
        found = ": ".join(filter(None, (outcome.error or "(the Fail state names no error)", outcome.cause)))
        raise NoResult(f"the simulated execution failed: {found}")
    return run


def _checkpoints(workflow: Workflow, run: Metered) -> list[Checkpoint]:
    record = stored_steps.start_record(run.store, workflow.name, run.name)
    return [record, *stored_steps.steps(run.store, workflow.name, record.name.execution)]


def _sum(
    workflow: Workflow, passed: Mapping[str, int], kind: type[State], counts: Callable[[State], bool] = lambda _: True
) -> int:
    states = workflow.states
    return sum(passed[name] for name, state in states.items() if isinstance(state, kind) and counts(state))


def _beyond_express(workflow: Workflow) -> str | None:
    """Return the part of the definition that Express lacks.

    Source: AWS Step Functions Developer Guide, "Choosing workflow type".
    """
    for name, state in workflow.states.items():
        if isinstance(state, Task) and state.pattern is not Pattern.RESPONSE:
            return f"state {name!r} waits for more than a response"
        if isinstance(state, Map) and state.distributed:
            return f"state {name!r} is a distributed Map"
    return None


def _is_function(state: State) -> bool:
    return isinstance(state, Task) and (state.resource is None or calls_function(state))


def _is_called(state: State) -> bool:
    return isinstance(state, Task) and calls_function(state)


def _is_visible(state: State) -> bool:
    """Return True for states of the definition, excluding added Tasks around a Map."""
    return not isinstance(state, Task) or state.resource not in DATA_SET_TASKS


def _result_bytes(checkpoint: Checkpoint) -> int:
    return len(to_text(checkpoint.outcome.value).encode()) if isinstance(checkpoint.outcome, Success) else 0


def _longest_path(workflow: Workflow, checkpoints: Iterable[Checkpoint]) -> int:
    """Return the number of Tasks in sequence on the longest path; nodes of a region come after their sources."""
    lengths, tasks = Counter[Frames](), defaultdict[Frames, list[str]](list)
    ends: dict[tuple[Frames, str, int, int, int], dict[str, int]] = {}
    for checkpoint in checkpoints:
        frames = checkpoint.name.frames
        is_task = isinstance(workflow.states.get(checkpoint.state), Task)
        lengths[frames] += is_task
        tasks[frames] += [checkpoint.state] * is_task
        lengths.update({frames[:depth]: 0 for depth in range(len(frames))})
    longest: dict[tuple[Frames, str, int, int], int] = {}
    to_end: dict[tuple[Frames, str, int, int, int], int] = {}
    # Inner branches first; nodes of a region come after their sources.
    for frames in sorted(lengths, key=lambda each: (-len(each), *(frame.index for frame in each))):
        length = lengths[frames] + sum(inner for (around, *_), inner in longest.items() if around == frames)
        if not frames:
            return length
        last = frames[-1]
        fan_out = (frames[:-1], last.state, last.iteration, last.generation)
        if workflow.fan_out(last.state).needs:
            sources = region_of(workflow, last.state).sources[last.index]
            length += max((to_end[*fan_out, source] for source in sources), default=0)
            to_end[*fan_out, last.index] = length
        elif any(workflow.task(source).scope == last.state for source in workflow.feeds):
            before = ends.get((*fan_out, last.index - 1), {})
            ends[*fan_out, last.index] = own = _ends_in_wave(workflow, tasks[frames], length - lengths[frames], before)
            length = max(own.values(), default=length)
        longest[fan_out] = max(longest.get(fan_out, 0), length)
    return 0


def _ends_in_wave(workflow: Workflow, tasks: Iterable[str], inside: int, before: Mapping[str, int]) -> dict[str, int]:
    """Return the number of Tasks in sequence up to the end of each of a branch's `tasks`.

    Args:
        workflow: the workflow.
        tasks: Tasks of the branch, in order.
        inside: Tasks in sequence in the fan-outs of the branch.
        before: the same numbers in the branch before.
    """
    ends: dict[str, int] = {}
    length = inside
    for name in tasks:
        length = ends[name] = max(length, before.get(workflow.task(name).after_previous or "", 0)) + 1
    return ends
