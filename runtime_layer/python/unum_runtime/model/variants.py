"""Variants of a definition: definitions that are derived from a deployed one, for executions of a special kind.

A variant has a digest of its own, which the events of its executions name, and is stored like any other definition. So
no event, no function and no step needs to know the kind of its execution.
"""

from functools import lru_cache

from unum_runtime.cold_start.records import replace
from unum_runtime.model.ir import Variant, Workflow


@lru_cache(maxsize=16)
def forced(workflow: Workflow) -> Workflow:
    """Return the variant of `workflow` whose Tasks compute memoized results anew, and replace those that are stored."""
    return replace(workflow, variant=Variant.FORCED)


def variant_like(other: Workflow, workflow: Workflow) -> Workflow:
    """Return the variant of `workflow` of the same kind as `other`."""
    return forced(workflow) if other.variant == Variant.FORCED else workflow
