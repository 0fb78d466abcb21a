"""Metrics that CloudWatch reads from log lines of the real protocol."""

import json
import random
from collections import Counter
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_client.reading import stored_steps
from unum_compiler.options import FunctionOptions
from unum_runtime.aws.embedded_metrics import THROTTLED, EmbeddedMetrics
from unum_runtime.model.checkpoint import Failure, Status, start_record
from unum_runtime.model.envelope import EVENT_LIFE_S
from unum_runtime.model.metrics import Metrics, dimension
from unum_runtime.model.naming import Execution, start_key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.delivery.start import resume

CAUGHT = {"Catch": [{"ErrorEquals": ["ZeroDivisionError"], "Next": "C"}]}
RETRIED = {"Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}]}
OF_A_MAP = {
    "StartAt": "M",
    "States": {
        "M": {"Type": "Map", "ItemProcessor": chain("A", "B"), "Next": "C"},
        "C": {"Type": "Task", "Resource": "C", "Next": "D"},
        "D": {"Type": "Task", "Resource": "D", "End": True},
    },
}

Count = Counter[tuple[str, ...]]


def lines(platform: Platform, extent: Metrics = Metrics.NODES) -> list[dict[str, Any]]:
    """The log lines that count something, as CloudWatch gets them."""
    metrics = EmbeddedMetrics(platform.workflow, extent, platform.clock)
    written = (
        {"message": message, **fields, **metrics.members(message, fields)} for message, fields in platform.logged
    )
    return [json.loads(json.dumps(line)) for line in written if "_aws" in line]


def read(line: dict[str, Any]) -> dict[tuple[str, ...], float]:
    """Return CloudWatch's values of a line by metric and dimensions; assert the format's rules."""
    about = line["_aws"]
    assert about.keys() == {"Timestamp", "CloudWatchMetrics"}
    assert isinstance(about["Timestamp"], int)
    values = {}
    for directive in about["CloudWatchMetrics"]:
        assert directive.keys() == {"Namespace", "Dimensions", "Metrics"}
        assert 1 <= len(directive["Namespace"]) <= 1024
        assert 1 <= len(directive["Metrics"]) <= 100
        for dimensions in directive["Dimensions"]:
            assert len(dimensions) <= 30
            of = tuple(line[each] for each in dimensions)  # each has to be a member of the line itself
            assert all(isinstance(each, str) and 1 <= len(each) <= 1024 and each.isascii() for each in of)
            for metric in directive["Metrics"]:
                assert metric.keys() <= {"Name", "Unit", "StorageResolution"}
                assert metric["Unit"] in ("Count", "Milliseconds")
                value = line[metric["Name"]]
                assert isinstance(value, int | float)
                assert not isinstance(value, bool)
                values[metric["Name"], *of] = value
    return values


def counted(platform: Platform, extent: Metrics = Metrics.NODES) -> Count:
    """Count the values of each metric, by name and dimensions."""
    return Counter(each for line in lines(platform, extent) for each in read(line))


def platform_of(definition: dict[str, Any], guard: Guard = Guard.READ, **functions: Any) -> Platform:
    return Platform.of(definition, {key: FunctionOptions(guard=guard) for key in functions}, **functions)


def echo(event: Any) -> Any:
    return event


def inverse(event: Any) -> Any:
    return 1 / event


def deliver_thrice(platform: Platform, seed: int, value: Any) -> None:
    """Every event, that of the start included, comes three times, in any order."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    waiting: list[Any] = []
    for _ in range(3):
        platform.start(value=value)
    while platform.sent or waiting:
        waiting += [event for event in platform.sent for _ in range(3)]
        platform.sent.clear()
        platform.clock.pass_seconds(0.01)
        platform.deliver(waiting.pop(chance.randrange(len(waiting))))


@pytest.mark.parametrize("guard", Guard)
@pytest.mark.parametrize("seed", range(3))
def test_everything_counts_once_however_often_events_come(guard: Guard, seed: int) -> None:
    platform = platform_of(OF_A_MAP, guard, A=echo, B=echo, C=echo, D=echo)
    deliver_thrice(platform, seed, [1, 2])
    assert (max(platform.calls.values()) > 2) is (guard is Guard.COMMIT)
    nodes = {("NodeTime", "w", node): count for node, count in {"A": 2, "B": 2, "C": 1, "D": 1}.items()}
    ends = {(name, "w"): 1 for name in ("ExecutionsStarted", "ExecutionsSucceeded", "ExecutionTime")}
    assert counted(platform) == Counter({**nodes, **ends})  # type: ignore[misc]  # by name


def test_an_execution_takes_as_long_as_from_its_start_to_its_last_commit() -> None:
    platform = platform_of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    platform.clock.pass_seconds(2.5)
    platform.deliver_all()
    (ended,) = (read(line) for line in lines(platform) if "ExecutionTime" in line)
    assert ended["ExecutionTime", "w"] == 2500


@pytest.mark.parametrize(("fields", "failed"), [({}, 1), ({"A": CAUGHT}, 0)])
def test_a_failure_counts_for_its_task_whether_it_is_caught_or_not(fields: dict[str, Any], failed: int) -> None:
    platform = platform_of(chain("A", "C", **fields), A=inverse, C=echo)
    platform.run(value=0)
    count = counted(platform)
    assert count["NodeErrors", "w", "A"] == 1
    assert (count["ExecutionsFailed", "w"], count["ExecutionsSucceeded", "w"]) == (failed, 1 - failed)


def test_tries_count_apart_from_outcomes() -> None:
    platform = platform_of(chain("A", A=RETRIED), A=inverse)
    platform.options["timer"] = _Soon(platform)
    platform.run(value=0)
    assert counted(platform)["NodeRetries", "w", "A"] == 2
    assert counted(platform)["NodeErrors", "w", "A"] == counted(platform)["NodeTime", "w", "A"] == 1


class _Soon:
    """A timer that does not wait."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def schedule(self, events: Any) -> None:
        self._platform.invoke([(address, payload) for address, payload, _ in events])


def test_an_execution_that_is_out_of_time_counts_as_that() -> None:
    platform = platform_of(chain("A", "B") | {"TimeoutSeconds": 5}, A=echo, B=echo)
    platform.start()
    platform.clock.pass_seconds(6)
    platform.deliver_all()
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.TIMED_OUT
    assert (counted(platform)["ExecutionsTimedOut", "w"], counted(platform)["ExecutionsFailed", "w"]) == (1, 0)


def test_a_start_that_a_client_recorded_counts_when_it_is_delivered() -> None:
    platform = platform_of(chain("A"), A=echo)
    record = start_record(Execution("e", platform.clock.now_ms()), None)
    expires_at_s = platform.clock.now_ms() // 1000 + EVENT_LIFE_S
    platform.memory.create(start_key("w", "e"), record.to_item(), expires_at_s=expires_at_s)
    resume(platform.runtime(), "e")
    assert counted(platform)["ExecutionsStarted", "w"] == 1


def test_an_execution_that_was_stopped_counts_when_a_delivery_finds_out() -> None:
    platform = platform_of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    record = stored_steps.start_record(platform.memory, "w", "e")
    stop(platform.runtime(), record.name.execution, Failure("Enough", None))
    assert counted(platform)["ExecutionsAborted", "w"] == 0
    platform.deliver_all()
    count = counted(platform)
    assert (count["ExecutionsAborted", "w"], count["ExecutionsSucceeded", "w"]) == (1, 0)


@pytest.mark.parametrize(
    ("message", "fields", "metric"),
    [
        ("put off", {"error": "StoreError"}, "Throttles"),
        ("given up", {"error": THROTTLED}, "Throttles"),
        ("silent", {"execution": "e", "count": 1}, "ExecutionsSilent"),
        ("late", {"execution": "e", "late_s": 1}, "LateEvents"),
        ("abandoned", {"execution": "e"}, "ExecutionsAbandoned"),
        ("dead letter", {"execution": "e"}, "DeadLetters"),
        ("letter retried", {"execution": "e"}, "LettersRetried"),
        ("malformed", {"partition": "p", "sort": "s", "place": "x"}, "MalformedEntries"),
        ("refused message", {"sender": "s", "reason": "r"}, "RefusedMessages"),
    ],
)
def test_what_else_is_counted(message: str, fields: dict[str, Any], metric: str) -> None:
    platform = platform_of(chain("A"), A=echo)
    platform.logged.append((message, fields))
    assert counted(platform, Metrics.WORKFLOW) == {(metric, "w"): 1}


def test_a_sweep_tells_how_long_the_oldest_execution_has_run() -> None:
    platform = platform_of(chain("A"), A=echo)
    platform.logged.append(("oldest running", {"execution": "e", "age_ms": 7}))
    (line,) = lines(platform, Metrics.WORKFLOW)
    assert line["OldestRunningTime"] == 7
    assert counted(platform, Metrics.WORKFLOW) == {("OldestRunningTime", "w"): 1}


def test_what_is_no_event_of_an_execution_counts_nothing() -> None:
    platform = platform_of(chain("A"), A=echo)
    platform.logged += [
        ("given up", {"error": "Sandbox.Timedout"}),
        ("finished", {"execution": "e", "status": "SUCCEEDED"}),
        ("adopted", {"state": "A", "duration_ms": 1, "ended": "SUCCEEDED", "took_ms": 1}),
        ("refused", {"reason": "late"}),
    ]
    assert not lines(platform)


def test_how_much_is_counted_is_chosen() -> None:
    platform = platform_of(chain("A"), A=echo)
    platform.run()
    of_executions = {("ExecutionsStarted", "w"): 1, ("ExecutionsSucceeded", "w"): 1, ("ExecutionTime", "w"): 1}
    assert counted(platform, Metrics.WORKFLOW) == of_executions
    assert counted(platform, Metrics.NODES) == of_executions | {("NodeTime", "w", "A"): 1}
    assert counted(platform, Metrics.NONE) == {}


@pytest.mark.parametrize("name", ["Prüfen", ":colon", "  ", "a\tb", "zero\u200bwidth", "雪"])
def test_names_of_tasks_that_no_dimension_can_have_are_written_otherwise(name: str) -> None:
    platform = platform_of(chain(name), **{name: echo})  # type: ignore[arg-type]  # by name
    platform.run()
    (node,) = {key[2] for key in counted(platform) if len(key) == 3}
    assert node == dimension(name)
    assert node.isascii()
    assert node.isprintable()
    assert node.strip()
    assert not node.startswith(":")
