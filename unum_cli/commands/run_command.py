"""``unum run``: execute a definition in this process, on the memory store."""

import argparse
import contextlib
import sys
from collections.abc import Iterable
from uuid import uuid4

from unum_cli.commands.command_arguments import compiled_or_failed, execution_input, write_text
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.handlers import stand_ins
from unum_cli.commands.printing import check_success, print_json
from unum_cli.picture.svg import draw
from unum_cli.safe_output import raw
from unum_client.descriptions import Description, Step
from unum_client.reading import stored_steps
from unum_client.reading.progress import progress
from unum_client.terminal.live import LiveTable
from unum_runtime.errors import InvalidExecutionInput, UnumError
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json
from unum_runtime.protocol.history.start_records import checked_input
from unum_simulator.local import LocalWorkflow
from unum_simulator.stand_ins.modelled_services import ModelledServices, with_end


def run(options: argparse.Namespace) -> None:
    """Run the workflow and print its output.

    Raises:
        UsageError: invalid file, input or handler module; no code ran.
        CommandFailed: problems in the definition, or a failed execution; steps and picture are still written.
    """
    workflow = compiled_or_failed(options.file, options.name)
    if options.auto_mock:
        workflow = with_end(workflow)
    value = _checked(_input(options, workflow))
    local = LocalWorkflow(workflow, stand_ins(options, workflow, workflow.tasks))
    record, steps = _run(local, value)
    description = Description.of(record, _last(local, record))
    if options.steps:
        _show_steps(steps)
    if options.graph:
        write_text(options.graph, _picture(workflow, [record, *steps], description))
    check_success(description)
    print_json(description.output)


def _run(local: LocalWorkflow, value: Json) -> tuple[Checkpoint, list[Checkpoint]]:
    """Execute the workflow; return start record and steps. Output of handlers goes to standard error."""
    name = str(uuid4())
    try:
        # Standard output carries the result alone, so that it can be piped into another program.
        with contextlib.redirect_stdout(raw(sys.stderr)):
            local.run(name, value)
    except UnumError as error:
        raise CommandFailed(str(error)) from error
    except SystemExit as left:
        raise CommandFailed(
            f"a handler ended the process with {left.code}; in Lambda its Task fails with Runtime.ExitError"
        ) from left
    record = stored_steps.start_record(local.store, local.workflow.name, name)
    return record, list(stored_steps.steps(local.store, local.workflow.name, record.name.execution))


def _last(local: LocalWorkflow, record: Checkpoint) -> Checkpoint | None:
    return stored_steps.last_step(local.store, local.workflow.name, record.name.execution)


def _show_steps(steps: Iterable[Checkpoint]) -> None:
    table = LiveTable(raw(sys.stderr))
    # Steps are stored by scope; readers expect them in the order of their commits.
    for checkpoint in sorted(steps, key=lambda checkpoint: checkpoint.committed_ms):
        table.add(Step.of(checkpoint))
    table.close()


def _picture(workflow: Workflow, checkpoints: Iterable[Checkpoint], description: Description) -> str:
    subtitle = f"execution {description.name}, {description.status.lower()}"
    return draw(workflow, progress=progress(workflow, checkpoints), subtitle=subtitle)


def _input(options: argparse.Namespace, workflow: Workflow) -> Json:
    """Return the given input; with ``--auto-mock``, by default one that has what the definition reads."""
    if options.input is not None:
        return execution_input(options.input)
    if not options.auto_mock:
        raise UsageError("--input: expected the execution's input; only --auto-mock makes one")
    return ModelledServices(workflow).input()


def _checked(value: Json) -> Json:
    try:
        return checked_input(value)
    except InvalidExecutionInput as error:
        raise UsageError(f"--{error}") from error
