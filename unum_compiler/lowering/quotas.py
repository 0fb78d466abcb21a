"""Quotas of Step Functions in the IR, for strict compatibility."""

from dataclasses import replace

from unum_compiler.compatibility import HOP_BUDGET, PAYLOAD_LIMIT
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Map


def with_quotas(workflow: Workflow) -> Workflow:
    """Return `workflow` with the quotas of Step Functions; every Map has a limit of branches at once."""
    states = {
        name: replace(state, has_limit=True) if isinstance(state, Map) else state
        for name, state in workflow.states.items()
    }
    return replace(workflow, states=states, payload_limit=PAYLOAD_LIMIT, hop_budget=HOP_BUDGET, strict=True)
