"""Acyclic references between workflow functions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from unum_compiler.analysis.edges import (
    ENTRY,
    Operation,
    function_edges,
    routes,
    store_operations,
)
from unum_compiler.services.started_workflows import starts_itself
from unum_constructs.hosting.host import Host
from unum_runtime.model.envelope import START
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Task

Targets: TypeAlias = Mapping[str, tuple[str, ...]]
"""Other functions by key, for every function of a workflow."""


@dataclass(frozen=True)
class Wiring:
    """Invocations and references between functions.

    Attributes:
        start: key of the function that executions start in, or `ENTRY`.
        edges: functions that each function invokes, by key.
        references: functions whose versions a function's environment names, by key.
        carried: functions whose versions travel in envelopes; and `START`, if the workflow starts itself.
        kept: functions without a Task, which stay for executions of earlier definitions.
    """

    start: str
    edges: Targets
    references: Targets
    carried: tuple[str, ...]
    kept: frozenset[str] = frozenset()

    def with_kept(self, keys: Iterable[str]) -> "Wiring":
        """Add functions without a Task: they invoke nothing, and hand over what follows in earlier definitions."""
        kept = frozenset(keys) - self.edges.keys()
        none: Targets = dict.fromkeys(sorted(kept), ())
        return replace(self, edges={**self.edges, **none}, references={**self.references, **none}, kept=kept)


def with_one_key_each(workflow: Workflow, hosts: Mapping[str, Host]) -> Workflow:
    """Name each function by its first key in all Tasks.

    Under a second key, a function that follows itself would refer to its own version, which depends on its environment.
    """
    first = {host: key for key, host in reversed(list(hosts.items()))}
    states = {
        name: replace(state, function=first[hosts[state.function]]) if isinstance(state, Task) else state
        for name, state in workflow.states.items()
    }
    return replace(workflow, states=states)


def wire(workflow: Workflow, hosts: Mapping[str, Host], *, stack: str) -> Wiring:
    """Plan the wiring of `workflow`, and record the references on the hosts.

    `routes` avoids circles within one workflow. Functions of several workflows can close a circle by the references of
    another workflow; such a version travels in envelopes instead. If a circle leads to the first function, the workflow
    gets an entry function. Only functions of the workflow's own stack can refer to other stacks, so the first function
    has to be one of them.

    Args:
        workflow: workflow with one key for each function.
        hosts: functions by key, without `ENTRY`.
        stack: path of the workflow's stack.
    """
    planned = routes(workflow)
    edges = dict(function_edges(workflow))
    start = planned.host
    if start != ENTRY and (
        hosts[start].stack != stack or any(hosts[key].reaches(hosts[start]) for key in edges if key != start)
    ):
        # Nothing refers to the entry, so it can refer to all functions without a circle.
        edges[ENTRY], start = (start,), ENTRY
    forward = {key: _add_references(hosts, key, planned.forward[key], stack) for key in planned.forward if key != ENTRY}
    # A reference that would close a circle of functions travels as data in the envelope.
    left_out = (target for key in forward for target in planned.forward[key] if target not in forward[key])
    carried = _unique((*planned.carried, *left_out))
    named = edges[start] if start == ENTRY else forward[start]
    references = {**forward, start: _unique(key for key in (*named, *carried) if key != start)}
    if any(map(starts_itself, workflow.tasks)):
        # The start alias depends on every policy, so no environment may refer to it.
        carried = (*carried, START)
    if start != ENTRY:
        # Recorded for later workflows of the same functions, which must not close a circle either.
        hosts[start].references.update(hosts[key] for key in references[start])
    return Wiring(start, edges, references, carried)


def operations(workflow: Workflow, wiring: Wiring, key: str) -> frozenset[Operation]:
    """Return the table operations of the function `key`, which may be `ENTRY`."""
    if key in wiring.kept:  # the Tasks of earlier definitions may need any
        return frozenset(Operation)
    own = store_operations(workflow, key)
    # The starting function reads start records, even if no Task runs there, and results that callers wait for.
    return own | {Operation.READ, Operation.LIST} if key == wiring.start else own


def _add_references(hosts: Mapping[str, Host], key: str, targets: Iterable[str], stack: str) -> tuple[str, ...]:
    """Record references from the function `key` to `targets`, except circular ones; return them."""
    # Order matters: an earlier reference can exclude a later one, and outputs must not depend on chance.
    possible = []
    for target in targets:
        if hosts[key].stack in (stack, hosts[target].stack) and not hosts[target].reaches(hosts[key]):
            hosts[key].references.add(hosts[target])
            possible.append(target)
    return tuple(possible)


def _unique(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(keys))
