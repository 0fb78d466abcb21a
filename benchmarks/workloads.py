"""Workflows of the exact figures and the price estimates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from unum_compiler import compile_workflow
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import AT_ONCE, Guard, Json, Task
from unum_simulator.local import Function

SMALL = "x" * 100
"""Payload between a chain's Tasks; items and results of fan-outs are numbers."""


@dataclass(frozen=True)
class Workload:
    """A workflow, its functions and its input."""

    name: str
    workflow: Workflow
    functions: Mapping[str, Function]
    value: Json = SMALL
    by_reference: bool = False

    def guarded(self, guard: Guard) -> "Workload":
        """Return a copy with another guard in every Task."""
        states = self.workflow.states.items()
        guarded = {name: replace(state, guard=guard) if isinstance(state, Task) else state for name, state in states}
        return replace(self, workflow=replace(self.workflow, states=guarded))


def chain(length: int, payload: str = SMALL) -> Workload:
    """Return a chain of Tasks that pass their input on."""
    tasks = [f"Task{number}" for number in range(length)]
    states = {name: _task(following) for name, following in pairwise([*tasks, None]) if name is not None}
    return _workload(f"chain of {length}", states, dict.fromkeys(tasks, _identity), payload)


def in_one_function(workload: Workload) -> Workload:
    """Return a copy with all Tasks in one function, where fusion replaces invocations."""
    return replace(
        workload, name=f"{workload.name} in one function", workflow=_with_functions(workload.workflow, "work")
    )


def parallel(branches: int) -> Workload:
    """Return a Task, a Parallel with one Task per branch, and a Task that receives the results."""
    names = [f"Branch{number}" for number in range(branches)]
    states = {
        "Before": _task("All"),
        "All": {"Type": "Parallel", "Branches": [_machine({name: _task()}) for name in names], "Next": "After"},
        "After": _task(),
    }
    functions = {"Before": _identity, "After": _count} | dict.fromkeys(names, _identity)
    return _workload(f"parallel {branches}", states, functions)


def map_of(width: int, at_once: int = 0) -> Workload:
    """Return a Map between a Task that makes items and one that joins; `at_once` branches run in parallel (0: all)."""
    # A wider Map is paced by default, so that all branches at once have to be asked for.
    limit = {"MaxConcurrency": at_once} if at_once or width > AT_ONCE else {}
    name = f", {at_once:,} at once" if at_once else ""
    states = {"Make": _task("Each"), "Each": _map({"Work": _task()}, "Join") | limit, "Join": _task()}
    functions = {"Make": lambda _event, _context: _items(width), "Work": _identity, "Join": _count}
    return _workload(f"map of {width:,}{name}", states, functions)


def with_small_results(workload: Workload) -> Workload:
    """Return a copy that declares its branches' results small, as they are."""
    workflow = replace(workload.workflow, small_results=True)
    return replace(workload, name=f"{workload.name}, small results", workflow=workflow)


def nested(width: int) -> Workload:
    """Return Maps within a Map."""
    inner = {"Inner": _map({"Work": _task()}, None)}
    states = {"Make": _task("Outer"), "Outer": _map(inner, "Join"), "Join": _task()}
    functions = {"Make": lambda _event, _context: [_items(width)] * width, "Work": _identity, "Join": _count}
    return _workload(f"nested {width} x {width}", states, functions)


def loop(rounds: int) -> Workload:
    """Return a Task that repeats until it has counted to `rounds`."""
    again = {"Variable": "$.n", "NumericLessThan": rounds, "Next": "Work"}
    states = {
        "Work": _task("Enough?"),
        "Enough?": {"Type": "Choice", "Choices": [again], "Default": "Done"},
        "Done": {"Type": "Succeed"},
    }
    return _workload(f"loop of {rounds}", states, {"Work": lambda event, _: {"n": event["n"] + 1}}, {"n": 0})


def payload(kilobytes: int) -> Workload:
    """Return a chain of three Tasks with a text of `kilobytes`."""
    return replace(chain(3, "x" * (kilobytes * 1000)), name=f"chain of 3, {kilobytes} KB")


def by_reference(workload: Workload) -> Workload:
    """Return a copy with a bucket for large values."""
    return replace(workload, name=f"{workload.name}, by reference", by_reference=True)


def map_of_texts(width: int, kilobytes: int) -> Workload:
    """Return a Map of `width` Tasks with different texts of `kilobytes` each, and a Task that receives them all."""
    given = map_of(width)
    # Different texts: equal ones would share one object in the bucket.
    functions = {**given.functions, "Work": lambda number, _context: f"{number:04d}" * (kilobytes * 250)}
    return replace(given, name=f"map of {width}, {kilobytes} KB each", functions=functions)


def workloads() -> Iterator[Workload]:
    """Yield all counted workloads."""
    yield from map(chain, (5, 10, 50))
    yield parallel(3)
    yield from map(map_of, (10, 100, 500, 5_000))
    yield from (with_small_results(map_of(width)) for width in (100, 500))
    yield map_of(5_000, at_once=AT_ONCE)
    yield from (map_of(500, at_once=10), with_small_results(map_of(500, at_once=10)))
    yield nested(10)
    yield loop(20)
    yield in_one_function(chain(10))
    yield from map(payload, (0, 1, 10, 100, 350, 450, 900))
    yield from (by_reference(payload(kilobytes)) for kilobytes in (1, 10, 100, 450, 900, 5_000))
    yield by_reference(map_of_texts(50, 100))


def _workload(name: str, states: dict[str, Any], functions: Mapping[str, Function], value: Json = SMALL) -> Workload:
    # One function name compiles; `_with_functions` then separates the Tasks, so that no hop is fused.
    workflow = compile_workflow(_machine(states), name="benchmark", functions=None)
    return Workload(name, _with_functions(workflow), functions, value)


def _with_functions(workflow: Workflow, function: str | None = None) -> Workflow:
    """Return `workflow` with a separate function per Task, or with one `function`."""
    states = workflow.states.items()
    spread = {
        name: replace(state, function=function or name) if isinstance(state, Task) else state for name, state in states
    }
    return replace(workflow, states=spread)


def _machine(states: dict[str, Any]) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def _task(following: str | None = None) -> dict[str, Any]:
    return {"Type": "Task", "Resource": "work", **_transition(following)}


def _map(inside: dict[str, Any], following: str | None) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": _machine(inside), **_transition(following)}


def _transition(following: str | None) -> dict[str, Any]:
    return {"End": True} if following is None else {"Next": following}


def _items(width: int) -> list[int]:
    return list(range(width))


def _identity(event: Json, _context: object) -> Json:
    return event


def _count(event: Json, _context: object) -> Json:
    return len(event)
