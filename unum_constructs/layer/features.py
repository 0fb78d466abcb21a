"""Folders of the runtime that some workflows alone use, and which workflows those are.

A layer contains the runtime without the folders that its workflows leave unused, so each feature costs its users alone.
"""

import re
from collections.abc import Callable, Collection, Mapping

from unum_compiler.analysis.edges import uses_timer
from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.functions.configuration import OPENTELEMETRY, XRAY
from unum_runtime.model import ir
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import ACTIVITY, READ_ITEMS, SIGNAL, WRITE_RESULTS, FanOut, Language


class LayerFacts(NamedTuple):
    """Facts that decide which features the functions of a workflow use.

    Attributes:
        workflow: compiled workflow.
        in_bucket: True if the state is in a bucket.
        traces: kinds of traces of user code.
        events: True if the workflow has status events.
        keeps_timer: True if the timer queue stays for executions of earlier definitions.
    """

    workflow: Workflow
    in_bucket: bool = False
    traces: Collection[str] = ()
    events: bool = False
    keeps_timer: bool = False


_INTRINSIC = re.compile(r"States\.\w+\(")
"""Call of an intrinsic function. Source: Amazon States Language, "Intrinsic Functions"."""


def _requests(*resources: str) -> Callable[[LayerFacts], bool]:
    """Return a condition: a Task has one of `resources`."""
    return lambda facts: any(task.resource in resources for task in facts.workflow.tasks)


def _is_in(language: Language) -> Callable[[LayerFacts], bool]:
    """Return a condition: a state is in `language`."""
    return lambda facts: any(state.language is language for state in facts.workflow.states.values())


def _has_traces(kind: str) -> Callable[[LayerFacts], bool]:
    return lambda facts: kind in facts.traces


def _has_prefix(prefix: str) -> Callable[[LayerFacts], bool]:
    """Return a condition: a Task's resource begins with `prefix`."""
    return lambda facts: any((task.resource or "").startswith(prefix) for task in facts.workflow.tasks)


def _calls_services(facts: LayerFacts) -> bool:
    return any(task.resource is not None for task in facts.workflow.tasks)


def _has_regions(facts: LayerFacts) -> bool:
    return any(isinstance(state, FanOut) and state.needs for state in facts.workflow.states.values())


def has_timer(facts: LayerFacts) -> bool:
    """Return True if events of the workflow have to wait, so that its stack has a timer queue."""
    return facts.keeps_timer or uses_timer(facts.workflow)


USED_BY: Mapping[str, Callable[[LayerFacts], bool]] = {
    "asl/jsonata": _is_in(Language.JSONATA),
    "asl/jsonpath": _is_in(Language.JSONPATH),
    "asl/jsonpath/intrinsics": lambda facts: _INTRINSIC.search(facts.workflow.to_json()) is not None,
    "features/activities": _has_prefix(ACTIVITY),
    "features/bucket_state": lambda facts: facts.in_bucket,
    "features/data_sets": _requests(READ_ITEMS, WRITE_RESULTS),
    "features/document_stores": lambda facts: facts.in_bucket,
    "features/eager_collection": lambda facts: facts.workflow.collection is ir.Collection.EAGER,
    "features/kubernetes": _requests("eks:call", "eks:runJob"),
    "features/memo": lambda facts: any(task.memoize for task in facts.workflow.tasks),
    "features/regions": _has_regions,
    "features/services": _calls_services,
    "features/signals": _has_prefix(SIGNAL),
    "features/status_events": lambda facts: facts.events,
    "features/task_tokens": lambda facts: any(task.gives_token for task in facts.workflow.tasks),
    "features/timers": has_timer,
    "features/traces": lambda facts: bool(facts.traces),
    "features/traces/opentelemetry": _has_traces(OPENTELEMETRY),
    "features/traces/xray": _has_traces(XRAY),
    "features/waves": lambda facts: bool(facts.workflow.feeds),
    "service_function": _calls_services,
}
"""Condition for a workflow to use a folder, by the folder's path in the runtime."""


def unused_folders(facts: LayerFacts) -> frozenset[str]:
    """Return the folders that no function of a workflow with `facts` loads.

    Several workflows together leave out what all of them leave out: the intersection.
    """
    return frozenset(folder for folder, is_used in USED_BY.items() if not is_used(facts))


_OF_EVERY_DEFINITION = frozenset(
    (
        "asl/jsonpath",
        "asl/jsonpath/intrinsics",
        "features/eager_collection",
        "features/memo",
        "features/regions",
        "features/signals",
        "features/task_tokens",
        "features/timers",
        "features/waves",
    )
)
"""Folders by which an execution is planned."""


def unused_by_own_functions(facts: LayerFacts) -> frozenset[str]:
    """Return the folders that no function without user code loads.

    Failed events and operators' requests may be of an execution of an earlier definition, which these functions plan
    by. If that is in JSONata, and none is now, requests are refused and events become dead letters: the engine is a
    quarter of such a function's code.
    """
    return unused_folders(facts) - _OF_EVERY_DEFINITION
