"""The actions that IAM asks for, where ministack asks for others that no policy for AWS has.

A batch of messages needs the permission for one message; IAM knows no actions for batches.
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsqs.html
What a function does with failed events has actions of its own, not those of the function; and so has a single alias.
https://docs.aws.amazon.com/service-authorization/latest/reference/list_awslambda.html
"""

from typing import Any

from ministack.core import iam_actions

from unum_emulator.patching import replace

_BATCHES = ("sqs:SendMessageBatch", "sqs:DeleteMessageBatch", "sqs:ChangeMessageVisibilityBatch")
_VERBS_ON_ALIASES = {"GET": "Get", "PUT": "Update", "DELETE": "Delete"}
_VERBS = {"GET": "Get", "PUT": "Put", "POST": "Update", "DELETE": "Delete"}


def install() -> None:
    """Correct what ministack takes from a request."""
    extract = iam_actions.extract_iam_action

    def extract_action(service: str, method: str, path: str, *request: Any) -> str | None:
        if service == "lambda" and path.endswith("/event-invoke-config"):
            return f"lambda:{_VERBS[method]}FunctionEventInvokeConfig"
        if service == "lambda" and "/aliases/" in path:
            return f"lambda:{_VERBS_ON_ALIASES[method]}Alias"
        action: str | None = extract(service, method, path, *request)
        return action.removesuffix("Batch") if action in _BATCHES else action

    replace(iam_actions, "extract_iam_action", extract_action)
