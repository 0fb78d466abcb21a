"""IAM policies: actions that AWS requires, and condition keys that ministack lacks.

Actions: where AWS requires one, ministack requires another that no AWS policy contains. A batch of messages needs the
permission for one message; IAM has no actions for batches.
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsqs.html Event invoke configurations and
single aliases have actions of their own, separate from those of the function.
https://docs.aws.amazon.com/service-authorization/latest/reference/list_awslambda.html

``dynamodb:LeadingKeys``, the partition keys of a request: without it, a condition on partitions of all items would hold
for every request. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html

``aws:SecureTransport``: AWS uses TLS everywhere, including Lambda's deliveries to destinations, so policies that deny
plain HTTP deny nothing there. The emulator has no certificate, and would deny its own deliveries, so a loopback request
counts as TLS.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-securetransport
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ministack.core import iam_actions, iam_evaluator
from ministack.services import dynamodb

from unum_emulator.patching import replace

LEADING_KEYS = "dynamodb:LeadingKeys"

_EQUALS = re.compile(r"([#\w]+)\s*=\s*(:\w+)")


def install() -> None:
    """Give policies the actions and condition keys that they have on AWS."""
    _report_secure_requests()
    _correct_actions()
    _add_leading_keys()


def _add_leading_keys() -> None:
    """Add the key to the policies' context."""
    context_of = iam_actions.dynamodb_service_context

    def with_leading_keys(body: bytes) -> dict[str, Any]:
        found: dict[str, Any] = context_of(body)
        if keys := [*_leading_keys(body)]:
            found[LEADING_KEYS] = keys
        return found

    replace(iam_actions, "dynamodb_service_context", with_leading_keys)


def _leading_keys(body: bytes) -> Iterator[str]:
    request = json.loads(body or b"{}")
    for table, wanted in request.get("RequestItems", {}).items():
        for each in wanted.get("Keys", ()) if isinstance(wanted, dict) else map(_written_item, wanted):
            yield from _partition_values(each, _partition_key(table))
    table = request.get("TableName")
    for field in ("Key", "Item"):
        yield from _partition_values(request.get(field, {}), _partition_key(table))
    # The partition key always has a condition of equality. Source: Amazon DynamoDB API Reference, "Query".
    if "KeyConditionExpression" in request:
        yield from _partition_values(_equalities(request), _partition_key(table, request.get("IndexName")))


def _written_item(request: Mapping[str, Any]) -> Any:
    """Return the item or key of one write in a batch."""
    ((_, write),) = request.items()
    return write.get("Item") or write["Key"]


def _equalities(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that a query compares for equality, with their values."""
    names = request.get("ExpressionAttributeNames", {})
    values = request.get("ExpressionAttributeValues", {})
    found = _EQUALS.findall(request["KeyConditionExpression"])
    return {names.get(name, name): values[value] for name, value in found if value in values}


def _partition_key(table: str | None, index: str | None = None) -> str | None:
    """Return the name of the partition key attribute of a table or index."""
    found = dynamodb._tables.get(dynamodb._normalize_table_name(table)) if table else None
    if not found:
        return None
    for each in found["GlobalSecondaryIndexes"] if index else ():
        if each["IndexName"] == index:
            return next((key["AttributeName"] for key in each["KeySchema"] if key["KeyType"] == "HASH"), None)
    name: str = found["pk_name"]
    return name


def _partition_values(attributes: Mapping[str, Any], name: str | None) -> Iterator[str]:
    if name is not None and name in attributes:
        yield from map(str, attributes[name].values())


# The names equal the single actions plus "Batch".
_BATCHES = ("sqs:SendMessageBatch", "sqs:DeleteMessageBatch", "sqs:ChangeMessageVisibilityBatch")
_VERBS_ON_ALIASES = {"GET": "Get", "PUT": "Update", "DELETE": "Delete"}
_VERBS = {"GET": "Get", "PUT": "Put", "POST": "Update", "DELETE": "Delete"}


def _correct_actions() -> None:
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


_SECURE_TRANSPORT = "aws:securetransport"


def _report_secure_requests() -> None:
    """Let the condition key report a secure request."""
    resolve = iam_evaluator._resolve_condition_key

    def resolve_key(key: str, context: Any) -> Any:
        return "true" if key.lower() == _SECURE_TRANSPORT else resolve(key, context)

    replace(iam_evaluator, "_resolve_condition_key", resolve_key)
