"""The workflows whose operations are counted and whose price is estimated."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from unum_compiler import compile_workflow
from unum_runtime.model.ir import Guard, Json, Task, Workflow
from unum_runtime.simulator.local import Function

SMALL = "x" * 100
"""What the Tasks of a chain hand on; items and results of fan-outs are numbers."""


@dataclass(frozen=True)
class Workload:
    """A workflow, what its functions do, and what it is started with.

    Attributes:
        name: of the figure.
        workflow: with the default guard.
        functions: handlers by Task name.
        value: the execution's input.
        by_reference: whether it has a bucket for large values.
    """

    name: str
    workflow: Workflow
    functions: Mapping[str, Function]
    value: Json = SMALL
    by_reference: bool = False

    def guarded(self, guard: Guard) -> "Workload":
        """The same, with another guard in every Task."""
        states = self.workflow.states.items()
        guarded = {name: replace(state, guard=guard) if isinstance(state, Task) else state for name, state in states}
        return replace(self, workflow=replace(self.workflow, states=guarded))


def chain(length: int, payload: str = SMALL) -> Workload:
    """Tasks one after the other, each of which hands on what it got."""
    tasks = [f"Task{number}" for number in range(length)]
    states = {name: _task(following) for name, following in pairwise([*tasks, None]) if name is not None}
    return _workload(f"chain of {length}", states, dict.fromkeys(tasks, _hand_on), payload)


def in_one_function(workload: Workload) -> Workload:
    """The same, with all of its Tasks in one function, which goes on with them without invocations."""
    return replace(workload, name=f"{workload.name} in one function", workflow=_spread(workload.workflow, "work"))


def parallel(branches: int) -> Workload:
    """A Task, branches of one Task each, and a Task that gets what they come to."""
    names = [f"Branch{number}" for number in range(branches)]
    states = {
        "Before": _task("All"),
        "All": {"Type": "Parallel", "Branches": [_machine({name: _task()}) for name in names], "Next": "After"},
        "After": _task(),
    }
    functions = {"Before": _hand_on, "After": _count} | dict.fromkeys(names, _hand_on)
    return _workload(f"parallel {branches}", states, functions)


def map_of(width: int, at_once: int = 0) -> Workload:
    """A Task that makes items, a Task for each of them, `at_once` of these unless that is 0, and one that joins."""
    limit, name = ({"MaxConcurrency": at_once}, f", {at_once} at once") if at_once else ({}, "")
    states = {"Make": _task("Each"), "Each": _map({"Work": _task()}, "Join") | limit, "Join": _task()}
    functions = {"Make": lambda _event, _context: _items(width), "Work": _hand_on, "Join": _count}
    return _workload(f"map of {width:,}{name}", states, functions)


def with_small_results(workload: Workload) -> Workload:
    """The same, told that what its branches come to is small, as it is."""
    workflow = replace(workload.workflow, small_results=True)
    return replace(workload, name=f"{workload.name}, small results", workflow=workflow)


def nested(width: int) -> Workload:
    """Maps within a Map."""
    inner = {"Inner": _map({"Work": _task()}, None)}
    states = {"Make": _task("Outer"), "Outer": _map(inner, "Join"), "Join": _task()}
    functions = {"Make": lambda _event, _context: [_items(width)] * width, "Work": _hand_on, "Join": _count}
    return _workload(f"nested {width} x {width}", states, functions)


def loop(rounds: int) -> Workload:
    """A Task that is entered again until it has counted up to `rounds`."""
    again = {"Variable": "$.n", "NumericLessThan": rounds, "Next": "Work"}
    states = {
        "Work": _task("Enough?"),
        "Enough?": {"Type": "Choice", "Choices": [again], "Default": "Done"},
        "Done": {"Type": "Succeed"},
    }
    return _workload(f"loop of {rounds}", states, {"Work": lambda event, _: {"n": event["n"] + 1}}, {"n": 0})


def payload(kilobytes: int) -> Workload:
    """A chain of three that hands on a text."""
    return replace(chain(3, "x" * (kilobytes * 1000)), name=f"chain of 3, {kilobytes} KB")


def by_reference(workload: Workload) -> Workload:
    """The same, with a bucket for large values."""
    return replace(workload, name=f"{workload.name}, by reference", by_reference=True)


def gathered(width: int, kilobytes: int) -> Workload:
    """A Map of `width` whose Tasks come to `kilobytes` each, none to the same, and a Task that gets them all."""
    given = map_of(width)
    functions = {**given.functions, "Work": lambda number, _context: f"{number:04d}" * (kilobytes * 250)}
    return replace(given, name=f"map of {width}, {kilobytes} KB each", functions=functions)


def workloads() -> Iterator[Workload]:
    """All that are counted."""
    yield from map(chain, (5, 10, 50))
    yield parallel(3)
    yield from map(map_of, (10, 100, 500, 5_000))
    yield from (with_small_results(map_of(width)) for width in (100, 500))
    yield from (map_of(500, at_once=10), with_small_results(map_of(500, at_once=10)))
    yield nested(10)
    yield loop(20)
    yield in_one_function(chain(10))
    yield from map(payload, (0, 1, 10, 100, 350, 450, 900))
    yield from (by_reference(payload(kilobytes)) for kilobytes in (1, 10, 100, 450, 900, 5_000))
    yield by_reference(gathered(50, 100))


def _workload(name: str, states: dict[str, Any], functions: Mapping[str, Function], value: Json = SMALL) -> Workload:
    workflow = compile_workflow(_machine(states), name="benchmark", functions=None)
    return Workload(name, _spread(workflow), functions, value)


def _spread(workflow: Workflow, function: str | None = None) -> Workflow:
    """`workflow` with each Task in a function of its own, or all in `function`."""
    states = workflow.states.items()
    spread = {
        name: replace(state, function=function or name) if isinstance(state, Task) else state for name, state in states
    }
    return replace(workflow, states=spread)


def _machine(states: dict[str, Any]) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def _task(following: str | None = None) -> dict[str, Any]:
    return {"Type": "Task", "Resource": "work", **_leading_to(following)}


def _map(inside: dict[str, Any], following: str | None) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": _machine(inside), **_leading_to(following)}


def _leading_to(following: str | None) -> dict[str, Any]:
    return {"End": True} if following is None else {"Next": following}


def _items(width: int) -> list[int]:
    return list(range(width))


def _hand_on(event: Json, _context: object) -> Json:
    return event


def _count(event: Json, _context: object) -> Json:
    return len(event)
