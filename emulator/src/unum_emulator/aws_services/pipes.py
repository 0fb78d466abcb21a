"""EventBridge Pipes from queues, and to functions.

ministack reads streams of tables alone, and delivers to topics and state machines alone; it holds the records of other
pipes without a word. Here a pipe may read a queue and invoke a function, version or alias, such as a workflow's start
alias, with filters and input templates. Pipes with anything else fail when they are created.
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes.html
"""

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from ministack.core.arn import parse_arn
from ministack.services import eventbridge, lambda_svc, pipes, sqs
from ministack.services.cloudformation import provisioners

from unum_emulator.patching import replace

_SOURCES, _TARGETS = ("dynamodb", "sqs"), ("lambda", "sns", "states")
_PLACE = re.compile(r"(?P<quote>\"?)<(?P<path>\$(?:\.[\w-]+)*|aws\.pipes\.[\w.-]+)>(?P=quote)")
"""Place of a value in an input template."""

_MOST = 10
"""Messages of a batch without an option; ministack receives no more at once."""


def install() -> None:
    """Keep the parameters of pipes, and let them read queues and invoke functions."""
    _keep_parameters()
    deliver, poll = replace(pipes, "_deliver_batch", None), replace(pipes, "_poll_pipe", None)

    def deliver_batch(pipe: Mapping[str, Any], batch: list[Any]) -> bool:
        records = [_transformed(pipe, each) for each in _chosen(pipe, batch)]
        if not records:
            return True
        if _service(pipe["Target"]) == "lambda":
            return _invoke(pipe, records)
        delivered: bool = deliver(pipe, records)
        return delivered

    def poll_pipe(tables: Any, pipe: Mapping[str, Any], account: str) -> None:
        if _service(pipe["Source"]) != "sqs":
            poll(tables, pipe, account)
        elif pipe["CurrentState"] == "RUNNING":
            _poll_queue(pipe)

    replace(pipes, "_deliver_batch", deliver_batch)
    replace(pipes, "_poll_pipe", poll_pipe)


def _keep_parameters() -> None:
    """Keep parameters of sources and targets in ministack's records of pipes, and refuse what does not work here."""
    handlers = provisioners._RESOURCE_HANDLERS["AWS::Pipes::Pipe"]
    create, update = handlers["create"], handlers["update"]
    create_pipe, update_pipe = replace(pipes, "_create_pipe", None), replace(pipes, "_update_pipe", None)

    def create_resource(logical_id: str, props: Mapping[str, Any], stack_name: str) -> Any:
        _check(props)
        created = create(logical_id, props, stack_name)
        _keep(created[0], props)
        return created

    def update_resource(physical_id: str, old: Mapping[str, Any], new: Mapping[str, Any], *others: str) -> Any:
        _check(new)
        updated = update(physical_id, old, new, *others)
        _keep(updated[0], new)
        return updated

    def create_by_request(name: str, body: Mapping[str, Any]) -> Any:
        try:
            _check(body)
        except ValueError as error:
            return pipes._error(400, "ValidationException", str(error))
        answer = create_pipe(name, body)
        _keep(name, body)
        return answer

    def update_by_request(name: str, body: Mapping[str, Any]) -> Any:
        answer = update_pipe(name, body)
        _keep(name, body)
        return answer

    handlers["create"], handlers["update"] = create_resource, update_resource
    replace(pipes, "_create_pipe", create_by_request)
    replace(pipes, "_update_pipe", update_by_request)


def _check(props: Mapping[str, Any]) -> None:
    """Raise ValueError unless a pipe with `props` works here."""
    for option, allowed in (("Source", _SOURCES), ("Target", _TARGETS)):
        if (found := _service(props.get(option, ""))) not in allowed:
            raise ValueError(f"{option}: pipes of the emulator have one of {', '.join(allowed)}, got {found or 'none'}")
    if props.get("Enrichment"):
        raise ValueError("Enrichment: pipes of the emulator have none; let the target do it")


def _keep(name: str, props: Mapping[str, Any]) -> None:
    if name in pipes._pipes:
        kept = ("SourceParameters", "TargetParameters")
        pipes._pipes[name].update({each: props[each] for each in kept if each in props})


def _service(arn: Any) -> str:
    found: str = pipes._arn_service(str(arn))
    return found


def _chosen(pipe: Mapping[str, Any], batch: list[Any]) -> list[Any]:
    """Return the records that the pipe's filters let through."""
    found: list[Any] = lambda_svc._apply_filter_criteria(batch, pipe.get("SourceParameters") or {})
    return found


def _transformed(pipe: Mapping[str, Any], record: Any) -> Any:
    """Return what the pipe's input template makes of `record`: JSON if possible, otherwise text."""
    template = (pipe.get("TargetParameters") or {}).get("InputTemplate")
    if not template:
        return record
    read = _readable(record)

    def value(found: re.Match[str]) -> str:
        path = found["path"]
        given = _at(read, path) if path.startswith("$") else _of_pipe(pipe, path)
        if found["quote"] or not isinstance(given, str):
            return json.dumps(given)
        return given

    text = _PLACE.sub(value, template)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _readable(record: Any) -> Any:
    """Return `record` with the value of a body that is JSON text."""
    try:
        return {**record, "body": json.loads(record["body"])}
    except (KeyError, TypeError, ValueError):
        return record


def _at(value: Any, path: str) -> Any:
    for name in path.split(".")[1:]:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _of_pipe(pipe: Mapping[str, Any], name: str) -> Any:
    known = {
        "aws.pipes.pipe-arn": pipe["Arn"],
        "aws.pipes.pipe-name": pipe["Name"],
        "aws.pipes.source-arn": pipe["Source"],
        "aws.pipes.target-arn": pipe["Target"],
        "aws.pipes.event.ingestion-time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return known.get(name)


def _invoke(pipe: Mapping[str, Any], records: list[Any]) -> bool:
    """Invoke the target with `records`; return False if its answer is an error."""
    parameters = (pipe.get("TargetParameters") or {}).get("LambdaFunctionParameters") or {}
    if parameters.get("InvocationType") == "FIRE_AND_FORGET":
        eventbridge._dispatch_to_lambda(pipe["Target"], json.dumps(records))
        return True
    func, config, _ = lambda_svc._get_func_record_for_ref(pipe["Target"])
    if not func or not config:
        return False
    record = lambda_svc._execution_record_for_config(func, {**config, "FunctionArn": pipe["Target"]})
    return not lambda_svc._execute_function(record, records).get("error")


def _poll_queue(pipe: Mapping[str, Any]) -> None:
    """Deliver a batch of messages of the pipe's queue; failed ones become visible again after their timeout."""
    source = pipe["Source"]
    url = sqs._queue_url(parse_arn(source).resource)
    if url not in sqs._queues:
        return
    parameters = (pipe.get("SourceParameters") or {}).get("SqsQueueParameters") or {}
    messages = sqs._receive_messages_for_esm(url, int(parameters.get("BatchSize", _MOST)))
    if messages and pipes._deliver_batch(pipe, [_record(each, source) for each in messages]):
        sqs._delete_messages_for_esm(url, {each["receipt_handle"] for each in messages})


def _record(message: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the record of a message in an event of a pipe."""
    attributes = {
        "ApproximateReceiveCount": str(message.get("receive_count", 1)),
        "SentTimestamp": str(int(message["sent_at"] * 1000)),
        "SenderId": message["sys"]["SenderId"],
        "ApproximateFirstReceiveTimestamp": str(int((message.get("first_receive_at") or time.time()) * 1000)),
    }
    return {
        "messageId": message["id"],
        "receiptHandle": message["receipt_handle"],
        "body": message["body"],
        "attributes": attributes,
        "messageAttributes": lambda_svc._sqs_message_attributes_to_camel_case(message.get("message_attributes", {})),
        "md5OfBody": message.get("md5_body") or message.get("md5") or "",
        "eventSource": "aws:sqs",
        "eventSourceARN": source,
        "awsRegion": parse_arn(source).region,
    }
