"""A batch of messages needs the permission for one message; IAM knows no actions for batches.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsqs.html
ministack asks for `sqs:SendMessageBatch`, which no policy for AWS allows.
"""

from typing import Any

from ministack.core import iam_actions

from unum_emulator.patching import replace

_BATCHES = ("sqs:SendMessageBatch", "sqs:DeleteMessageBatch", "sqs:ChangeMessageVisibilityBatch")


def install() -> None:
    """Let requests with several messages be requests with one, as far as permissions go."""
    extract = iam_actions.extract_iam_action

    def extracted(*request: Any) -> str | None:
        action: str | None = extract(*request)
        return action.removesuffix("Batch") if action in _BATCHES else action

    replace(iam_actions, "extract_iam_action", extracted)
