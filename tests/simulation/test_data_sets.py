"""Maps whose items are read and whose results are written by Tasks of their own, under faults."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulation.definitions import Graph, machine, map_, task
from tests.simulation.executions import stamped
from tests.simulation.recovery_scenarios import Flaky, catch, retry
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery import run_task
from unum_runtime.protocol.planning import dataset_variables
from unum_simulator import Context, Faults, Invariant, Scenario, Violation, explore, search

READER = {"Resource": "arn:aws:states:::s3:getObject", "ReaderConfig": {"InputType": "JSON"},
          "Parameters": {"Bucket": "b", "Key": "k"}}  # fmt: skip
WRITER = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b", "Prefix": "p"}}
CRASH = Faults(crashes=1, duplicates=0)
DUPLICATE = Faults(crashes=0, duplicates=1)
WIDE = Faults(crashes=2, duplicates=2, throttles=2, stops=1, redrives=1, splits=1, give_ups=1, concurrency=3)


def read(_event: Json, _context: Context) -> Json:
    return [{"n": 1}, {"n": 2}]


def fails_once(event: Json, context: Context) -> Json:
    if context.unum.attempt == 0:
        raise Flaky("not yet")
    return read(event, context)


def fails(_event: Json, _context: Context) -> Json:
    raise Flaky("never")


def written(event: Json, _context: Context) -> Json:
    return {"written": event["Results"]}


def over(reader: Any, writer: Any = written, **fields: Json) -> Graph:
    """A Map over a data set, between variables that it must not touch."""
    start = {"Type": "Pass", "Assign": {"kept": 1}, "Next": "M"}
    mapped = map_(machine(A=task("a")), "B", ItemReader=READER, ResultWriter=WRITER, **fields)
    after = task("b", Parameters={"kept.$": "$kept", "in.$": "$"})
    return Graph(
        machine(S=start, M=mapped, B=after),
        {"a": stamped, "b": stamped, "M (ItemReader)": reader, "M (ResultWriter)": writer},
    )


GRAPHS = {
    "read and written": over(read),
    "read again": over(fails_once, Retry=retry("Flaky")),
    "not read": over(fails, Catch=catch("B", Assign={"why.$": "$.Error"})),
    "not written": over(read, fails, Catch=catch("B")),
}


def of(graph: str, faults: Faults, **fields: Any) -> Scenario:
    found = GRAPHS[graph]
    return Scenario(workflow=found.workflow(), functions=found.functions, input=found.input, faults=faults, **fields)


@pytest.mark.parametrize("graph", ["read again", "not written"])
@pytest.mark.parametrize("faults", [CRASH, DUPLICATE], ids=["crash", "duplicate"])
def test_every_way(graph: str, faults: Faults) -> None:
    assert explore(of(graph, faults), max_states=500).ends


@pytest.mark.parametrize("graph", GRAPHS)
def test_by_chance(graph: str) -> None:
    assert search(of(graph, WIDE, tick_ms=1), range(10)).ends == 10


def forgets_variables(patch: pytest.MonkeyPatch) -> None:
    """Reading items loses the variables of the execution."""
    keep_items = dataset_variables.keep_items

    def kept(task: Any, raw: Json, items: Json, evaluation: Any) -> Any:
        found = keep_items(task, raw, items, evaluation)
        return None if found is None else type(found)(found.value, {dataset_variables._ITEMS: items})

    patch.setattr(dataset_variables, "keep_items", kept)


def writes_too_few(patch: pytest.MonkeyPatch) -> None:
    """The writing Task does not see all results."""
    event_of = run_task.event_of

    def cut(task: Any, value: Json) -> Json:
        found = event_of(task, value)
        return {**found, "Results": found["Results"][:1]} if "Results" in found else found

    patch.setattr(run_task, "event_of", cut)


@pytest.mark.parametrize(
    ("mistake", "breaks"),
    [(forgets_variables, {Invariant.CONSISTENT}), (writes_too_few, {Invariant.SAME_VIEW})],
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], None], breaks: set[Invariant], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        explore(of("read and written", CRASH))
    assert found.value.invariant in breaks
