"""How the functions of a workflow come to know each other's versions, without a circle of references."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from unum_compiler.analysis.edges import (
    ENTRY,
    Operation,
    function_edges,
    reachable,
    routes,
    store_operations,
    timed_functions,
)
from unum_compiler.services.started_workflows import starts_itself
from unum_constructs.hosting.host import Host
from unum_runtime.model.envelope import START
from unum_runtime.model.ir import Task, Wait, Workflow

Targets: TypeAlias = Mapping[str, tuple[str, ...]]
"""For every function of a workflow, by key, some others."""


@dataclass(frozen=True)
class Wiring:
    """Who invokes whom, and how they find each other.

    Attributes:
        start: the function that executions start in; may be `ENTRY`.
        edges: for every function, and `ENTRY` if there is one, those that it can invoke.
        references: for every function, those whose versions its environment names.
        carried: functions whose versions travel in the envelopes; and `START`, where the workflow starts itself.
    """

    start: str
    edges: Targets
    references: Targets
    carried: tuple[str, ...]


def one_key_each(workflow: Workflow, hosts: Mapping[str, Host]) -> Workflow:
    """`workflow` with one key for each function, the first of those that it was passed under.

    Otherwise a function would refer to its own version where it follows itself under another key.
    """
    first = {host: key for key, host in reversed(list(hosts.items()))}
    states = {
        name: replace(state, function=first[hosts[state.function]]) if isinstance(state, Task) else state
        for name, state in workflow.states.items()
    }
    return replace(workflow, states=states)


def wire(workflow: Workflow, hosts: Mapping[str, Host], *, stack: str) -> Wiring:
    """The wiring of `workflow`; notes on the hosts which references it makes.

    Within one workflow `routes` avoids circles. Where functions take part in several, one workflow's references may
    lead back along another's: then a version travels in the envelopes as well, and where even the first function is
    led back to, the workflow gets an entry function. Where functions are in several stacks, only those in the
    workflow's own can refer to others; the first has to be one of them.

    Args:
        workflow: with one key for each function.
        hosts: by key; without `ENTRY`.
        stack: path of the workflow's stack.
    """
    planned = routes(workflow)
    edges = dict(function_edges(workflow))
    start = planned.host
    if start != ENTRY and (
        hosts[start].stack != stack or any(hosts[key].reaches(hosts[start]) for key in edges if key != start)
    ):
        edges[ENTRY], start = (start,), ENTRY
    forward = {key: _referred(hosts, key, planned.forward[key], stack) for key in planned.forward if key != ENTRY}
    left_out = (target for key in forward for target in planned.forward[key] if target not in forward[key])
    carried = _unique((*planned.carried, *left_out))
    named = edges[start] if start == ENTRY else forward[start]
    references = {**forward, start: _unique(key for key in (*named, *carried) if key != start)}
    if any(map(starts_itself, workflow.tasks)):
        carried = (*carried, START)
    if start != ENTRY:
        hosts[start].references.update(hosts[key] for key in references[start])
    return Wiring(start, edges, references, carried)


def operations(workflow: Workflow, wiring: Wiring, key: str) -> frozenset[Operation]:
    """What the function `key`, which may be `ENTRY`, does in the table."""
    own = store_operations(workflow, key)
    # Of start records, also at an entry that was added; and of the end of an execution that somebody waits for.
    return own | {Operation.READ, Operation.LIST} if key == wiring.start else own


def timer_targets(workflow: Workflow) -> tuple[str, ...]:
    """The functions that events for a later time may be for.

    They are those that send such events, to themselves, and those of Tasks that may come after a Wait.
    """
    waits = [state for state in workflow.states.values() if isinstance(state, Wait)]
    behind = (task for wait in waits if wait.next for task in reachable(workflow, wait.next))
    return _unique((*timed_functions(workflow), *(workflow.task(task).function for task in behind)))


def _referred(hosts: Mapping[str, Host], key: str, targets: Iterable[str], stack: str) -> tuple[str, ...]:
    """Those of `targets` that the function `key` can refer to, and from now on does."""
    possible = []
    for target in targets:
        if hosts[key].stack in (stack, hosts[target].stack) and not hosts[target].reaches(hosts[key]):
            hosts[key].references.add(hosts[target])
            possible.append(target)
    return tuple(possible)


def _unique(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(keys))
