"""The aliases of the control function, each of which takes requests of one kind, and one that takes all.

IAM tells the aliases apart, so whoever may invoke one of them can make no other request. Those of one kind exist where
somebody was granted that kind alone. The request for the deployed definition is here, too: the control alias leads to
the deployed version, which knows its own.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from unum_runtime.cold_start.digest import short_digest
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.naming import DESCRIBE, INTAKE, PERMANENT, START_INTAKE
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.operator_requests import Control, is_request
from unum_runtime.protocol.control.pausing import PAUSE, RESUME
from unum_runtime.protocol.control.sweep import SWEEP
from unum_runtime.protocol.requests.definition_records import write_definition
from unum_runtime.protocol.runtime import Runtime

DEFINITION = "definition"
"""Value of a request's ``control`` field, beside those of `Control`."""

SIGNAL = "signal"
"""Value of the ``control`` field of signals, see `unum_runtime.features.signals.signal`."""

SIGNAL_EVENTS = "signal-events"
"""Front of the name of the alias that takes signals of event sources: they read no answer, so a refusal is an error."""

SYNC = "sync"
"""Front of the name of the alias that starts executions and answers with their results."""

CALL = "call"
"""Value of the ``control`` field of calls, see `unum_runtime.features.memo.calling`."""

OF_RESULTS = LIST, SHOW, FORGET = "list_remembered", "show_remembered", "forget_remembered"
"""Values of the ``control`` field of requests about memoized results, see `sharing.remembered`."""


def definition_request() -> dict[str, Json]:
    """Return the event that asks for the deployed definition."""
    return {MARK: WIRE_VERSION, "control": DEFINITION}


def asks_for_definition(event: Json) -> bool:
    """Return True if `event` asks for the deployed definition."""
    return is_request(event) and event["control"] == DEFINITION


def store_definition(rt: Runtime) -> Json:
    """Store the definition of `rt`, and return its digest, by which clients read it.

    Raises:
        StoreError: the definition may be stored or not; ask again.
    """
    # Only the digest: a definition may be larger than an answer of Lambda.
    write_definition(rt)
    return {"digest": rt.workflow.digest}


class ControlAlias(StrEnum):
    """An alias of the control function; the value is the front of its name."""

    STOP = "stop"
    REDRIVE = "redrive"
    FORK = "fork"
    NUDGE = "nudge"
    DELETE = "delete"
    PAUSE = "pause"
    MEMO = "memo"
    SIGNAL = "signal"
    SWEEP = "sweep"
    OPERATE = "operate"


WORKFLOW = "workflow"
"""Field with the name of a request's workflow, where the address does not say it: at versions and `SHARED_ALIASES`."""

SHARED_ALIASES = frozenset({ControlAlias.SWEEP, ControlAlias.OPERATE})
"""Aliases of a control function for several workflows that have no workflow in their names."""


TAKEN: Mapping[ControlAlias, tuple[str, ...]] = {
    ControlAlias.STOP: (Control.STOP,),
    ControlAlias.REDRIVE: (Control.REDRIVE,),
    ControlAlias.FORK: (Control.FORK,),
    ControlAlias.NUDGE: (Control.NUDGE, Control.WHY, DEFINITION),
    ControlAlias.DELETE: (Control.DELETE,),
    ControlAlias.PAUSE: (PAUSE, RESUME),
    ControlAlias.MEMO: OF_RESULTS,
    ControlAlias.SIGNAL: (SIGNAL,),
    ControlAlias.SWEEP: (SWEEP,),
}
"""Values of a request's ``control`` field that each alias takes, besides `ControlAlias.OPERATE`, which takes all.
Questions share the alias of nudges, whose answer is the same: what an execution waits for."""


def call_alias(state: str) -> str:
    """Return the prefix of the alias name for calls of the Task `state`; each Task has its own alias."""
    return f"{CALL}-{short_digest(state.encode())}"


def alias_for(control: object) -> ControlAlias | None:
    """Return the alias that takes requests with `control`; None for an unknown value."""
    return next((alias for alias, taken in TAKEN.items() if control in taken), None)


KINDS = frozenset({*ControlAlias, SIGNAL_EVENTS, SYNC, DESCRIBE, INTAKE, START_INTAKE, *PERMANENT})
"""Fronts of the names of a control function's aliases, beside those of calls."""


def find_alias(name: str, workflows: Iterable[str]) -> tuple[str, str] | None:
    """Return kind and workflow of the alias `name` of a control function of `workflows`; None if none has it."""
    for workflow in workflows:
        kind = name.removesuffix(f"-{workflow}")
        if kind != name and (kind in KINDS or kind.startswith(f"{CALL}-")):
            return kind, workflow
    return None


def has_ambiguous_aliases(workflow: str, others: Iterable[str]) -> bool:
    """Return True if an alias of `workflow` could be one of `others`, as those of ``x`` and ``events-x``."""
    names = {other: [workflow, other] for other in others}
    return any(
        find_alias(f"{kind}-{owner}", [name for name in pair if name != owner])
        for pair in names.values()
        for owner in pair
        for kind in KINDS
    )
