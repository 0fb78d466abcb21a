"""``unum watch``: show the progress of a deployed execution until it ends."""

import argparse
import sys
from collections.abc import Iterable, Mapping

from unum_cli.commands.command_arguments import write_text
from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.executions import connected, given_definition
from unum_cli.commands.printing import check_success, print_json, to_json
from unum_cli.picture.svg import draw
from unum_cli.safe_output import raw
from unum_client.client import Client
from unum_client.deliveries import to_datetime
from unum_client.descriptions import Description, Step, StepStatus
from unum_client.polling import Pauses
from unum_client.reading.progress import Progress
from unum_client.terminal.amounts import duration_text
from unum_client.terminal.board import Board
from unum_runtime.errors import DefinitionNotStored, UnumError
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Workflow


def run(options: argparse.Namespace) -> None:
    """Show the states on standard error until the execution has ended, then print its output.

    Raises:
        UsageError: unreadable file, or unknown workflow.
        CommandFailed: unknown, failed or differently versioned execution, or AWS error.
    """
    client = connected(options)
    definition = given_definition(options, client)
    try:
        description = _watch(client, definition, options)
    except UnumError as error:
        raise CommandFailed(str(error)) from error
    check_success(description)
    print_json(to_json(description) if options.json else description.output)


def _watch(client: Client, given: Workflow | None, options: argparse.Namespace) -> Description:
    pauses = Pauses(execution_name=options.execution, timeout_s=options.timeout, waiter=client.waiter)
    seen: Mapping[str, Progress] = {}
    definition, has_begun = given, False
    with Board(raw(sys.stderr)) as board:
        while True:
            # Status before steps: once an execution has ended, the steps read afterwards are complete.
            description = client.describe(options.execution)
            if given is None and not has_begun:  # only a commit names the version
                has_begun = next(client.steps(options.execution), None) is not None
                is_needed = options.graph and (has_begun or description.status is not Status.RUNNING)
                definition = _stored(client, options.execution, is_needed=is_needed)
            states = _states(client, definition, options.execution)
            board.show(states, _title(client, description))
            if definition and options.graph:
                write_text(options.graph, draw(definition, progress=states, subtitle=_subtitle(description)))
            if description.status is not Status.RUNNING:
                return description
            # Progress resets the pause: steps tend to come in bursts, and an idle execution is polled ever more rarely.
            if states != seen:
                pauses.restart()
            seen = states
            pauses.pause()


def _stored(client: Client, execution: str, *, is_needed: bool) -> Workflow | None:
    """Return the definition in the workflow's store; None if it is unknown, and committed steps suffice.

    Raises:
        DefinitionNotStored: it is unknown and needed.
    """
    try:
        return client.definition(execution)
    except DefinitionNotStored:
        if is_needed:
            raise
        return None


def _states(client: Client, definition: Workflow | None, name: str) -> Mapping[str, Progress]:
    return client.progress(name, definition) if definition else _committed(client.steps(name))


def _committed(steps: Iterable[Step]) -> Mapping[str, Progress]:
    """Return the progress of committed Tasks, in the order of their first commit; used without a definition."""
    found: dict[str, Progress] = {}
    for step in sorted(steps, key=lambda step: step.committed_at):
        # An entered fan-out has no duration yet; its branches report theirs.
        if step.status is StepStatus.ENTERED:
            continue
        now = found.get(step.state, Progress())
        failed = step.status in (StepStatus.FAILED, StepStatus.CAUGHT, StepStatus.RETRIED)
        found[step.state] = Progress(
            succeeded=now.succeeded + (not failed),
            failed=now.failed + failed,
            duration_ms=now.duration_ms + step.duration_ms,
            slowest_ms=max(now.slowest_ms, step.duration_ms),
        )
    return found


def _title(client: Client, description: Description) -> str:
    until = description.stopped_at or to_datetime(client.clock.now_ms())
    elapsed_ms = int((until - description.started_at).total_seconds() * 1000)
    return f"{description.name} {description.status}, {duration_text(max(elapsed_ms, 0))}"


def _subtitle(description: Description) -> str:
    return f"execution {description.name}, {description.status.lower()}"
