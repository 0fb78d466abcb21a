"""Condition key ``aws:SecureTransport``: a loopback request counts as TLS.

AWS uses TLS everywhere, including Lambda's deliveries to destinations, so policies that deny plain HTTP deny nothing
there. The emulator has no certificate, and would deny its own deliveries.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-securetransport
"""

from typing import Any

from ministack.core import iam_evaluator

from unum_emulator.patching import replace

_KEY = "aws:securetransport"


def install() -> None:
    """Let the condition key report a secure request."""
    resolve = iam_evaluator._resolve_condition_key

    def resolve_key(key: str, context: Any) -> Any:
        return "true" if key.lower() == _KEY else resolve(key, context)

    replace(iam_evaluator, "_resolve_condition_key", resolve_key)
