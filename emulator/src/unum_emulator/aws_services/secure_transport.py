"""A request over the loopback interface counts as one over TLS.

AWS is reached by TLS, Lambda's deliveries to destinations included, so that policies which deny everything else deny
nothing of it; the emulator has no certificate, and would have its own deliveries denied.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-securetransport
"""

from typing import Any

from ministack.core import iam_evaluator

from unum_emulator.patching import replace

_KEY = "aws:securetransport"


def install() -> None:
    """Let the condition key say that the request is secure."""
    resolve = iam_evaluator._resolve_condition_key

    def resolve_key(key: str, context: Any) -> Any:
        return "true" if key.lower() == _KEY else resolve(key, context)

    replace(iam_evaluator, "_resolve_condition_key", resolve_key)
