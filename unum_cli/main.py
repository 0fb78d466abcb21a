"""The command ``unum``: its grammar, and what each outcome means for the shell.

Exit codes: 0 for success; 1 where a definition, an execution or AWS failed; 2 where the command line is wrong; 130
after Ctrl-C. Results go to standard output, everything else to standard error. What a command does is in
`unum_cli.commands`, of which only the module of the command that runs is loaded: a compilation starts neither
the CDK nor an AWS client.
"""

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

from unum_cli.commands.command_errors import CommandFailed, UsageError

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - has no public name

_EPILOG = (
    "Exit codes: 0 success; 1 the definition, the execution or AWS failed; 2 the command line is wrong; "
    "130 after Ctrl-C."
)

_DEFINITION = "definition in the Amazon States Language, as JSON or YAML, or compiled"
_JSON = "JSON text, @FILE to read a file, - for standard input"

_STATUSES = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")

_AMOUNTS = (
    ("items", 0, None, 10, "branches of each Map"),
    ("rounds", 1, None, 3, "rounds of each loop"),
    ("result-bytes", 0, None, 200, "size of what each Task hands on"),
    ("duration-ms", 0, 900_000, 0, "how long the user code of each Task runs, or the service that it calls"),
    ("memory-mb", 128, 10_240, 128, "memory of each function"),
    ("timeout-s", 1, 900, 30, "timeout of each function"),
)
"""What ``unum cost`` takes for granted: (option, least, most, default, help). Source of the most: AWS Lambda Developer
Guide, "Lambda quotas"."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments`, by default the process's own.

    Returns:
        The exit code.

    Raises:
        SystemExit: for ``--help`` and for arguments that do not fit the grammar, as argparse does.
    """
    _speak_utf8()
    options = grammar().parse_args(arguments)
    command = importlib.import_module(f"unum_cli.commands.{options.module}")
    try:
        command.run(options)
    except UsageError as error:
        return _complain(error, 2)
    except CommandFailed as error:
        return _complain(error, 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has enough; without this, Python would complain once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _speak_utf8() -> None:
    """Let pipes and files have UTF-8, whatever the locale is, as all files have; and a terminal what it can show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8")
    if isinstance(sys.stdin, io.TextIOWrapper) and not sys.stdin.isatty():
        sys.stdin.reconfigure(encoding="utf-8-sig")


def _complain(error: Exception, code: int) -> int:
    print(f"{error}", file=sys.stderr)
    return code


def grammar() -> argparse.ArgumentParser:
    """What parses the command line."""
    parser = argparse.ArgumentParser(prog="unum", description="Workflows of Lambda functions.", epilog=_EPILOG)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_compile(commands)
    _add_validate(commands)
    _add_graph(commands)
    _add_diff(commands)
    _add_schema(commands)
    _add_run(commands)
    _add_test_state(commands)
    _add_cost(commands)
    _add_start(commands)
    _add_describe(commands)
    _add_wait(commands)
    _add_steps(commands)
    _add_history(commands)
    _add_send_task_success(commands)
    _add_send_task_failure(commands)
    _add_send_task_heartbeat(commands)
    _add_get_activity_task(commands)
    _add_watch(commands)
    _add_completion(commands)
    _add_control(commands)
    _add_list(commands)
    _add_map_runs(commands)
    return parser


def _add(commands: _Commands, name: str, module: str, summary: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    parser.set_defaults(command=name, module=module)
    return parser


def _add_compile(commands: _Commands) -> None:
    parser = _add(commands, "compile", "compilation", "print a definition's compiled form, or all its errors")
    _add_definition(parser)
    _add_format(parser, "text: indented, errors one per line (default); json: compact, errors as one array")


def _add_validate(commands: _Commands) -> None:
    parser = _add(commands, "validate", "validation", "tell what is wrong with definitions")
    parser.add_argument("files", metavar="FILE", nargs="+", help=_DEFINITION)
    _add_format(parser, "text: a problem on each line (default); json: an array with an object for each file")


def _add_graph(commands: _Commands) -> None:
    parser = _add(commands, "graph", "graph", "draw a definition as SVG, or as a Mermaid flowchart")
    _add_definition(parser)
    parser.add_argument("--format", choices=("svg", "mermaid"), default="svg", help="of the picture; svg without")
    parser.add_argument("-o", "--output", metavar="PICTURE", help="file to write; standard output without")
    parser.add_argument("--json", action="store_true", help="print an object with the picture, or the file's name")


def _add_diff(commands: _Commands) -> None:
    summary = "tell what a deployment of NEW means for executions that run on OLD"
    parser = _add(commands, "diff", "diff", summary)
    for name in ("OLD", "NEW"):
        parser.add_argument(name.lower(), metavar=name, help=_DEFINITION)
    parser.add_argument("--name", default="workflow", help="of the workflow; it makes no difference here")
    _add_format(parser, "text: a change on each line (default); json: an array of objects")


def _add_schema(commands: _Commands) -> None:
    parser = _add(commands, "schema", "schema", "print the JSON Schema of compiled definitions")
    _add_json_always(parser)


def _add_run(commands: _Commands) -> None:
    parser = _add(commands, "run", "local", "run a definition in this process and print its output")
    _add_definition(parser)
    parser.add_argument(
        "--functions",
        metavar="MODULE",
        required=True,
        help="dotted name or .py file of a Python module that has each function's handler under the function's key, "
        "or all of them in a dict FUNCTIONS",
    )
    _add_input(parser)
    parser.add_argument("--steps", action="store_true", help="show the committed steps on standard error")
    parser.add_argument("--graph", metavar="SVG", help="draw the executed graph into this file")
    _add_json_always(parser)


def _add_test_state(commands: _Commands) -> None:
    parser = _add(
        commands, "test-state", "state_test", "run one state alone, with options as TestState of AWS has them"
    )
    parser.add_argument("file", metavar="FILE", help="definition of a state, or of a state machine, as JSON or YAML")
    parser.add_argument("--state-name", metavar="NAME", help="which state of the machine")
    parser.add_argument("--input", metavar="JSON", help=f"{_JSON}; {{}} without")
    parser.add_argument("--variables", metavar="JSON", help="that the state sees, as an object")
    parser.add_argument("--context", metavar="JSON", help="the context object; that of a new execution without")
    parser.add_argument(
        "--mock",
        metavar="JSON",
        help='{"result": ...} or {"errorOutput": {"error", "cause"}}, and "fieldValidationMode"',
    )
    parser.add_argument(
        "--state-configuration",
        dest="configuration",
        metavar="JSON",
        help='"retrierRetryCount", "errorCausedByState", "mapIterationFailureCount", "mapItemReaderData"',
    )
    parser.add_argument("--inspection-level", choices=("INFO", "DEBUG", "TRACE"), default="INFO", help="what is shown")
    parser.add_argument(
        "--functions", metavar="MODULE", help="with a handler for a Task that has no mock; see unum run"
    )
    _add_json_always(parser)


def _add_cost(commands: _Commands) -> None:
    parser = _add(commands, "cost", "cost", "estimate what executions of a definition cost, here and elsewhere")
    _add_definition(parser)
    for name, least, most, value, about in _AMOUNTS:  # the values are defaults of what they are given to
        counted = partial(_count, least, most=most)
        parser.add_argument(f"--{name}", metavar="N", type=counted, help=f"{about}; {value} without")
    parser.add_argument(
        "--payload",
        choices=("auto", "s3", "inline"),
        default="auto",
        help="where large values go: UnumWorkflow(payload=...); auto without",
    )
    parser.add_argument(
        "--small-results",
        action="store_true",
        help="keep what branches come to in packs: UnumWorkflow(small_results=True)",
    )
    parser.add_argument(
        "--guard", choices=("read", "commit", "lease"), help="of all functions: UnumWorkflow(guard=...); read without"
    )
    parser.add_argument("--rate", metavar="R/s", help="executions a second, to tell what a month costs")
    parser.add_argument(
        "--functions", metavar="MODULE", help="handlers to count with, in place of amounts; see unum run"
    )
    parser.add_argument("--input", metavar="JSON", help=f"for the handlers: {_JSON}; {{}} without")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_start(commands: _Commands) -> None:
    parser = _add(commands, "start", "executions", "start an execution of a deployed workflow")
    _add_input(parser)
    parser.add_argument("--name", help="of the execution; to start the same again is harmless")
    _add_deployed(parser)


def _add_describe(commands: _Commands) -> None:
    parser = _add(commands, "describe", "executions", "show an execution's status, input and result")
    _add_execution(parser)
    parser.add_argument("--receipt", action="store_true", help="show what it has used, as far as its steps tell")


def _add_wait(commands: _Commands) -> None:
    parser = _add(commands, "wait", "executions", "wait until an execution has ended and print its output")
    _add_execution(parser)
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="how long to wait; for ever without")
    parser.add_argument("--steps", action="store_true", help="show each step on standard error as it commits")


def _add_steps(commands: _Commands) -> None:
    parser = _add(commands, "steps", "executions", "list an execution's committed steps")
    _add_execution(parser)


def _add_history(commands: _Commands) -> None:
    parser = _add(commands, "history", "history", "tell what happened in an execution, in events as of Step Functions")
    _add_execution(parser)
    parser.add_argument("--file", metavar="FILE", required=True, help=f"the version that it runs on: {_DEFINITION}")


def _add_list(commands: _Commands) -> None:
    parser = _add(
        commands, "list", "list_executions", "list executions, newest first; the store must have been made for it"
    )
    parser.add_argument("--status", choices=_STATUSES, help="of all that are shown; any without")
    parser.add_argument(
        "--limit", metavar="N", type=partial(_count, 1), default=100, help="how many at most; 100 without"
    )
    _add_deployed(parser)


def _add_map_runs(commands: _Commands) -> None:
    parser = _add(commands, "map-runs", "map_runs", "tell how far the Maps of an execution have come")
    _add_execution(parser)
    parser.add_argument("--file", metavar="FILE", required=True, help=f"the version that it runs on: {_DEFINITION}")


def _count(least: int, text: str, *, most: int | None = None) -> int:
    if text.isdecimal() and least <= int(text) <= (int(text) if most is None else most):
        return int(text)
    allowed = f"from {least} up" if most is None else f"from {least} to {most:,}"
    raise argparse.ArgumentTypeError(f"expected an integer {allowed}, got {text!r}")


def _add_control(commands: _Commands) -> None:
    parser = _add(commands, "stop", "control", "stop an execution")
    parser.add_argument("--error", metavar="NAME", help="of the error that it comes to")
    parser.add_argument("--cause", metavar="TEXT", help="for humans")
    _add_execution(parser)
    _add_execution(_add(commands, "redrive", "control", "let an execution that failed go on from what has succeeded"))
    _add_execution(_add(commands, "nudge", "control", "send what an execution waits for once more"))
    _add_execution(_add(commands, "why", "control", "tell what an execution waits for"))
    parser = _add(commands, "fork", "control", "start an execution from a state of another one")
    parser.add_argument("--from", dest="node", metavar="STATE", required=True, help="which begins it")
    parser.add_argument("--name", required=True, help="of the new execution")
    parser.add_argument("--input", metavar="JSON", help=f"what the state is entered with, {_JSON}; as before without")
    parser.add_argument("--visit", metavar="N", type=int, default=1, help="which visit of the state, from 1")
    _add_execution(parser)


def _add_definition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help=_DEFINITION)
    parser.add_argument("--name", help="of the workflow; the file's name without its endings if not given")


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--input", metavar="JSON", required=True, help=_JSON)


def _add_format(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help=about)
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")


def _add_execution(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("execution", metavar="EXECUTION", help="name of the execution")
    _add_deployed(parser)


def _add_deployed(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("the workflow", "either a stack, or a table, a name and, to start, an alias")
    where.add_argument("--stack", help="CloudFormation stack with the workflow's outputs")
    where.add_argument("--workflow", metavar="NAME", help="which workflow; not needed if the stack has only one")
    where.add_argument("--table", help="name or ARN of the workflow's table")
    where.add_argument("--start-alias", metavar="ARN", help="of the workflow's start alias")
    where.add_argument("--control-alias", metavar="ARN", help="of the workflow's control alias, to control executions")
    where.add_argument("--payload-bucket", metavar="NAME", help="of the workflow's bucket for large values")
    where.add_argument("--region", help="AWS region; that of the environment or profile without")
    where.add_argument("--profile", help="AWS profile")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_send_task_success(commands: _Commands) -> None:
    parser = _add(commands, "send-task-success", "tasks", "let a Task that waits succeed")
    parser.add_argument("--output", metavar="JSON", required=True, help=f"the Task's result; {_JSON}")
    _add_token(parser)


def _add_send_task_failure(commands: _Commands) -> None:
    parser = _add(commands, "send-task-failure", "tasks", "let a Task that waits fail")
    parser.add_argument("--error", metavar="NAME", help="of the error, for retriers and catchers")
    parser.add_argument("--cause", metavar="TEXT", help="for humans")
    _add_token(parser)


def _add_send_task_heartbeat(commands: _Commands) -> None:
    parser = _add(commands, "send-task-heartbeat", "tasks", "tell a Task that waits that its work is being done")
    _add_token(parser)


def _add_get_activity_task(commands: _Commands) -> None:
    parser = _add(
        commands, "get-activity-task", "tasks", "take a Task of an activity; waits for one for up to a minute"
    )
    parser.add_argument("activity", metavar="NAME", help="of the activity")
    parser.add_argument("--worker-name", metavar="NAME", default="", help="who asks, for humans")
    parser.add_argument("--queue-url", metavar="URL", help="of the activity's queue; not needed with a stack")
    _add_start_alias(parser)


def _add_watch(commands: _Commands) -> None:
    parser = _add(commands, "watch", "watch", "show how far an execution has come until it has ended; print its output")
    _add_execution(parser)
    parser.add_argument("--file", metavar="FILE", help="the version that it runs on, to show states that have not run")
    parser.add_argument(
        "--graph", metavar="SVG", help="draw the execution into this file again and again; needs --file"
    )
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="how long to wait; for ever without")


def _add_completion(commands: _Commands) -> None:
    parser = _add(commands, "completion", "completion", "print a script that completes commands, options and files")
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    parser.add_argument("--json", action="store_true", help="print an object with the script")


def _add_token(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--token", "--task-token", metavar="TOKEN", required=True, help="that the Task gave out")
    _add_start_alias(parser)


def _add_start_alias(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("the workflow", "either a stack or a start alias")
    where.add_argument("--stack", help="CloudFormation stack with the workflow's outputs")
    where.add_argument("--workflow", metavar="NAME", help="which workflow of the stack; not needed if it has only one")
    where.add_argument("--start-alias", metavar="ARN", help="of the workflow's start alias")
    _add_session(where)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_session(where: "argparse._ArgumentGroup") -> None:
    where.add_argument("--region", help="AWS region; that of the environment or profile without")
    where.add_argument("--profile", help="AWS profile")


def _add_json_always(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="makes no difference: what this prints is JSON")
