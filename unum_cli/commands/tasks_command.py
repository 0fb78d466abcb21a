"""``unum send-task-success``, ``-failure``, ``-heartbeat`` and ``get-activity-task``: answer waiting Tasks."""

import argparse
import sys
from collections.abc import Mapping

from unum_cli.aws.session import Session
from unum_cli.commands.command_arguments import json_option
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import in_stack, needing_boto3, session_of
from unum_cli.commands.printing import print_json
from unum_client.task_responses import POLL_S, ActivityTask, Tasks
from unum_runtime.errors import InvalidOutput, UnumError
from unum_runtime.json_text import to_text


def run(options: argparse.Namespace) -> None:
    """Execute the command in ``options.command``.

    Raises:
        UsageError: unknown start alias, or invalid output.
        CommandFailed: unknown token or activity, a Task that no longer waits, or AWS error; the message begins with
            the name of the error.
    """
    try:
        match options.command:
            case "send-task-success":
                output = to_text(json_option("--output", options.output))
                _connected(options).send_task_success(options.token, output)
            case "send-task-failure":
                _connected(options).send_task_failure(options.token, options.error, options.cause)
            case "send-task-heartbeat":
                _connected(options).send_task_heartbeat(options.token)
            case "get-activity-task":
                _show(_connected(options).get_activity_task(options.activity, options.worker_name), options)
                return
    except InvalidOutput as error:
        raise UsageError(f"--{error}") from error
    except UnumError as error:
        raise CommandFailed(f"{type(error).__name__}: {error}") from error
    if options.json:
        print_json({})


def _show(task: ActivityTask, options: argparse.Namespace) -> None:
    if options.json:
        print_json({**task})
    elif task:
        print(f"token  {task['taskToken']}")
        print(f"input  {task['input']}")
    else:
        print(f"nothing to do in activity {options.activity} for {POLL_S} s", file=sys.stderr)


def _connected(options: argparse.Namespace) -> Tasks:
    with needing_boto3():
        session = session_of(options)
        start_alias, activities = _explicit(options) if options.stack is None else _in_stack(session, options)
        return Tasks.connect(start_alias=start_alias, activities=activities, session=session)


def _in_stack(session: Session, options: argparse.Namespace) -> tuple[str, Mapping[str, str]]:
    """Return the ARN of the start alias and the URLs of activity queues, from the stack."""
    found = in_stack(session, options)
    return str(found.start_alias), found.activities


def _explicit(options: argparse.Namespace) -> tuple[str, Mapping[str, str]]:
    """Return the ARN of the start alias and the URLs of activity queues, from options."""
    if options.start_alias is None:
        raise UsageError("expected --stack STACK, or --start-alias ARN")
    if options.command != "get-activity-task":
        return options.start_alias, {}
    if options.queue_url is None:
        raise UsageError("--queue-url: expected the URL of the activity's queue, got nothing; or give --stack STACK")
    return options.start_alias, {options.activity: options.queue_url}
