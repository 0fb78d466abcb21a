"""Remote intake: forward records of other stacks' failure handlers to the workflow's failure handler.

A function of several workflows has one on-failure destination, the failure handler of its first workflow. That handler
forwards what belongs to another workflow. If the other workflow's stack is deployed later, nothing of it can be named
but a function whose name synth has chosen, and that is this one. It has no version, so it hands everything on to the
deployed version of its workflow's failure handler, `UNUM_INTAKE`.
"""

import os
from typing import Any

from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.functions.operations.function_versions import lambda_client
from unum_runtime.json_text import to_text
from unum_runtime.model.states import Json

INTAKE = "UNUM_INTAKE"
"""Environment variable with the ARN of a version of the failure handler."""


def handle(event: Json, _context: Any) -> None:
    """Send `event`, Lambda's record or an intake request, to the failure handler.

    Raises:
        InvokeError: Lambda did not take it; Lambda calls again, and then sends it to the failure queue.
    """
    LambdaInvoker(lambda_client()).invoke([(os.environ[INTAKE], to_text(event).encode())])
