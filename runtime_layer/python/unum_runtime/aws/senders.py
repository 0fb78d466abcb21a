"""Senders of delayed events: the timer delivers for a function only what its role may invoke itself.

SQS names the sender of each message; no sender can choose the name. For a Lambda function it is
``ROLE-ID:FUNCTION-NAME``, because Lambda names the session of the function's role after the function. Source: Amazon
SQS API Reference, "ReceiveMessage", SenderId.

Messages that the workflow's own machinery sends again, the forwarder and EventBridge Scheduler, contain the sender of
their first message as origin.
"""

import os
from collections.abc import Mapping

from unum_runtime.cold_start.records import dataclass
from unum_runtime.json_text import parse_foreign

OWN_SESSION = ":"
"""Trusted sender that is the function itself, of which no template can put the name into its own environment."""


@dataclass(frozen=True, kw_only=True)
class Senders:
    """Senders of one workflow's delayed events.

    Attributes:
        workflow: name of the workflow.
        trusted: ids of roles that no user code has: of the failure handler, the forwarder, and its schedules. For roles
            with unknown ids, the names of their functions after a colon.
        edges: names of functions to which a function may delay events, beside itself, by its name.
    """

    workflow: str
    trusted: frozenset[str]
    edges: Mapping[str, tuple[str, ...]]

    def origin(self, sender: str, stated: str) -> str:
        """Return the function that first sent a message, which states an origin; empty if all senders are trusted."""
        return stated if self.trusts(sender) else sender

    def trusts(self, sender: str) -> bool:
        """Return True if `sender` may send anything."""
        role, _, session = sender.partition(":")
        return role in self.trusted or (session != "" and f":{session}" in self.trusted)

    def may_send(self, origin: str, address: str) -> bool:
        """Return True if the role of `origin` may invoke the function version `address` itself."""
        if not origin:
            return True
        function, target = origin.partition(":")[2], _function_name(address)
        return function == target or target in self.edges.get(function, ())


def parse_senders(text: str) -> Senders:
    """Return the senders in the JSON text of a function's environment."""
    fields, own = parse_foreign(text), os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")
    return Senders(
        workflow=fields["workflow"],
        trusted=frozenset(f":{own}" if each == OWN_SESSION else each for each in fields["trusted"]),
        edges={name: tuple(targets) for name, targets in fields.get("edges", {}).items()},
    )


def _function_name(address: str) -> str:
    """Return the name in a function's qualified ARN; empty for any other text."""
    parts = address.split(":")
    return parts[6] if len(parts) == 8 else ""  # noqa: PLR2004 - arn:PARTITION:lambda:REGION:ACCOUNT:function:NAME:VERSION
