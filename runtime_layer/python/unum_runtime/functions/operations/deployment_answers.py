"""Deployment guard: the custom resource of a workflow, which refuses updates that would strand running executions.

CloudFormation sends a request when the resource's properties change: the parts that executions depend on. Creations,
deletions, rollbacks, and updates that only add parts are accepted without any read. For an update that removes parts,
the guard looks for executions that need them. It refuses if it finds some, or cannot read them: CloudFormation then
rolls back, before it deletes anything. A rollback is never refused, nor what may be one: the stack would be unusable.
The guard always answers, because CloudFormation waits: this module imports no more than it needs for the answer.

Source: AWS CloudFormation User Guide, "CloudFormation custom resource request and response reference".
"""

import os
from collections.abc import Mapping
from typing import Any
from urllib.request import Request, urlopen

from unum_runtime.json_text import to_ascii
from unum_runtime.model.states import Json

LONGEST_REASON = 2_000
"""Most characters of a reason. An answer has at most 4,096 bytes, with names and ARNs."""

ANSWER_TIMEOUT_S = 10
"""Timeout of the request with the answer, so that a second attempt by Lambda comes before CloudFormation's timeout."""

_REMEDY = (
    ". Either deploy in two steps: first with `upgrades=Upgrades(keep=Keep(...))` for these parts, so that later "
    "executions do without them; then, when the earlier executions have ended, without `keep`. Or let them fail: "
    '`upgrades=Upgrades(on_removed="fail-executions")`.'
)


def answer(event: Mapping[str, Json], context: Any) -> None:
    """Decide on the request in `event`, and send the answer to CloudFormation.

    Raises:
        OSError: the answer was not received; Lambda calls again.
    """
    refused = _refusal(event, context) if event["RequestType"] == "Update" else None
    if refused is not None:
        refused = f"The deployment is refused, and nothing was removed, because {refused}{_REMEDY}"
    _log("deployment", request=event["RequestType"], refused=refused)
    _send(event, refused)


def _refusal(event: Mapping[str, Json], context: Any) -> str | None:
    """Return the reason to refuse an update; None to accept it."""
    try:
        from unum_runtime.functions.operations.refused_removal import refusal  # noqa: PLC0415 - see above

        return refusal(event, context)
    except Exception as error:  # noqa: BLE001 - without an answer, the stack would wait until the timeout
        _log("deployment not checked", reason=f"{type(error).__name__}: {error}")
        return None


def _log(message: str, **fields: Json) -> None:
    print(to_ascii({"source": "unum", "message": message, **fields}))  # noqa: T201 - the log


def _send(event: Mapping[str, Json], refused: str | None) -> None:
    """Send the answer: a refusal with its reason, or the success.

    Raises:
        OSError: nobody received it.
    """
    names = ("StackId", "RequestId", "LogicalResourceId")
    body = {
        "Status": "SUCCESS" if refused is None else "FAILED",
        "Reason": (refused or "")[:LONGEST_REASON],
        # Always the same: another one would replace the resource.
        "PhysicalResourceId": event.get("PhysicalResourceId") or os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        **{name: event[name] for name in names},
    }
    # The signature of the URL covers an empty content type.
    request = Request(event["ResponseURL"], to_ascii(body).encode(), {"Content-Type": ""}, method="PUT")  # noqa: S310 - CloudFormation's URL
    with urlopen(request, timeout=ANSWER_TIMEOUT_S):  # noqa: S310 - the same
        pass
