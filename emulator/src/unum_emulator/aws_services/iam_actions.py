"""IAM actions that AWS requires, where ministack requires others that no AWS policy contains.

A batch of messages needs the permission for one message; IAM has no actions for batches.
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsqs.html Event invoke configurations and
single aliases have actions of their own, separate from those of the function.
https://docs.aws.amazon.com/service-authorization/latest/reference/list_awslambda.html
"""

from typing import Any

from ministack.core import iam_actions

from unum_emulator.patching import replace

# The names equal the single actions plus "Batch".
_BATCHES = ("sqs:SendMessageBatch", "sqs:DeleteMessageBatch", "sqs:ChangeMessageVisibilityBatch")
_VERBS_ON_ALIASES = {"GET": "Get", "PUT": "Update", "DELETE": "Delete"}
_VERBS = {"GET": "Get", "PUT": "Put", "POST": "Update", "DELETE": "Delete"}


def install() -> None:
    """Correct ministack's choice of the action."""
    extract = iam_actions.extract_iam_action

    def extract_action(service: str, method: str, path: str, *request: Any) -> str | None:
        if service == "lambda" and path.endswith("/event-invoke-config"):
            return f"lambda:{_VERBS[method]}FunctionEventInvokeConfig"
        if service == "lambda" and "/aliases/" in path:
            return f"lambda:{_VERBS_ON_ALIASES[method]}Alias"
        action: str | None = extract(service, method, path, *request)
        return action.removesuffix("Batch") if action in _BATCHES else action

    replace(iam_actions, "extract_iam_action", extract_action)
