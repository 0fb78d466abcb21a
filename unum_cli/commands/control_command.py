"""Commands of operators: ``unum stop``, ``redrive``, ``nudge``, ``fork``, ``delete``, ``why``, ``pause`` and others."""

import argparse
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from unum_cli.aws.session import Session
from unum_cli.commands.command_arguments import execution_input
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import connected, located, session_of
from unum_cli.commands.printing import print_json
from unum_client.client import Client
from unum_client.control import Deletion, Missing, Redriven, RedriveResult, StartsPause, Waits
from unum_client.terminal.amounts import time_text
from unum_runtime.errors import InvalidExecutionInput, InvalidName, UnumError
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.envelope import Envelope, is_envelope
from unum_runtime.model.states import Json
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.wire.call_errors import call_errors

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

_REMEDIES = {
    WaitsFor.DELIVERY: "unum nudge {} sends its event again",
    WaitsFor.TIME: "it continues by itself at that time",
    WaitsFor.ANSWER: "an answer with its task token is needed",
    WaitsFor.JOB: "it continues when its job has ended; unum nudge {} polls at once, also if a poll was lost",
}


_CONCURRENCY = (
    "its event is sent again every 15 minutes or less; raise the function's reserved concurrency or the account's limit"
)


def run(options: argparse.Namespace) -> None:
    """Execute the command in ``options.command``.

    Raises:
        UsageError: unknown workflow, or invalid name or input.
        CommandFailed: unknown execution, impossible operation, or AWS error.
    """
    is_asked = options.command == "pause" and options.show  # by the describe alias, or in the table
    if options.stack is None and options.control_alias is None and not is_asked:
        raise UsageError(
            "--control-alias: expected the ARN of the control function, got nothing; or give --stack STACK"
        )
    if options.command == "redrive":
        _check_redrive(options)
    if options.command == "signal":
        _check_signal(options)
    try:
        value = _input(options)
        _carry_out(connected(options), value, options)
    except (InvalidName, InvalidExecutionInput) as error:
        raise UsageError(f"--{error}") from error
    except UnumError as error:
        raise CommandFailed(str(error)) from error


def _carry_out(client: Client, value: Mapping[str, object], options: argparse.Namespace) -> None:
    match options.command:
        case "stop":
            _print_time(client.stop(options.execution, options.error, options.cause), "stopped", options)
        case "redrive":
            _redrive(client, options)
        case "fork":
            _fork(client, value, options)
        case "delete":
            _print_deletion(client.delete_execution(options.execution), options)
        case "signal":
            _signal(client, value, options)
        case "nudge":
            _print_waits(client.nudge(options.execution), {}, options)
        case "why":
            _print_waits(client.why(options.execution), _errors(options), options)
        case "pause":
            pause = client.describe_pause() if options.show else client.pause_starts(options.reason)
            _print_pause(client.workflow, pause, options)
        case "resume":
            client.resume_starts()
            _print_pause(client.workflow, None, options)


def _input(options: argparse.Namespace) -> Mapping[str, object]:
    """Return the parsed input, or None."""
    # Absent and null differ: without an input, the fork takes the one of the original visit.
    if options.command == "signal":
        return {"value": None if options.value is None else execution_input(options.value)}
    is_given = options.command == "fork" and options.input is not None
    return {"input": execution_input(options.input)} if is_given else {}


def _signal(client: Client, value: Mapping[str, object], options: argparse.Namespace) -> None:
    if options.execution is None:
        _signal_by_key(client, value["value"], options)
        return
    found = client.signal(options.execution, options.signal, value["value"], key=options.key, id=options.id)
    if options.json:
        print_json({"name": options.execution, "is_new": found.is_new, "is_awaited": found.is_awaited})
        return
    then = "its Task continues" if found.is_awaited else "it is kept for the Task that will wait for it"
    print(f"{options.signal} sent to {options.execution}: {then if found.is_new else 'it had come before'}")


def _signal_by_key(client: Client, value: object, options: argparse.Namespace) -> None:
    keep_s = None if options.keep is None else round(_age(options.keep, "--keep").total_seconds())
    found = client.signal_by_key(options.signal, options.key, value, id=options.id, keep_s=keep_s)
    if options.json:
        print_json({"is_new": found.is_new, "reached": found.reached, "is_done": found.is_done})
        return
    known = "" if found.is_new else ", and had come before"
    print(f"{options.signal} reaches {found.reached} executions that wait with key {options.key}{known}")
    if not found.is_done:
        print("the time did not suffice for all executions; it continues by itself")


def _check_signal(options: argparse.Namespace) -> None:
    """Raise UsageError for options of signals that do not fit together."""
    if options.execution is None and options.key is None:
        raise UsageError("EXECUTION: expected the name of an execution, or --key for all that wait, got neither")
    if options.execution is not None and options.keep is not None:
        raise UsageError("--keep: a signal to one execution is kept as long as that runs; leave it out")


def _fork(client: Client, value: Mapping[str, object], options: argparse.Namespace) -> None:
    started = client.fork(
        options.execution, from_node=options.node, new_name=options.name, visit=options.visit, **value
    )
    _print_time(started.started_at, f"forked from {options.execution}", options, name=started.name)


def _print_time(at: datetime, done: str, options: argparse.Namespace, name: str | None = None) -> None:
    name = name or options.execution
    if options.json:
        print_json({"name": name, "at": at.isoformat()})
    else:
        print(f"{name} {done} at {time_text(at)}")


def _print_deletion(deletion: Deletion, options: argparse.Namespace) -> None:
    if options.json:
        remains = [{"what": each.what, "until": each.until and each.until.isoformat()} for each in deletion.remains]
        again_at = deletion.again_at and deletion.again_at.isoformat()
        at = {"name": options.execution, "at": deletion.deleted_at.isoformat(), "again_at": again_at}
        print_json({**at, "remains": remains, "is_done": deletion.is_done})
        return
    print(f"{options.execution} deleted at {time_text(deletion.deleted_at)}; what remains:")
    for each in deletion.remains:
        until = "until an unknown time" if each.until is None else f"until {time_text(each.until)}"
        print(f"  {each.what}, {until}")
    if not deletion.is_done:
        print("the time did not suffice for all items; it continues by itself")


def _print_pause(workflow: str, pause: StartsPause | None, options: argparse.Namespace) -> None:
    if options.json:
        shown = None if pause is None else {"since": pause.since.isoformat(), "reason": pause.reason}
        print_json({"workflow": workflow, "pause": shown})
    elif pause is None:
        print(f"{workflow} starts executions")
    else:
        print(f"{workflow} starts no executions since {time_text(pause.since)}: {pause.reason}")


def _errors(options: argparse.Namespace) -> Mapping[str, str]:
    """Return the last error of each invocation that has a dead letter; none without permission to read the queue."""
    session = session_of(options)
    return last_errors(session, located(session, options).failure_queue)


def _print_waits(waits: Waits, errors: Mapping[str, str], options: argparse.Namespace) -> None:
    if options.json:
        missing = [_to_json(each) | _error(errors, each) for each in waits.missing]
        print_json({"count": waits.count, "missing": missing, "is_done": waits.is_done})
        return
    if not waits.count and waits.is_done:
        print(f"{options.execution} waits for nothing: it has ended")
    for each in waits.missing:
        print(f"{each.state}{list(each.index) or ''}  {each.invocation}")
        since = each.throttled_since or each.since
        print(f"  waits for {_what(each)}{_until(each)}, since {time_text(since)}")
        if each.job is not None:
            print(f"  job: {to_text(each.job)}")
        if each.invocation in errors:
            print(f"  last error: {errors[each.invocation]}")
        print(f"  {_remedy(each).format(options.execution)}")
    # The control function lists the first ones only; an answer of Lambda has at most 6 MB.
    if waits.count > len(waits.missing):
        print(f"and {waits.count - len(waits.missing)} more")
    if not waits.is_done:
        print("the time did not suffice for all branches; a nudge continues by itself")


def _what(missing: Missing) -> str:
    if missing.throttled_since is not None:
        return "concurrency"
    if missing.signal is None:
        return str(missing.waits_for)
    key = f" with key {missing.signal['key']}" if "key" in missing.signal else ""
    return f"signal {missing.signal['name']}{key}"


def _remedy(missing: Missing) -> str:
    if missing.throttled_since is not None:
        return _CONCURRENCY
    if missing.signal is None:
        return _REMEDIES[missing.waits_for]
    key = f" --key {shlex.quote(missing.signal['key'])}" if "key" in missing.signal else ""
    return f"unum signal {{}} {missing.signal['name']}{key.replace('{', '{{').replace('}', '}}')} sends it"


def _until(missing: Missing) -> str:
    if missing.until is None:
        return ""
    which = " whose next poll is due by" if missing.waits_for is WaitsFor.JOB else " until"
    return f"{which} {time_text(missing.until)}"


def _to_json(missing: Missing) -> dict[str, object]:
    report: dict[str, object] = {
        "invocation": missing.invocation,
        "state": missing.state,
        "index": list(missing.index),
        "waits_for": missing.waits_for,
        "since": missing.since.isoformat(),
        "until": missing.until and missing.until.isoformat(),
    }
    throttled_since = missing.throttled_since and missing.throttled_since.isoformat()
    more = {"job": missing.job, "signal": missing.signal, "throttled_since": throttled_since}
    return report | {name: value for name, value in more.items() if value is not None}


def _error(errors: Mapping[str, str], missing: Missing) -> dict[str, str]:
    return {"last_error": errors[missing.invocation]} if missing.invocation in errors else {}


def _redrive(client: Client, options: argparse.Namespace) -> None:
    """Redrive one execution or many, and print the chosen versions with the reason."""
    if options.status is not None:
        _redrive_all(client, options)
    elif options.json:
        print_json({"name": options.execution, **_redriven_json(client.redrive(options.execution, on=options.on))})
    else:
        print(_redriven_line(options.execution, client.redrive(options.execution, on=options.on)))


def _check_redrive(options: argparse.Namespace) -> None:
    """Raise UsageError for options that exclude each other."""
    if (options.execution is None) == (options.status is None):
        raise UsageError("expected either the name of an execution or --status, got both or neither")
    if options.since is not None and options.status is None:
        raise UsageError("--since: expected --status beside it, which says of what; a named execution has no range")
    if options.since is not None:
        _age(options.since)


def _redrive_all(client: Client, options: argparse.Namespace) -> None:
    """Redrive all executions of a status, and print a line for each and a summary.

    Raises:
        CommandFailed: some of them could not be redriven.
    """
    since = None if options.since is None else datetime.now(UTC) - _age(options.since)
    results: list[RedriveResult] = []
    for result in client.redrive_all(options.status, since=since, on=options.on):
        results.append(result)
        if not options.json:
            print(_redriven_line(result.name, result.redriven) if result.redriven else _failure_line(result))
    failed = [result for result in results if result.redriven is None]
    if options.json:
        print_json([_result_json(result) for result in results])
    else:
        print(f"{len(results) - len(failed)} redriven, {len(failed)} not")
    if failed:
        raise CommandFailed(
            f"{len(failed)} of {len(results)} executions could not be redriven; the first is {_failure_line(failed[0])}"
        )


def _redriven_line(name: str, redriven: Redriven) -> str:
    on = "" if redriven.on is None else f" on the {redriven.on} versions: {redriven.reason}"
    rest = "" if redriven.is_done else "; results are still being copied, and it continues by itself"
    return f"{name} redriven at {time_text(redriven)}{on}{rest}"


def _failure_line(result: RedriveResult) -> str:
    return f"{result.name}: {result.error}: {result.message}"


def _redriven_json(redriven: Redriven) -> dict[str, Json]:
    return {"at": redriven.isoformat(), "on": redriven.on, "reason": redriven.reason, "is_done": redriven.is_done}


def _result_json(result: RedriveResult) -> dict[str, Json]:
    if result.redriven is None:
        return {"name": result.name, "error": result.error, "message": result.message}
    return {"name": result.name, **_redriven_json(result.redriven)}


def _age(text: str, option: str = "--since") -> timedelta:
    """Return the age written as a number with the unit s, m, h or d.

    Raises:
        UsageError: another text.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", text)
    if match is None:
        raise UsageError(f"{option}: expected a number and s, m, h or d, such as 90m, 2h or 3d, got {text!r}")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


_UNREADABLE = (ValueError, TypeError, KeyError, RecursionError, UnumError)
"""Errors while parsing dead letters from other senders, or from versions with other events."""

MOST_BATCHES = 20
"""Maximum number of receives of 10 dead letters; each dead letter stays hidden from other readers for `HIDDEN_S`."""

HIDDEN_S = 10


def last_errors(session: Session, queue_url: str | None) -> Mapping[str, str]:
    """Return the last error by invocation name; empty for an unknown or forbidden queue.

    Args:
        session: source of clients.
        queue_url: URL of the dead-letter queue.
    """
    if queue_url is None:
        return {}
    try:
        return dict(_read_letters(session.create("sqs"), queue_url))
    except call_errors():  # reading dead letters is optional: a caller may lack the permission
        return {}


def _read_letters(queues: Any, queue_url: str) -> Iterator[tuple[str, str]]:
    for _ in range(MOST_BATCHES):
        # A short visibility timeout: dead letters stay for other readers, and none is deleted here.
        found = queues.receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=10, VisibilityTimeout=HIDDEN_S, MessageAttributeNames=["All"]
        )
        if not found.get("Messages"):
            return
        for message in found["Messages"]:
            attributes = {
                name: each.get("StringValue", "") for name, each in message.get("MessageAttributes", {}).items()
            }
            # One foreign dead letter must not hide the errors in all others.
            with suppress(*_UNREADABLE):
                yield from _read(parse_json(message["Body"]), attributes)


def _read(message: Json, attributes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return the invocation name and the error in a dead letter.

    A dead letter holds the failure handler's record around a function's record, or a delayed event. Delayed events come
    from the timer queue, or, with attributes, from EventBridge Scheduler, possibly inside its SendMessage request.
    Source: EventBridge Scheduler User Guide, "Configuring a schedule's dead-letter queue".
    """
    match message:
        case {"requestPayload": {"requestPayload": event}, **rest} if is_envelope(event):
            yield str(Envelope.from_json(event).name), _error_of_letter(rest.get("responsePayload"))
        # EventBridge Scheduler wraps the request that it could not deliver.
        case {"MessageBody": str(body)}:
            yield from _read(parse_json(body), attributes)
        case {"address": str(address), "event": event} if is_envelope(event):
            yield str(Envelope.from_json(event).name), _not_sent(address, attributes)


def _not_sent(address: str, attributes: Mapping[str, str]) -> str:
    if "ERROR_CODE" in attributes:
        return f"{attributes['ERROR_CODE']}: {attributes.get('ERROR_MESSAGE', '')}"
    return f"delayed event, not delivered to {address}; see the log of the forwarder function"


def _error_of_letter(report: Json) -> str:
    match report:
        case {"errorType": name, "errorMessage": text}:
            return f"{name}: {text}"
    return "no answer"
