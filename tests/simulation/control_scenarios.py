"""Workflows that fail until they are redriven, and mistakes in what people do to executions."""

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.definitions import Graph, machine, map_, pass_, task, varying
from unum_compiler.options import FunctionOptions
from unum_runtime.model.states import Guard, Json
from unum_runtime.protocol.control import nudge
from unum_runtime.protocol.control.redrives import redrive
from unum_runtime.protocol.history import pending
from unum_runtime.protocol.planning.plan import branch
from unum_simulator.scenario import Context

FIRST_ROUND = 3
"""The steps up to this are made before an execution is redriven."""


COUNTED = {"item.$": "$", "count.$": "$$.Execution.RedriveCount", "execution.$": "$$.Execution"}


def mended(event: Json, context: Context) -> Json:
    """Fails in the first round, in fan-outs only for the item 1."""
    place = re.search(r"[@#](\d+)", context.unum.invocation)
    assert place is not None
    if int(place[1]) <= FIRST_ROUND and event in (1, _A):
        raise RuntimeError("not yet")
    return varying(event, context)


_A = {"by": "A", "run": 0, "saw": 1}


def _items(_event: Json, _context: Context) -> Json:
    return [0, 1]


def _mapped(branch: Json, functions: str, **fields: Any) -> Graph:
    definition = machine(A=task("a", "M"), M=map_(branch, "C", **fields), C=task("c"))
    return Graph(definition, {"a": _items, **dict.fromkeys(functions, varying), "f": mended})


def _same(event: Json, _context: Context) -> Json:
    return event


def _counted(event: Json, context: Context) -> Json:
    reply = {"count": event["count"], "at": event["execution"].get("RedriveTime")}
    return {**mended(event["item"], context), **reply}


def _unready(event: Json, context: Context) -> Json:
    if not re.search(r"@[4-9]|#[4-9]", context.unum.invocation):
        raise RuntimeError("not yet")
    return varying(event, context)


FAILING = {
    "task": Graph(machine(A=task("a", "F"), F=task("f", "C"), C=task("c")), {"a": _same, "c": varying, "f": mended}),
    "branch": _mapped(machine(F=task("f")), "c"),
    "second step of a branch": replace(
        _mapped(machine(B=task("b", "F"), F=task("f")), "c"),
        functions={"a": _items, "b": _same, "f": mended, "c": varying},
    ),
    "one branch after the other": _mapped(machine(F=task("f")), "c", MaxConcurrency=1),
    "branch of a retried map": _mapped(
        machine(F=task("f")), "c", Retry=[{"ErrorEquals": ["States.ALL"], "MaxAttempts": 1}]
    ),
    "join": Graph(
        machine(A=task("a", "M"), M=map_(machine(B=task("b")), "F"), F=task("f")),
        {"a": _items, "b": _same, "f": _unready},
    ),
    "branch that is told the count": replace(
        _mapped(machine(B=task("b", "F"), F=task("f", Parameters=COUNTED)), "c", ResultSelector=COUNTED),
        functions={"a": _items, "b": _same, "f": _counted, "c": varying},
    ),
    "inner branch": Graph(
        machine(A=task("a", "M"), M=map_(machine(N=map_(machine(F=task("f")))), "C"), C=task("c")),
        {"a": lambda _event, _context: [[0, 1]], "f": mended, "c": varying},
    ),
}
"""Executions of them fail until they are redriven."""

UNGUARDED = Graph(
    machine(A=task("a", "M"), M=map_(machine(B=task("b")), "C"), C=task("c")),
    {"a": _items, "b": varying, "c": varying},
    options={"b": FunctionOptions(guard=Guard.COMMIT)},
)


IN_PLACE = Graph(
    machine(
        A=task("a", "M"),
        M=map_(machine(P=pass_()), "C", Assign={"all.$": "$"}, Retry=[{"ErrorEquals": ["Any"]}]),
        C=task("c"),
    ),
    {"a": _items, "c": varying},
)
"""What redrives it commits the fan-out's results before it sends an event."""


def carries_after_the_commit(patch: pytest.MonkeyPatch) -> None:
    """Carry successes over after the execution runs again."""
    kept: list[Any] = []
    committing, carrying = redrive.commit_step, redrive.carry

    def commit_first(rt: Any, checkpoint: Any, listed: Any) -> Any:
        found = committing(rt, checkpoint, listed)
        for each in kept:
            if each[0] is rt:  # others are of runs that were stopped before they came so far
                carrying(*each)
        return found

    patch.setattr(redrive, "carry", lambda *what: kept.append(what))
    patch.setattr(redrive, "commit_step", commit_first)


def carries_nothing(patch: pytest.MonkeyPatch) -> None:
    """A fan-out begins anew from nothing."""
    patch.setattr(redrive, "carry", lambda *_: None)


def redrives_once(patch: pytest.MonkeyPatch) -> None:
    """A redrive that has come further than its first step is not gone on with."""
    under_way = redrive.under_way
    patch.setattr(redrive, "under_way", lambda steps: under_way(steps[-2:]))


def redrives_at_once(patch: pytest.MonkeyPatch) -> None:
    """Enter a stopped Wait again without the rest of its time."""
    patch.setattr(redrive, "_waiting", redrive.entered)


def nudges_what_has_committed(patch: pytest.MonkeyPatch) -> None:
    """All branches of a fan-out are sent once more."""

    def all_again(self: Any, index: int, last: Any) -> Any:
        yield from begun(self, index, last)
        yield pending.missing_after(self.rt, branch(self.opened.opening, index), 0)

    begun = pending._Survey._after
    patch.setattr(pending._Survey, "_after", all_again)


def nudges_without_counting(patch: pytest.MonkeyPatch) -> None:
    """Branches that have ended are not counted once more."""
    patch.setattr(nudge, "_is_complete", lambda *_: False)
