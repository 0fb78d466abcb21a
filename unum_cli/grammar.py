"""Grammar of the command line: commands, options and their help."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - has no public name

_EPILOG = (
    "Exit codes: 0 success; 1 the definition, the execution or AWS failed; 2 the command line is wrong; "
    "130 after Ctrl-C."
)

_DEFINITION = "definition in the Amazon States Language, as JSON or YAML, or compiled"
_JSON = "JSON text, @FILE to read a file, - for standard input"

_REDRIVABLE = ("FAILED", "TIMED_OUT", "ABORTED")

_NAME = "name, construct ID or path of the workflow (default: UNUM_WORKFLOW, or the stack's only one)"

_STATUSES = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")


def grammar() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="unum", description="Workflows of Lambda functions.", epilog=_EPILOG)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_init(commands)
    _add_dev(commands)
    _add_migrate(commands)
    _add_compile(commands)
    _add_validate(commands)
    _add_export(commands)
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
    _add_logs(commands)
    _add_history(commands)
    _add_trace(commands)
    _add_send_task_success(commands)
    _add_send_task_failure(commands)
    _add_send_task_heartbeat(commands)
    _add_get_activity_task(commands)
    _add_watch(commands)
    _add_ui(commands)
    _add_completion(commands)
    _add_control(commands)
    _add_signal(commands)
    _add_pause(commands)
    _add_memo(commands)
    _add_deployed(add_versions(commands))
    _add_list(commands)
    _add_map_runs(commands)
    _add_children(commands)
    return parser


def _add(
    commands: _Commands, name: str, module: str, summary: str, *, room: str = "commands"
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    parser.set_defaults(command=name, module=f"{room}.{module}")
    return parser


def _add_init(commands: _Commands) -> None:
    parser = _add(commands, "init", "new", "make a project: a CDK app with a workflow and its tests", room="project")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="new or empty folder; its name names the stack")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_dev(commands: _Commands) -> None:
    summary = "run the project of this folder in an emulator, and deploy it again after each change"
    parser = _add(commands, "dev", "dev", summary, room="project")
    text = "Python of an environment with unum-emulator (default: .venv-emulator/bin/python)"
    parser.add_argument("--emulator", metavar="PYTHON", type=Path, default=Path(".venv-emulator/bin/python"), help=text)
    parser.add_argument("--auth", action="store_true", help="enforce IAM policies, as AWS does")
    inside = "command to run once the project is deployed, in place of watching; the emulator ends with it"
    parser.add_argument("inside", metavar="COMMAND", nargs=argparse.REMAINDER, help=inside)


def _add_migrate(commands: _Commands) -> None:
    summary = "turn the state machines of a Python CDK app into workflows: print the edits, or make them"
    parser = _add(commands, "migrate", "migrate_command", summary, room="migration")
    about = "Python file; or a folder, for all in it"
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help=about)
    parser.add_argument("--write", action="store_true", help="make the edits (default: print them as a unified diff)")
    parser.add_argument("--json", action="store_true", help="print an array with an object for each file")


def _add_compile(commands: _Commands) -> None:
    parser = _add(commands, "compile", "compilation", "print a definition's compiled form, or all its errors")
    _add_definition(parser)
    _add_strict(parser)
    _add_format(parser, "text: indented, errors one per line (default); json: compact, errors as one array")


def _add_validate(commands: _Commands) -> None:
    parser = _add(commands, "validate", "validation", "report problems of definitions")
    parser.add_argument("files", metavar="FILE", nargs="+", help=_DEFINITION)
    _add_strict(parser)
    _add_format(parser, "text: a problem on each line (default); json: an array with an object for each file")


def _add_strict(parser: argparse.ArgumentParser) -> None:
    meaning = "also report everything that Step Functions refuses or does otherwise"
    parser.add_argument("--strict", action="store_true", help=meaning)


def _add_export(commands: _Commands) -> None:
    summary = "print a workflow as a state machine of Step Functions, and what stays behind"
    parser = _add(commands, "export", "export_command", summary)
    about = f"{_DEFINITION}; or FILE.py:NAME, a graph or a chain of the CDK (default: the deployed workflow)"
    parser.add_argument("file", metavar="FILE", nargs="?", help=about)
    parser.add_argument("--name", help="name of the workflow in FILE (default: file name without endings)")
    parser.add_argument(
        "--function",
        metavar="KEY=ARN",
        action="append",
        default=[],
        help="ARN of a function, any number of times (default: ${KEY}, for DefinitionSubstitutions)",
    )
    parser.add_argument("--anyway", action="store_true", help="export although results would change")
    parser.add_argument("-o", "--output", metavar="MACHINE", help="output file (default: standard output)")
    _add_address(parser)
    parser.add_argument(
        "--json", action="store_true", help="print an object with machine, changed, lost, substitutions"
    )


def _add_graph(commands: _Commands) -> None:
    summary = "draw a definition, a deployed workflow or an execution, as SVG or as a Mermaid flowchart"
    parser = _add(commands, "graph", "graph_command", summary)
    parser.add_argument("file", metavar="FILE", nargs="?", help=f"{_DEFINITION} (default: that of the workflow)")
    parser.add_argument("--name", help="name of the workflow in FILE (default: file name without endings)")
    parser.add_argument("--execution", metavar="EXECUTION", help="execution to draw, in the version that it runs on")
    parser.add_argument(
        "--format", choices=("svg", "mermaid"), default="svg", help="format of the picture (default: svg)"
    )
    parser.add_argument("-o", "--output", metavar="PICTURE", help="output file (default: standard output)")
    _add_address(parser)
    parser.add_argument("--json", action="store_true", help="print an object with the picture, or the file's name")


def _add_diff(commands: _Commands) -> None:
    summary = "show the effect of deploying NEW on executions that run on OLD"
    parser = _add(commands, "diff", "diff", summary)
    about = f"{_DEFINITION}; or a folder of `cdk synth`"
    parser.add_argument("old", metavar="OLD", nargs="?", help=f"{about} (default: what is deployed)")
    parser.add_argument("new", metavar="NEW", help=about)
    parser.add_argument("--name", default="workflow", help="name of the workflow in folders of `cdk synth`")
    parser.add_argument("--execution", metavar="EXECUTION", help="execution whose version is OLD")
    _add_address(parser)
    _add_format(parser, "text: a change on each line (default); json: an array of objects")


def _add_schema(commands: _Commands) -> None:
    parser = _add(commands, "schema", "schema_command", "print the JSON Schema of compiled definitions")
    _add_json_always(parser)


def _add_run(commands: _Commands) -> None:
    parser = _add(commands, "run", "run_command", "run a definition in this process and print its output")
    _add_definition(parser)
    _add_stand_ins(
        parser,
        "dotted name or .py file of a Python module with handlers by function key or Task name, or with a dict "
        "FUNCTIONS of them",
    )
    parser.add_argument("--input", metavar="JSON", help=f"{_JSON} (default with --auto-mock: a sample)")
    parser.add_argument("--steps", action="store_true", help="show the committed steps on standard error")
    parser.add_argument("--graph", metavar="SVG", help="draw the executed graph into this file")
    _add_json_always(parser)


def _add_test_state(commands: _Commands) -> None:
    parser = _add(commands, "test-state", "state_test", "run one state alone, with the options of AWS's TestState")
    parser.add_argument("file", metavar="FILE", help="definition of a state, or of a state machine, as JSON or YAML")
    parser.add_argument("--state-name", metavar="NAME", help="name of a state in a state machine")
    parser.add_argument("--input", metavar="JSON", help=f"{_JSON} (default: {{}})")
    parser.add_argument("--variables", metavar="JSON", help="variables of the workflow, as an object")
    parser.add_argument("--context", metavar="JSON", help="context object (default: that of a new execution)")
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
    parser.add_argument(
        "--inspection-level", choices=("INFO", "DEBUG", "TRACE"), default="INFO", help="amount of detail"
    )
    _add_stand_ins(parser, "handler for a Task without a mock; see unum run", has_file=False)
    _add_json_always(parser)


def _add_cost(commands: _Commands) -> None:
    parser = _add(commands, "cost", "cost", "estimate what executions of a definition cost, here and elsewhere")
    _add_definition(parser)
    for name, least, most, value, about in AMOUNTS:  # argparse gets no default: the module that uses a value has it
        counted = partial(count, least, most=most)
        parser.add_argument(f"--{name}", metavar="N", type=counted, help=f"{about} (default: {value})")
    parser.add_argument(
        "--payload",
        choices=("auto", "s3", "inline"),
        default="auto",
        help="storage of large values: ExecutionData(payload=...) (default: auto)",
    )
    parser.add_argument(
        "--small-results",
        action="store_true",
        help="store small branch results in packs: ExecutionData(small_results=True)",
    )
    parser.add_argument(
        "--guard",
        choices=("read", "commit", "lease"),
        help="guard of all functions: UnumWorkflow(guard=...) (default: read)",
    )
    parser.add_argument(
        "--called",
        metavar="KEY",
        action="append",
        default=[],
        help="function without the runtime, which the workflow calls; may be repeated",
    )
    parser.add_argument("--rate", metavar="R/s", help="executions per second; adds the price of a month")
    _add_stand_ins(parser, "handlers that decide amounts; see unum run")
    parser.add_argument("--input", metavar="JSON", help=f"input for the handlers: {_JSON} (default: {{}})")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_start(commands: _Commands) -> None:
    parser = _add(commands, "start", "executions", "start an execution of a deployed workflow")
    _add_input(parser)
    parser.add_argument("--name", help="name of the execution; starting it again with the same input changes nothing")
    parser.add_argument("--force", action="store_true", help="compute memoized results anew, and replace those stored")
    _add_attributes(parser, "attribute to find the execution by; may be repeated")
    _add_deployed(parser)


def _add_attributes(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--attribute", metavar="NAME=VALUE", action="append", default=[], help=what)


def _add_describe(commands: _Commands) -> None:
    parser = _add(commands, "describe", "executions", "show an execution's status, input and result")
    _add_execution(parser)
    parser.add_argument("--receipt", action="store_true", help="show the resources that it used, from its steps")


def _add_wait(commands: _Commands) -> None:
    parser = _add(commands, "wait", "executions", "wait until an execution has ended and print its output")
    _add_execution(parser)
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="longest wait (default: no limit)")
    parser.add_argument("--steps", action="store_true", help="show each step on standard error as it commits")


def _add_steps(commands: _Commands) -> None:
    parser = _add(commands, "steps", "executions", "list an execution's committed steps")
    _add_execution(parser)


def _add_logs(commands: _Commands) -> None:
    summary = "print the log lines of an execution, of user code and of the runtime"
    parser = _add(commands, "logs", "logs_command", summary, room="logs")
    parser.add_argument("--step", metavar="STATE", help="only the invocations that committed STATE, or STATE[INDEX]")
    parser.add_argument("--follow", action="store_true", help="print lines as they come, until the execution has ended")
    parser.add_argument("--platform", action="store_true", help="also print Lambda's own lines, as START and REPORT")
    _add_execution(parser)


def _add_history(commands: _Commands) -> None:
    summary = "print an execution's events, in the format of Step Functions"
    parser = _add(commands, "history", "history_command", summary)
    _add_execution(parser)
    _add_version(parser)
    summary = "check an execution's stored history for forged and lost commits"
    parser = _add(commands, "verify", "history_command", summary)
    kept = "retention of the workflow's items (default: that of --stack, else a week)"
    parser.add_argument("--retention", metavar="SECONDS", type=partial(count, 1), help=kept)
    _add_execution(parser)
    _add_version(parser)


def _add_trace(commands: _Commands) -> None:
    summary = "print an execution's trace in the model of OpenTelemetry, or send it to a collector"
    parser = _add(commands, "trace", "trace_command", summary, room="traces")
    where = "send to this collector, by OTLP over HTTP (default: OTEL_EXPORTER_OTLP_ENDPOINT)"
    parser.add_argument("--otlp", metavar="URL", nargs="?", const="", help=where)
    without = "leave out attempts of user code, which functions with the option `opentelemetry` send themselves"
    parser.add_argument("--without-user-code", action="store_true", help=without)
    _add_execution(parser)
    _add_version(parser)


def _add_list(commands: _Commands) -> None:
    summary = "list executions, newest first; needs a table with the index of executions, the default"
    parser = _add(commands, "list", "list_executions", summary)
    parser.add_argument("--status", choices=_STATUSES, help="status of the listed executions (default: any)")
    parser.add_argument("--limit", metavar="N", type=partial(count, 1), default=100, help="longest list (default: 100)")
    _add_attributes(parser, "attribute of the listed executions; may be repeated")
    _add_deployed(parser)


def _add_memo(commands: _Commands) -> None:
    parser = _add(commands, "memo", "memo_command", "list, show or forget results that executions share (`memoize`)")
    parser.add_argument("action", choices=("list", "show", "forget"), help="what to do")
    parser.add_argument("--step", metavar="TASK", help="Task that shares the results (default for list: all)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--key", metavar="KEY", help="name of a result, as `list` prints it")
    which.add_argument("--all", action="store_true", help="forget all results of the Task")
    parser.add_argument("--limit", metavar="N", type=partial(count, 1), default=100, help="longest list (default: 100)")
    _add_deployed(parser)


def _add_map_runs(commands: _Commands) -> None:
    parser = _add(commands, "map-runs", "map_runs_command", "show the progress of an execution's Map Runs")
    _add_execution(parser)
    _add_version(parser)


def _add_children(commands: _Commands) -> None:
    summary = "list the child executions of an execution's distributed Maps"
    parser = _add(commands, "children", "map_runs_command", summary)
    parser.add_argument("--child", metavar="NAME", help="show this child execution with its steps")
    _add_execution(parser)
    _add_version(parser)


def _add_control(commands: _Commands) -> None:
    parser = _add(commands, "stop", "control_command", "stop an execution")
    parser.add_argument("--error", metavar="NAME", help="error name of the stopped execution")
    parser.add_argument("--cause", metavar="TEXT", help="explanation for people")
    _add_execution(parser)
    _add_redrive(commands)
    _add_execution(_add(commands, "nudge", "control_command", "send the events that an execution waits for again"))
    summary = "delete an execution that has ended, and say what remains"
    _add_execution(_add(commands, "delete", "control_command", summary))
    _add_execution(_add(commands, "why", "control_command", "show what an execution waits for"))
    parser = _add(commands, "fork", "control_command", "start an execution from a state of another one")
    parser.add_argument(
        "--from", dest="node", metavar="STATE", required=True, help="state that begins the new execution"
    )
    parser.add_argument("--name", required=True, help="name of the new execution")
    parser.add_argument("--input", metavar="JSON", help=f"input of the state, {_JSON} (default: as before)")
    parser.add_argument("--visit", metavar="N", type=int, default=1, help="visit of the state, counted from 1")
    _add_execution(parser)


def _add_signal(commands: _Commands) -> None:
    summary = "send a signal to Tasks that wait for it, in one execution or in all"
    parser = _add(commands, "signal", "control_command", summary)
    parser.add_argument(
        "execution", metavar="EXECUTION", nargs="?", help="name of the execution (default: all that wait with --key)"
    )
    parser.add_argument("signal", metavar="SIGNAL", help="name of the signal")
    parser.add_argument("--value", metavar="JSON", help="the Task's result, or @FILE (default: null)")
    parser.add_argument("--key", metavar="TEXT", help="key of the signal, for Tasks that wait with one")
    parser.add_argument("--id", metavar="TEXT", help="identity: two signals with one count once (default: a new one)")
    parser.add_argument(
        "--keep", metavar="AGE", help="for all executions: time for those that wait later, as in 90m (default: 1d)"
    )
    _add_deployed(parser)


def _add_pause(commands: _Commands) -> None:
    parser = _add(commands, "pause", "control_command", "start no executions from now on; those that exist go on")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--reason", metavar="TEXT", help="why, for those whose starts are refused")
    what.add_argument("--show", action="store_true", help="change nothing; show since when and why it is paused")
    _add_deployed(parser)
    _add_deployed(_add(commands, "resume", "control_command", "start executions again after a pause"))


def _add_redrive(commands: _Commands) -> None:
    parser = _add(commands, "redrive", "control_command", "continue failed executions from what had succeeded")
    parser.add_argument("execution", metavar="EXECUTION", nargs="?", help="name of the execution; or give --status")
    parser.add_argument(
        "--on",
        choices=("original", "current"),
        help="versions to continue on: those of the execution, or those deployed now (default: those deployed now if "
        "they can continue it)",
    )
    parser.add_argument("--status", choices=_REDRIVABLE, help="redrive all executions of this status")
    parser.add_argument("--since", metavar="AGE", help="with --status, only those that ended in the last 90m, 2h or 3d")
    _add_deployed(parser)


def _add_definition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help=_DEFINITION)
    parser.add_argument("--name", help="name of the workflow (default: file name without endings)")


def _add_stand_ins(parser: argparse.ArgumentParser, functions: str, *, has_file: bool = True) -> None:
    where = parser.add_argument_group("answers of Tasks", "mocks go before handlers, and handlers before samples")
    where.add_argument("--functions", metavar="MODULE", help=functions)
    parser.set_defaults(mock_file=None, test_case=None)
    if has_file:
        about = "mock configuration in the format of Step Functions Local"
        where.add_argument("--mock", dest="mock_file", metavar="FILE", help=about)
        where.add_argument("--test-case", metavar="NAME", help="test case of the mock file (default: the only one)")
    where.add_argument(
        "--auto-mock",
        action="store_true",
        help="answer with samples: services by their models, functions by what the definition reads",
    )


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--input", metavar="JSON", required=True, help=_JSON)


def _add_format(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help=about)
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")


def _add_execution(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("execution", metavar="EXECUTION", help="name of the execution")
    _add_deployed(parser)


def _add_version(parser: argparse.ArgumentParser) -> None:
    about = f"version that the execution runs on: {_DEFINITION} (default: from the workflow's store)"
    parser.add_argument("--file", metavar="FILE", help=about)


def _add_deployed(parser: argparse.ArgumentParser) -> None:
    _add_address(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_address(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group(
        "the workflow", "either a stack, or a table and a name, and an alias to start executions"
    )
    where.add_argument("--stack", help="CloudFormation stack with the workflow's outputs (default: UNUM_STACK)")
    where.add_argument("--workflow", metavar="NAME", help=_NAME)
    where.add_argument("--table", help="name or ARN of the workflow's table")
    where.add_argument("--start-alias", metavar="ARN", help="ARN of the workflow's start alias")
    where.add_argument(
        "--control-alias", metavar="ARN", help="ARN of the workflow's control function, for control commands"
    )
    where.add_argument("--payload-bucket", metavar="NAME", help="name of the workflow's bucket for large values")
    _add_session(where)


def _add_send_task_success(commands: _Commands) -> None:
    parser = _add(commands, "send-task-success", "tasks_command", "answer a waiting Task with its result")
    parser.add_argument("--output", metavar="JSON", required=True, help=f"the Task's result; {_JSON}")
    _add_token(parser)


def _add_send_task_failure(commands: _Commands) -> None:
    parser = _add(commands, "send-task-failure", "tasks_command", "answer a waiting Task with an error")
    parser.add_argument("--error", metavar="NAME", help="error name, for retriers and catchers")
    parser.add_argument("--cause", metavar="TEXT", help="explanation for people")
    _add_token(parser)


def _add_send_task_heartbeat(commands: _Commands) -> None:
    parser = _add(commands, "send-task-heartbeat", "tasks_command", "report that work on a waiting Task continues")
    _add_token(parser)


def _add_get_activity_task(commands: _Commands) -> None:
    parser = _add(commands, "get-activity-task", "tasks_command", "receive a Task of an activity; waits up to a minute")
    parser.add_argument("activity", metavar="NAME", help="name of the activity")
    parser.add_argument("--worker-name", metavar="NAME", default="", help="name of the worker, for people")
    parser.add_argument("--queue-url", metavar="URL", help="URL of the activity's queue; not needed with a stack")
    _add_start_alias(parser)


def _add_watch(commands: _Commands) -> None:
    parser = _add(commands, "watch", "watch", "show the progress of an execution until it ends; print its output")
    _add_execution(parser)
    _add_version(parser)
    parser.add_argument("--graph", metavar="SVG", help="file to draw the execution into, repeatedly")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="longest wait (default: no limit)")


def _add_ui(commands: _Commands) -> None:
    summary = "serve a page on localhost that shows executions; by default those of all stacks"
    parser = _add(commands, "ui", "ui_command", summary, room="ui")
    parser.add_argument(
        "--allow-changes",
        action="store_true",
        help="also start, stop, redrive, fork, nudge and delete executions, and answer Tasks (default: only show)",
    )
    port = partial(count, 0, most=65_535)
    parser.add_argument("--port", metavar="N", type=port, default=0, help="port (default: a free one)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    _add_deployed(parser)


def _add_completion(commands: _Commands) -> None:
    summary = "print a script that completes commands, options and files"
    parser = _add(commands, "completion", "completion_command", summary)
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    parser.add_argument("--json", action="store_true", help="print an object with the script")


def _add_token(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--token", "--task-token", metavar="TOKEN", required=True, help="task token")
    _add_start_alias(parser)


def _add_start_alias(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("the workflow", "either a stack or a start alias")
    where.add_argument("--stack", help="CloudFormation stack with the workflow's outputs (default: UNUM_STACK)")
    where.add_argument("--workflow", metavar="NAME", help=_NAME)
    where.add_argument("--start-alias", metavar="ARN", help="ARN of the workflow's start alias")
    _add_session(where)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_session(where: "argparse._ArgumentGroup") -> None:
    where.add_argument("--region", help="AWS region (default: that of environment or profile)")
    where.add_argument("--profile", help="AWS profile")


def _add_json_always(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="accepted for uniformity; the output is always JSON")


def add_versions(commands: Any) -> argparse.ArgumentParser:
    """Add the command to subparsers `commands` without address options; return its parser."""
    summary = "list the published versions of a workflow's functions, or delete those that nothing needs"
    parser: argparse.ArgumentParser = commands.add_parser(
        "versions", help=summary, description=f"{summary[0].upper()}{summary[1:]}."
    )
    parser.set_defaults(command="versions", module="commands.versions_command")
    parser.add_argument("action", choices=("list", "prune"), help="what to do")
    parser.add_argument("--yes", action="store_true", help="delete them (default: say what would be deleted)")
    text = "newest versions of each function to keep in any case (default: 2, for a rollback)"
    parser.add_argument("--keep", metavar="N", type=partial(count, 1), default=2, help=text)
    return parser


AMOUNTS = (
    ("items", 0, None, 10, "branches of each Map"),
    ("rounds", 1, None, 3, "rounds of each loop"),
    ("result-bytes", 0, None, 200, "result size of each Task"),
    ("duration-ms", 0, 900_000, 0, "duration of each Task's user code or service call"),
    ("memory-mb", 128, 10_240, 128, "memory of each function"),
    ("timeout-s", 1, 900, 30, "timeout of each function"),
)
"""Assumptions of ``unum cost``: (option, minimum, maximum, default, help). Source of the maxima: AWS Lambda Developer
Guide, "Lambda quotas"."""


def count(least: int, text: str, *, most: int | None = None) -> int:
    """Parse an amount between `least` and `most`, as ``type`` of an option.

    Raises:
        ArgumentTypeError: another text.
    """
    if text.isdecimal() and least <= int(text) <= (int(text) if most is None else most):
        return int(text)
    allowed = f"from {least} up" if most is None else f"from {least} to {most:,}"
    raise argparse.ArgumentTypeError(f"expected an integer {allowed}, got {text!r}")
