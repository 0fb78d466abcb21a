"""Edges: functions that invoke others, and items that each may read or write."""

import json
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.unit.compiler.machines import FUNCTIONS, VALUE, machines, runnable
from unum_client.reading import stored_steps
from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.analysis.edges import (
    ENTRY,
    Operation,
    delayed_edges,
    function_edges,
    reachable,
    recursive_functions,
    routes,
    splitting_functions,
    store_operations,
    successors,
    timed_functions,
    uses_timer,
)
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing.task_resources import SERVICES
from unum_runtime.clock import SystemClock
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import MOST_BEGUN, Collection, Workflow
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.start import start
from unum_runtime.protocol.runtime import Call, NoTimer, Runtime
from unum_simulator.memory_store import MemoryStore

LOADED = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
MOST_EVENTS = 60
AT_ONCE = {"MaxConcurrency": 0}
"""All branches of a Map run at once, however many there are."""


def workflow(**states: dict[str, Any]) -> Workflow:
    return compiled({"StartAt": next(iter(states)), "States": states})


def compiled(machine: dict[str, Any]) -> Workflow:
    return compile_workflow(machine, name="w", functions=None)


def task(function: str, **fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": function, **({} if "Next" in fields else {"End": True}), **fields}


def scope(**states: dict[str, Any]) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def a_map(inner: dict[str, Any], **fields: Any) -> dict[str, Any]:
    end = {} if "Next" in fields else {"End": True}
    return {"Type": "Map", "ItemProcessor": inner, **end, **fields}


def parallel(*branches: dict[str, Any], **fields: Any) -> dict[str, Any]:
    end = {} if "Next" in fields else {"End": True}
    return {"Type": "Parallel", "Branches": list(branches), **end, **fields}


def choice(*targets: str) -> dict[str, Any]:
    rules = [{"Variable": "$", "IsNull": True, "Next": target} for target in targets[1:]]
    return {"Type": "Choice", "Choices": rules, "Default": targets[0]}


def test_pure_states_lead_on() -> None:
    flow = workflow(
        A=task("a", Next="P"),
        P={"Type": "Pass", "Next": "C"},
        C=choice("B", "A", "S"),
        B=task("b", Next="E"),
        E={"Type": "Fail"},
        S={"Type": "Succeed"},
    )
    assert successors(flow, "A") == ("A", "B")
    assert successors(flow, "B") == ()
    assert function_edges(flow) == {"a": ("a", "b"), "b": ()}


def test_a_map_may_be_empty() -> None:
    flow = workflow(A=task("a", Next="M"), M=a_map(scope(B=task("b")), Next="C", **AT_ONCE), C=task("c"))
    assert successors(flow, "A") == ("B", "C")
    assert successors(flow, "B") == ("C",)


def test_branch_of_a_map_without_a_limit_may_start_a_later_one() -> None:
    """More than 1,000 branches wait for each other, unless the definition lifts that."""
    flow = workflow(A=task("a", Next="M"), M=a_map(scope(B=task("b")), Next="C"), C=task("c"))
    assert successors(flow, "B") == ("C", "B")
    assert recursive_functions(flow) == ("b",)
    assert Operation.READ in store_operations(flow, "b")


def test_a_parallel_is_never_empty() -> None:
    flow = workflow(A=task("a", Next="M"), M=parallel(scope(B=task("b")), scope(D=task("d")), Next="C"), C=task("c"))
    assert successors(flow, "A") == ("B", "D")


def test_a_branch_without_task_ends_where_it_begins() -> None:
    pure = scope(P={"Type": "Pass", "End": True})
    flow = workflow(A=task("a", Next="M"), M=parallel(scope(B=task("b")), pure, Next="C"), C=task("c"))
    assert successors(flow, "A") == ("B", "C")


def test_a_pure_fan_out_is_passed_over() -> None:
    flow = workflow(M=a_map(scope(P={"Type": "Pass", "End": True}), Next="C"), C=task("c"))
    assert reachable(flow, "M") == ("C",)
    assert function_edges(flow) == {ENTRY: ("c",), "c": ()}


def test_a_lane_starts_its_next_branch() -> None:
    flow = workflow(M=a_map(scope(B=task("b", Next="C"), C=task("c")), MaxConcurrency=2))
    assert successors(flow, "C") == ("B",)
    assert recursive_functions(flow) == ("b", "c")


def test_the_end_of_nested_branches_leads_out_of_both() -> None:
    inner = a_map(scope(B=task("b")), **AT_ONCE)
    flow = workflow(M=a_map(scope(N=inner), Next="C", **AT_ONCE), C=task("c"))
    assert successors(flow, "B") == ("C",)


def test_loops_without_tasks_end() -> None:
    flow = workflow(P={"Type": "Pass", "Next": "C"}, C=choice("P", "S"), S={"Type": "Succeed"})
    assert function_edges(flow) == {ENTRY: ()}


def test_back_edges_are_carried() -> None:
    flow = workflow(A=task("a", Next="B"), B=task("b", Next="C"), C=choice("D", "A", "B"), D=task("d"))
    found = routes(flow)
    assert found.host == "a"
    assert found.forward == {"a": ("b",), "b": ("d",), "d": ()}
    assert found.carried == ("a",)  # b knows its own address
    assert recursive_functions(flow) == ("a", "b")


def test_store_operations_are_exact() -> None:
    flow = workflow(A=task("a", Next="M"), M=a_map(scope(B=task("b", Next="C"), C=task("c")), Next="D"), D=task("d"))
    create_read = {Operation.CREATE, Operation.READ}
    assert store_operations(flow, "a") == create_read
    assert store_operations(flow, "b") == create_read
    assert store_operations(flow, "c") == create_read | {Operation.ADD}
    assert store_operations(flow, "d") == create_read | {Operation.LIST}


def test_opener_of_a_wide_map_invokes_itself_and_reads_its_opening() -> None:
    flow = workflow(A=task("a", Next="M"), M=a_map(scope(B=task("b")), Next="C", **AT_ONCE), C=task("c"))
    assert splitting_functions(flow) == ("a",)
    tasks: dict[str, Any] = {name: flow.states[name] for name in "AB"}
    states = {**flow.states, **{name: replace(each, guard=Guard.COMMIT) for name, each in tasks.items()}}
    unguarded = replace(flow, states=states, start_at="C")
    assert store_operations(unguarded, "a") == {Operation.CREATE, Operation.READ}
    assert store_operations(unguarded, "b") == {Operation.CREATE, Operation.ADD}


def test_who_opens_no_more_than_it_begins_does_not_invoke_itself() -> None:
    flow = workflow(A=task("a", Next="M"), M=a_map(scope(B=task("b")), MaxConcurrency=MOST_BEGUN))
    assert splitting_functions(flow) == ()
    wider = workflow(A=task("a", Next="M"), M=a_map(scope(B=task("b")), MaxConcurrency=MOST_BEGUN + 1))
    assert splitting_functions(wider) == ("a",)


def test_maps_that_are_opened_together_are_wide_together() -> None:
    inner = a_map(scope(B=task("b")), MaxConcurrency=MOST_BEGUN)
    flow = workflow(A=task("a", Next="M"), M=a_map(scope(N=inner), MaxConcurrency=2))
    assert "a" in splitting_functions(flow)


def test_a_wide_map_that_is_retried_is_opened_by_whoever_fails() -> None:
    flow = workflow(M=a_map(scope(B=task("b")), Retry=[{"ErrorEquals": ["States.ALL"]}], **AT_ONCE))
    assert splitting_functions(flow) == (ENTRY, "b")


def test_who_completes_a_scope_joins_it_if_no_task_follows() -> None:
    flow = workflow(M=a_map(scope(B=task("b")), ResultPath="$.r"))
    assert store_operations(flow, ENTRY) == {Operation.CREATE, Operation.READ}
    assert store_operations(flow, "b") == set(Operation) - {Operation.COLLECT}
    assert store_operations(replace(flow, collection=Collection.EAGER), "b") == set(Operation)


def catching(target: str) -> dict[str, Any]:
    return {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": target}]}


RETRYING = {"Retry": [{"ErrorEquals": ["States.ALL"]}]}


def test_a_catcher_leads_from_whoever_fails() -> None:
    inner = parallel(scope(B=task("b", Next="C"), C=task("c")))
    flow = workflow(M=a_map(scope(N=inner), Next="D", **AT_ONCE, **catching("E")), D=task("d"), E=task("e"))
    assert successors(flow, "B") == ("C", "E")
    assert successors(flow, "C") == ("D", "E")
    assert successors(flow, "D") == ()
    assert set(function_edges(flow)[ENTRY]) == {"b", "d", "e"}


def test_a_catcher_of_a_task_is_its_own() -> None:
    flow = workflow(A=task("a", Next="B", **catching("C")), B=task("b"), C=task("c"))
    assert successors(flow, "A") == ("B", "C")
    assert successors(flow, "B") == ()


def test_a_scope_that_is_retried_begins_from_whoever_fails() -> None:
    flow = workflow(M=parallel(scope(B=task("b", Next="C"), C=task("c")), scope(D=task("d")), **RETRYING))
    assert successors(flow, "C") == ("B", "D")
    assert timed_functions(flow) == (ENTRY, "b", "c", "d")
    assert recursive_functions(flow) == (ENTRY, "b", "c", "d")


def test_what_follows_a_wait_follows_who_came_to_it() -> None:
    flow = workflow(A=task("a", Next="W"), W={"Type": "Wait", "Seconds": 1, "Next": "B"}, B=task("b"))
    assert successors(flow, "A") == ("B",)
    assert timed_functions(flow) == ("a",)
    assert delayed_edges(flow) == {"a": ("b",)}
    assert not uses_timer(workflow(A=task("a", Next="B"), B=task("b")))
    assert delayed_edges(workflow(A=task("a", Next="B"), B=task("b", **RETRYING))) == {}


@pytest.mark.parametrize("options", [FunctionOptions(guard=Guard.LEASE), FunctionOptions(memoize=True)])
def test_functions_that_may_find_a_held_lease_delay_events_to_themselves(options: FunctionOptions) -> None:
    machine = {"StartAt": "A", "States": {"A": task("a", Next="B"), "B": task("b")}}
    flow = compile_workflow(machine, name="w", functions=("a", "b"), options={"b": options})
    assert timed_functions(flow) == recursive_functions(flow) == ("b",)


def test_a_task_that_is_retried_needs_a_timer_and_no_edge() -> None:
    flow = workflow(A=task("a", **RETRYING))
    assert function_edges(flow) == {"a": ()}
    assert timed_functions(flow) == recursive_functions(flow) == ("a",)


def test_a_branch_that_may_fail_ends() -> None:
    distributed = {**scope(B=task("b", Next="C"), C=task("c")), "ProcessorConfig": {"Mode": "DISTRIBUTED"}}
    flow = workflow(M=a_map(distributed, Next="D", ToleratedFailureCount=1, **AT_ONCE), D=task("d"))
    assert successors(flow, "B") == ("C", "D")
    assert Operation.ADD in store_operations(flow, "b")


def test_who_fails_a_scope_that_recovers_reads_what_it_was_opened_with() -> None:
    unguarded = {name: FunctionOptions(guard=Guard.COMMIT) for name in ("b", "c")}
    inner = scope(B=task("b", Next="C"), C=task("c"))
    for recovery, operations in ((catching("D"), {Operation.CREATE, Operation.READ}), ({}, {Operation.CREATE})):
        definition = {**scope(M=a_map(inner, Next="D", **recovery), D=task("d"))}
        flow = compile_workflow(definition, name="w", functions=None, options=unguarded)
        assert store_operations(flow, "b") == operations


@pytest.mark.parametrize("guard", Guard)
def test_waiter_for_jobs_reads_their_records_and_lists_them_to_collect(guard: Guard) -> None:
    job = task("arn:aws:states:::ecs:runTask.sync", Parameters={"TaskDefinition": "t"})
    options = {SERVICES: FunctionOptions(guard=guard)}
    flow = compile_workflow(scope(A=task("a", Next="J"), J=job), name="w", functions=None, options=options)
    assert store_operations(flow, SERVICES) == {Operation.CREATE, Operation.READ}
    eager = replace(flow, collection=Collection.EAGER)
    assert store_operations(eager, SERVICES) == {Operation.CREATE, Operation.READ, Operation.LIST, Operation.COLLECT}


@given(machines(max_depth=3))
@LOADED
def test_routes_cover_every_edge_without_a_circle(machine: dict[str, Any]) -> None:
    flow = compiled(machine)
    found = routes(flow)
    environments = {function: environment(flow, function) for function in found.forward}
    tuple(TopologicalSorter(environments).static_order())  # raises CycleError
    for source, targets in function_edges(flow).items():
        assert set(targets) <= {source, *found.forward[source], *found.carried}


REGION = g.let(start=g.out) >> g.dag(
    {
        "a": g.task("a"),
        "b": g.task("b").after("a"),
        "c": (g.task("c") >> g.choose((g.out == 1, g.task("x")))).after("a"),
        "d": (g.wait(1) >> g.task("d")).after("b", "c"),
        "e": g.shape({"seen": g.out}).after("c"),
        "f": g.task("f", input={"at": g.var("start"), "of": g.out}).after("d", "e"),
    }
)


def test_a_node_invokes_the_nodes_that_it_feeds() -> None:
    assert function_edges(Definition.from_graph(REGION).compile("w", None)) == {
        ENTRY: ("a",),
        "a": ("b", "c"),
        "b": ("d",),
        "c": ("x", "d", "f"),
        "x": ("d", "f"),
        "d": ("f",),
        "f": (),
    }


def test_feeder_of_a_node_with_several_sources_records_it_and_reads_others() -> None:
    flow = Definition.from_graph(g.dag({"a": g.task("a"), "b": g.task("b"), "c": g.task("c").after("a", "b")}))
    compiled_flow = flow.compile("w", None, {name: FunctionOptions(guard=Guard.COMMIT) for name in "abc"})
    assert store_operations(compiled_flow, "a") == {Operation.CREATE, Operation.ADD, Operation.READ}
    assert store_operations(compiled_flow, "c") == {Operation.CREATE, Operation.LIST}
    chained = Definition.from_graph(g.dag({"a": g.task("a"), "b": g.task("b").after("a")}))
    alone = chained.compile("w", None, {name: FunctionOptions(guard=Guard.COMMIT) for name in "ab"})
    assert store_operations(alone, "a") == {Operation.CREATE}


@given(st.data())
@LOADED
def test_permissions_suffice_for_regions(data: st.DataObject) -> None:
    chosen = {name: data.draw(options) for name in "abcdfx"}
    deployment = Deployment(Definition.from_graph(REGION).compile("w", None, chosen), data)
    start(deployment.runtimes[deployment.host], "x", 1)
    while deployment.events:
        function, payload = deployment.events.popleft()
        with suppress(RefusedDelivery):
            step(deployment.runtimes[function], Envelope.from_json(json.loads(payload)))
    execution = stored_steps.start_record(deployment.store, "w", "x").name.execution
    assert stored_steps.ending(deployment.store, "w", execution) is not None


@given(machines(max_depth=3))
@LOADED
def test_edges_depend_on_the_ir_alone(machine: dict[str, Any]) -> None:
    flow = compiled(machine)
    again = Workflow.from_json(flow.to_json())
    assert set(function_edges(flow)) == set(function_edges(again))
    assert {function: store_operations(flow, function) for function in FUNCTIONS} == {
        function: store_operations(again, function) for function in FUNCTIONS
    }


def environment(flow: Workflow, function: str) -> tuple[str, ...]:
    """The functions whose addresses `function` has in its environment."""
    found = routes(flow)
    carried = (other for other in found.carried if other != function) if function == found.host else ()
    return (*found.forward[function], *carried)


@dataclass(frozen=True)
class Guarded:
    """A store that refuses what a function has no permission for."""

    store: MemoryStore
    allowed: frozenset[Operation]

    def create(self, key: Key, item: Any, *, expires_at_s: int) -> Any:
        assert Operation.CREATE in self.allowed
        return self.store.create(key, item, expires_at_s=expires_at_s)

    def read(self, keys: Iterable[Key]) -> Any:
        assert Operation.READ in self.allowed
        return self.store.read(keys)

    def query(self, partition: str, *, newest: int | None = None) -> Any:
        assert Operation.LIST in self.allowed
        return self.store.query(partition, newest=newest)

    def add(self, key: Key, member: int, *, expires_at_s: int) -> Any:
        assert Operation.ADD in self.allowed
        return self.store.add(key, member, expires_at_s=expires_at_s)

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        assert Operation.CREATE in self.allowed
        return self.store.acquire(key, owner, expires_at_ms=expires_at_ms)

    def release(self, key: Key, owner: str) -> None:
        assert Operation.CREATE in self.allowed
        self.store.release(key, owner)


class Deployment:
    """A workflow's functions, each with its own environment and permissions, and the events between them."""

    def __init__(self, flow: Workflow, numbers: st.DataObject) -> None:
        self.events: deque[tuple[str, bytes]] = deque()
        self._numbers = numbers
        self.store = MemoryStore()
        self.host = routes(flow).host
        self.runtimes = {function: self._runtime(flow, function, self.store) for function in function_edges(flow)}

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        self.events.extend(events)

    def _runtime(self, flow: Workflow, function: str, store: MemoryStore) -> Runtime:
        carried = routes(flow).carried if function == self.host else ()
        return Runtime(
            workflow=flow,
            store=Guarded(store, store_operations(flow, function)),  # type: ignore[arg-type]  # a wrapper
            invoker=self,
            clock=SystemClock(),
            call=self._call,
            hosts=frozenset((function,)),
            routes={other: other for other in (*environment(flow, function), function)},
            carried=carried,
            timer=self if function in timed_functions(flow) else NoTimer(),
            own_address=function,
            most_begun=2 if function in splitting_functions(flow) else MOST_BEGUN,
        )

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        self.events.extend((address, payload) for address, payload, _due_ms in events)

    def _call(self, _call: Call, _value: Any) -> Any:
        if not self._numbers.draw(st.integers(0, 4)):
            raise ValueError("now and then user code fails")
        return {**VALUE, "n": self._numbers.draw(st.integers(0, 3)), "items": self._numbers.draw(items)}


items = st.lists(st.just(0), max_size=3)
options = st.builds(FunctionOptions, guard=st.sampled_from(Guard), memoize=st.booleans())


@given(runnable(), st.data())
@LOADED
def test_routes_and_permissions_suffice_for_the_runtime(machine: dict[str, Any], data: st.DataObject) -> None:
    chosen = data.draw(st.dictionaries(st.sampled_from(FUNCTIONS), options))
    flow = compile_workflow(machine, name="w", functions=None, options=chosen)
    deployment = Deployment(flow, data)
    start(deployment.runtimes[deployment.host], "x", {"n": data.draw(st.integers(0, 3)), "items": data.draw(items)})
    delivered = 0
    while deployment.events and delivered < MOST_EVENTS:
        function, payload = deployment.events.popleft()
        with suppress(RefusedDelivery):  # of a branch beside one that has failed
            step(deployment.runtimes[function], Envelope.from_json(json.loads(payload)))
        delivered += 1
    execution = stored_steps.start_record(deployment.store, "w", "x").name.execution
    assert deployment.events or stored_steps.ending(deployment.store, "w", execution) is not None
    event(f"events delivered: about {delivered // 5 * 5}")
