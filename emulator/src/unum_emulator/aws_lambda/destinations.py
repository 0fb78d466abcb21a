"""Asynchronous events and their destinations: on-success, on-failure, and dead-letter queues.

ministack's record lacks the request id, the version and the real number of attempts, and its dead-letter queues receive
that record instead of the event. AWS documents the record at
https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html and the dead-letter queue's attributes
at https://docs.aws.amazon.com/lambda/latest/dg/invocation-dlq.html As on AWS, the function's role sends the record, so
missing permissions show.
"""

import functools
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeAlias

import botocore.session
from botocore.exceptions import BotoCoreError, ClientError

from unum_emulator.aws_lambda.function_version import FunctionRef, role_credentials
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
        on_end: callback with the condition and the last result, if any, after the last attempt.
    """

    func: Mapping[str, Any]
    payload: Any
    identity: Invocation
    accepted_s: float = field(default_factory=time.monotonic)
    attempts: int = 0
    on_end: "OnEnd | None" = None

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


logger = logging.getLogger(__name__)


class Condition(StrEnum):
    """Reason for an event's end."""

    SUCCESS = "Success"
    RETRIES_EXHAUSTED = "RetriesExhausted"
    EVENT_AGE_EXCEEDED = "EventAgeExceeded"
    ZERO_RESERVED_CONCURRENCY = "ZeroReservedConcurrency"


OnEnd: TypeAlias = Callable[[Condition, Mapping[str, Any] | None], None]


class Destinations:
    """Sender of records to queues, topics, functions and event buses."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        # botocore takes long to create a client, and an emulator has few roles.
        self._client = functools.lru_cache(maxsize=64)(self._new_client)

    def send_success(self, event: AsyncEvent, policy: Policy, result: Mapping[str, Any]) -> None:
        """Send the record of a processed event."""
        if policy.on_success:
            self._send(policy.on_success, event, _record(event, Condition.SUCCESS, result))

    def send_failure(
        self, event: AsyncEvent, policy: Policy, condition: Condition, result: Mapping[str, Any] | None
    ) -> None:
        """Send the record of a dropped event.

        Args:
            event: the unprocessed event.
            policy: its configuration; both a destination and a dead-letter queue are possible.
            condition: reason for the drop.
            result: the last attempt's result; None without an attempt.
        """
        error = json.dumps((result or {}).get("body"))[:500]
        logger.warning("%s: event %s ended with %s: %s", event.function, event.identity.request_id, condition, error)
        if policy.on_failure:
            self._send(policy.on_failure, event, _record(event, condition, result))
        if policy.dead_letter_queue:
            self._dead_letter(policy.dead_letter_queue, event, result)

    def _send(self, target: str, event: AsyncEvent, record: Mapping[str, Any]) -> None:
        body = json.dumps(record)
        match target.split(":")[2]:
            case "sqs":
                self._call(event, "sqs", "send_message", QueueUrl=self._queue_url(target), MessageBody=body)
            case "sns":
                self._call(event, "sns", "publish", TopicArn=target, Message=body)
            case "lambda":
                self._call(event, "lambda", "invoke", FunctionName=target, InvocationType="Event", Payload=body)
            case "events":
                self._call(event, "events", "put_events", Entries=[_bus_entry(target, record, body)])
            case service:
                logger.error(
                    "%s: the emulator has no destinations of type %s, the record is lost", event.function, service
                )

    def _dead_letter(self, target: str, event: AsyncEvent, result: Mapping[str, Any] | None) -> None:
        body = json.dumps(event.payload)
        attributes = _dead_letter_attributes(event, result)
        if target.split(":")[2] == "sqs":
            url = self._queue_url(target)
            self._call(event, "sqs", "send_message", QueueUrl=url, MessageBody=body, MessageAttributes=attributes)
        else:
            self._call(event, "sns", "publish", TopicArn=target, Message=body, MessageAttributes=attributes)

    def _call(self, event: AsyncEvent, service: str, operation: str, **arguments: Any) -> None:
        credentials = role_credentials(event.func["config"])
        client = self._client(service, event.function.region, *credentials.values())
        try:
            getattr(client, operation)(**arguments)
        except (ClientError, BotoCoreError):
            logger.exception("%s: the record of event %s is lost", event.function, event.identity.request_id)

    def _new_client(self, service: str, region: str, key: str, secret: str, token: str | None = None) -> Any:
        return botocore.session.get_session().create_client(
            service,
            endpoint_url=self._endpoint,
            region_name=region,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            aws_session_token=token,
        )

    def _queue_url(self, arn: str) -> str:
        account, name = arn.split(":")[4:6]
        return f"{self._endpoint}/{account}/{name}"


def _record(event: AsyncEvent, condition: Condition, result: Mapping[str, Any] | None) -> dict[str, Any]:
    function = event.function
    record = {
        "version": "1.0",
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "requestContext": {
            "requestId": event.identity.request_id,
            "functionArn": f"{function.unqualified}:{function.qualifier or '$LATEST'}",
            "condition": condition,
            "approximateInvokeCount": event.attempts,
        },
        "requestPayload": event.payload,
    }
    if result is None:
        return record
    response = {"statusCode": 200, "executedVersion": event.func["config"]["Version"]}
    if result.get("error"):
        response["functionError"] = "Unhandled"
    return {**record, "responseContext": response, "responsePayload": result.get("body")}


def _bus_entry(bus: str, record: Mapping[str, Any], body: str) -> dict[str, Any]:
    outcome = "Success" if record["requestContext"]["condition"] == Condition.SUCCESS else "Failure"
    return {
        "Source": "lambda",
        "DetailType": f"Lambda Function Invocation Result - {outcome}",
        "Resources": [bus, record["requestContext"]["functionArn"]],
        "Detail": body,
        "EventBusName": bus,
    }


def _dead_letter_attributes(event: AsyncEvent, result: Mapping[str, Any] | None) -> dict[str, Any]:
    body = (result or {}).get("body")
    message = body.get("errorMessage", "") if isinstance(body, dict) else ""
    return {
        "RequestID": {"DataType": "String", "StringValue": event.identity.request_id},
        # The HTTP status, which is 200 for a function error; of the message AWS sends the first 1 KB.
        "ErrorCode": {"DataType": "Number", "StringValue": "200"},
        "ErrorMessage": {"DataType": "String", "StringValue": message[:1024] or "Unknown"},
    }
