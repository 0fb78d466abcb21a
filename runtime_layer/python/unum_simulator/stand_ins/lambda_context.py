"""Lambda's context object for handlers that run in this process.

Attributes and types are those of AWS's runtime client (``awslambdaric.lambda_context``), which takes them from a
function's environment: texts, also for the memory.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from uuid import NAMESPACE_URL, uuid5

from unum_runtime.protocol.runtime import MAX_DELIVERY_MS, Call

MEMORY_MB = 128
VERSION = "$LATEST"

_REGION, _ACCOUNT = "us-east-1", "123456789012"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(slots=True)
class CognitoIdentity:
    """Identity of a caller with Amazon Cognito; invocations by functions have none."""

    cognito_identity_id: str | None = None
    cognito_identity_pool_id: str | None = None


def _countdown() -> Callable[[], int]:
    """Return the time that is left of the longest delivery, which begins now."""
    begun_s = monotonic()
    return lambda: MAX_DELIVERY_MS - round((monotonic() - begun_s) * 1000)


@dataclass
class LambdaContext:
    """Context of one run of a handler. User code may set further attributes, as on Lambda.

    Attributes:
        unum: the invocation, which the runtime adds on Lambda too.
        function_name: name of the function, by default the function's key in the workflow.
        aws_request_id: id of the delivered event; by default one for each invocation.
        remaining_ms: remaining time of the delivery, in milliseconds.
        function_version: version, as Lambda writes it for an unpublished function.
        memory_limit_in_mb: memory, as text.
        identity: identity of the caller.
        client_context: context that a mobile client sent.
        tenant_id: tenant of the invocation.
    """

    unum: Call
    function_name: str = ""
    aws_request_id: str = ""
    remaining_ms: Callable[[], int] = field(default_factory=_countdown, repr=False)
    function_version: str = VERSION
    memory_limit_in_mb: str = str(MEMORY_MB)
    identity: CognitoIdentity = field(default_factory=CognitoIdentity)
    client_context: None = None
    tenant_id: str | None = None

    def __post_init__(self) -> None:
        self.function_name = _NOT_IN_NAMES.sub("-", self.function_name or self.unum.function)[:64]
        self.aws_request_id = self.aws_request_id or str(uuid5(NAMESPACE_URL, self.unum.idempotency_key))

    @property
    def invoked_function_arn(self) -> str:
        """ARN of the function, in an account for documentation."""
        return f"arn:aws:lambda:{_REGION}:{_ACCOUNT}:function:{self.function_name}"

    @property
    def log_group_name(self) -> str:
        """Log group that Lambda creates by default."""
        return f"/aws/lambda/{self.function_name}"

    @property
    def log_stream_name(self) -> str:
        """Log stream, equal for all sandboxes of this process."""
        return f"1970/01/01/[{self.function_version}]{0:032x}"

    def get_remaining_time_in_millis(self) -> int:
        """Return the time until Lambda would kill the sandbox, in milliseconds."""
        return max(0, self.remaining_ms())

    def log(self, msg: object) -> None:
        """Write `msg` to the function's log, which is standard output."""
        sys.stdout.write(str(msg))

    def w3c(self) -> dict[str, str]:
        """Return the trace context, which is empty without tracing."""
        return {}
