"""Find the workflow of a delivery, in a function that several workflows share.

Each workflow has aliases of its own, and IAM lets its functions and its operators invoke no others. So the alias of a
delivery says which workflow it is for, and no content does. At a version, where only the function's own role may send
requests, the field `WORKFLOW` says it.
"""

from collections.abc import Mapping
from typing import Any

from unum_runtime.functions.configuration import services
from unum_runtime.functions.operations.function_versions import function_of
from unum_runtime.json_text import to_text
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.control_aliases import WORKFLOW


class WorkflowContext:
    """Lambda's context object of a delivery for one workflow.

    Attributes:
        workflow: name of the workflow.
    """

    def __init__(self, context: Any, workflow: str) -> None:
        self._context, self.workflow = context, workflow

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def workflow_of(context: Any) -> str:
    """Return the workflow name of a delivery."""
    found: str | None = getattr(context, WORKFLOW, None)
    if found is None:
        (found,) = services()  # a function of one workflow
    return found


def own_version(context: Any) -> str:
    """Return this version's ARN. It reports failures, and takes requests of this function's role alone."""
    return f"{function_of(context.invoked_function_arn)}:{context.function_version}"


def to_own_version(event: Mapping[str, Json], context: Any) -> tuple[str, bytes]:
    """Return address and payload that let this version go on with `event`."""
    named = {WORKFLOW: workflow_of(context)} if len(services()) > 1 else {}
    return own_version(context), to_text({**event, **named}).encode()
