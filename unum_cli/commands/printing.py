"""Text and JSON output for executions."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from unum_cli.commands.command_errors import CommandFailed
from unum_client.control import Missing
from unum_client.descriptions import Description, ForkedFrom, Started, Step
from unum_client.reading.child_executions import ChildExecution
from unum_client.reading.execution_list import ListedExecution
from unum_client.remembered_results import RememberedResult
from unum_client.terminal.amounts import duration_text, time_text
from unum_runtime.json_text import parse_json, to_readable
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.states import Json


def to_json(
    record: Started | Description | Step | Missing | ListedExecution | ChildExecution | RememberedResult,
) -> dict[str, Json]:
    """Return the fields of a record, with times in RFC 3339, without the checkpoint of a step."""
    shown = (field.name for field in fields(record) if field.name != "checkpoint")
    return {name: _plain(getattr(record, name)) for name in shown}


def print_json(value: Json) -> None:
    """Print `value` as indented JSON."""
    print(to_readable(value, indent=2))


def check_success(description: Description) -> None:
    """Raise an error unless an ended execution succeeded.

    Raises:
        CommandFailed: failed or stopped execution; names error and cause.
    """
    if description.status is Status.ABORTED:
        raise CommandFailed(f"execution {description.name} was stopped{_reason(description)}")
    if description.status is not Status.SUCCEEDED:
        failure = failure_text(description.error, description.cause)
        raise CommandFailed(f"execution {description.name} failed: {failure}")


def print_description(description: Description) -> None:
    """Print a description of an execution, one field on each line."""
    print(f"name     {description.name}")
    print(f"status   {description.status}")
    print(f"started  {time_text(description.started_at)}")
    if description.stopped_at:
        lasted_ms = int((description.stopped_at - description.started_at).total_seconds() * 1000)
        print(f"stopped  {time_text(description.stopped_at)}, after {duration_text(lasted_ms)}")
    print(f"input    {_line(description.input)}")
    if description.attributes:
        print(f"about    {attributes_text(description.attributes)}")
    if description.forked_from is not None:
        print(f"fork     {_fork_text(description.forked_from)}")
    match description.status:
        case Status.SUCCEEDED:
            print(f"output   {_line(description.output)}")
        case Status.FAILED | Status.TIMED_OUT:
            print(f"error    {failure_text(description.error, description.cause)}")
        case Status.ABORTED if description.error or description.cause:
            print(f"error    {failure_text(description.error, description.cause)}")


def attributes_text(attributes: Mapping[str, str]) -> str:
    """Return attributes on one line, such as ``customer=7, region=eu``."""
    return ", ".join(f"{name}={value}" for name, value in sorted(attributes.items()))


def _fork_text(origin: ForkedFrom) -> str:
    text = f"of {origin.execution} at {origin.node}" + (f", visit {origin.visit}" if origin.visit > 1 else "")
    return text if origin.is_finished else f"{text}; not finished"


def failure_text(error: str | None, cause: str | None) -> str:
    """Return error and cause as text; a JSON report of an exception becomes message and stack trace."""
    try:
        report = parse_json(cause or "")
        stack = "".join(report["stackTrace"])
        text = f"{report['errorMessage']}\n{stack}".rstrip()
    except (ValueError, TypeError, KeyError):
        text = cause or ""  # no report of an exception, but text
    return ": ".join(filter(None, (error or "(the Fail state names no error)", text)))


def _reason(description: Description) -> str:
    texts = filter(None, (description.error, description.cause))
    return "".join(f": {text}" for text in texts)


def child_json(child: ChildExecution) -> Json:
    """Return the fields of a child execution and of its steps."""
    return to_json(child) | {"index": list(child.index), "steps": [to_json(step) for step in child.steps]}


def child_line(child: ChildExecution) -> str:
    """Return name, branch, status and error of a child execution."""
    place = f"{child.state}[{'.'.join(map(str, child.index))}]"
    failure = f": {failure_text(child.error, child.cause).partition(chr(10))[0]}" if child.error else ""
    return f"{child.name}  {place}  {child.status}{failure}"


def print_child(child: ChildExecution, *, as_json: bool) -> None:
    """Print a child execution with its steps."""
    if as_json:
        print_json(child_json(child))
        return
    print(child_line(child))
    print(f"started  {time_text(child.started_at)}")
    if child.stopped_at is not None:
        print(f"stopped  {time_text(child.stopped_at)}")
    print(f"input    {to_readable(child.input)}")
    if child.output is not None:
        print(f"output   {to_readable(child.output)}")
    for step in child.steps:
        print(f"{time_text(step.committed_at)}  {step.state}  {step.status}")


def _plain(value: Any) -> Json:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [*map(_plain, value)] if isinstance(value, tuple) else value


def _line(value: Json) -> str:
    return to_readable(value)
