"""Executions of events that a former release has named, found when such an event comes again.

The look costs one read. An event of a second ago has hardly come to the deployment before this one, so it does without.
"""

from unum_runtime.model.earlier_names import former_name, is_first
from unum_runtime.model.naming import start_key
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.evaluation import timestamp
from unum_runtime.protocol.runtime import Runtime

FRESH_MS = 30_000
"""Age below which an event counts as new: Lambda repeats a failed event after a minute at the earliest.

Source: AWS Lambda Developer Guide, "How Lambda handles errors and retries with asynchronous invocation".
"""


def name_in_use(rt: Runtime, event: Json, name: str, arrived: Json = None) -> str:
    """Return `name`, or the former name of the event's execution if that exists.

    Args:
        rt: the runtime.
        event: what names the execution.
        name: name of the execution by this release.
        arrived: what says how often or when it came; default: `event`.

    Raises:
        StoreError: unknown; deliver the event again.
    """
    former = former_name(event)
    if former is None or is_first(arrived or event, timestamp(rt.clock.now_ms() - FRESH_MS)):
        return name
    key, items = start_key(rt.workflow.name, former), rt.store if rt.large is None else rt.large.store
    return former if items.read([key]) else name
