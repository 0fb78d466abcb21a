"""An asynchronous event in Lambda's queue, and the configuration that applies to it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unum_emulator.aws_lambda.function import FunctionRef
from unum_emulator.aws_lambda.invocation import Invocation

# AWS's defaults. Source: the API page named in `Policy`.
_DEFAULT_AGE_S = 21_600
_DEFAULT_RETRIES = 2


@dataclass(frozen=True)
class AsyncEvent:
    """An accepted event.

    Attributes:
        func: ministack's record of the invoked version; its ARN contains the caller's qualifier.
        payload: the event.
        identity: request id and lineage, equal in all attempts.
        accepted_s: time of acceptance, by `time.monotonic`.
        attempts: number of failed attempts.
    """

    func: Mapping[str, Any]
    payload: Any
    identity: Invocation
    accepted_s: float = field(default_factory=time.monotonic)
    attempts: int = 0

    @property
    def function(self) -> FunctionRef:
        """The function with the invoked qualifier."""
        return FunctionRef.parse(self.func["config"]["FunctionArn"])


@dataclass(frozen=True)
class Policy:
    """Effective EventInvokeConfig of one version or alias.

    https://docs.aws.amazon.com/lambda/latest/api/API_PutFunctionEventInvokeConfig.html
    """

    retries: int
    age_s: float
    on_success: str
    on_failure: str
    dead_letter_queue: str

    @classmethod
    def of(cls, event: AsyncEvent) -> "Policy":
        """Return the configuration of the invoked qualifier; other qualifiers' configurations never apply."""
        configs = event.function.base_record().get("event_invoke_configs") or {}
        names = [event.function.qualifier] if event.function.qualifier else ["", "$LATEST"]
        config: Mapping[str, Any] = next((configs[name] for name in names if name in configs), {})
        targets = config.get("DestinationConfig") or {}
        return cls(
            retries=int(config.get("MaximumRetryAttempts", _DEFAULT_RETRIES)),
            age_s=float(config.get("MaximumEventAgeInSeconds", _DEFAULT_AGE_S)),
            on_success=(targets.get("OnSuccess") or {}).get("Destination", ""),
            on_failure=(targets.get("OnFailure") or {}).get("Destination", ""),
            dead_letter_queue=(event.func["config"].get("DeadLetterConfig") or {}).get("TargetArn", ""),
        )
