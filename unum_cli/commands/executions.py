"""``unum start``, ``describe``, ``wait`` and ``steps``: executions of a deployed workflow."""

import argparse
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from unum_cli.aws.session import Session
from unum_cli.commands.command_arguments import attributes_in, compiled_or_failed, execution_input
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.printing import check_success, print_child, print_description, print_json, to_json
from unum_cli.commands.stack import Deployed, all_deployed, deployed
from unum_cli.safe_output import raw
from unum_cli.timing.parents import Relations, Started, awaited_by, parent_in
from unum_client.boto3_shapes.arns import Arns, home_of
from unum_client.client import Client
from unum_client.control import Missing
from unum_client.deliveries import to_datetime
from unum_client.descriptions import Description, Step
from unum_client.terminal.amounts import duration_text, time_text
from unum_client.terminal.live import LiveTable, waiting_text
from unum_runtime.errors import DefinitionNotStored, InvalidExecutionInput, InvalidName, UnumError
from unum_runtime.json_text import to_readable
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Workflow
from unum_runtime.wire.call_errors import call_errors

MOST_PLACES = 5
"""Most places of a running execution that ``unum describe`` prints."""

_ADDRESSES = ("table", "start_alias", "control_alias", "payload_bucket", "queue_url")
"""Options that a stack's outputs replace."""

_NO_STACK = "ValidationError"
"""Source: AWS CloudFormation API Reference, "DescribeStacks"."""


def run(options: argparse.Namespace) -> None:
    """Execute the command in ``options.command``.

    Raises:
        UsageError: unknown workflow, or invalid name or input.
        CommandFailed: unknown or failed execution, or AWS error.
    """
    try:
        # Parse the input before any AWS request: an invalid one needs no credentials to be reported.
        value = execution_input(options.input) if options.command == "start" else None
        attributes = attributes_in(options.attribute) if options.command == "start" else {}
        client = connected(options)
        match options.command:
            case "start":
                _start(client, value, attributes, options)
            case "describe":
                _describe(client, options)
            case "wait":
                _wait(client, options)
            case "steps":
                _steps(client, options)
    except (InvalidName, InvalidExecutionInput) as error:
        raise UsageError(f"--{error}") from error
    except UnumError as error:
        raise CommandFailed(str(error)) from error


def _start(client: Client, value: object, attributes: Mapping[str, str], options: argparse.Namespace) -> None:
    started = client.start(value, name=options.name, force=options.force, attributes=attributes)
    if options.json:
        print_json(to_json(started))
    else:
        print(
            f"{started.name} {'started' if started.is_new else 'had been started'} at {time_text(started.started_at)}"
        )


def _describe(client: Client, options: argparse.Namespace) -> None:
    arns = Arns(client.workflow, home_of(client.start_alias))
    if (child := arns.child_of(options.execution)) is not None:
        _describe_child(client, child, options)
        return
    description = client.describe(arns.name_of(options.execution))
    parent = None if options.receipt else parent_in(description.input)
    if options.receipt:
        _describe_with_receipt(client, description, as_json=options.json)
    elif options.json:
        print_json(
            to_json(description) | ({} if parent is None else _parent_json(client, parent, description, options))
        )
    else:
        print_description(description)
        if parent is not None:
            print(f"parent   {_parent_text(client, parent, description, options)}")
        if description.status is Status.RUNNING:
            _print_places(client, description.name)


def _parent_text(client: Client, parent: Started, child: Description, options: argparse.Namespace) -> str:
    match _lineage(client, parent, child, options):
        case "confirmed":
            return str(parent)
        case "denied":
            return f"unknown: the input names {parent}, whose steps have not started this execution"
    return f"{parent}, as the input says"


def _parent_json(
    client: Client, parent: Started, child: Description, options: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """Return the field with the parent, unless its steps deny it."""
    found = _lineage(client, parent, child, options)
    return {} if found == "denied" else {"started_by": {**parent._asdict(), "confirmed": found == "confirmed"}}


def _lineage(client: Client, parent: Started, child: Description, options: argparse.Namespace) -> str:
    """Return the `Lineage` of `child` as text; a parent of its own workflow needs no other client."""
    from unum_cli.timing.lineage import Lineage, lineage  # noqa: PLC0415 - few executions have a parent

    try:
        is_own = parent.workflow == client.workflow
        client_of = (lambda _: client) if is_own else relatives(client, options).client_of
        return lineage(client_of, child.input, Started(client.workflow, child.name))
    except CommandFailed:
        return Lineage.UNKNOWN


def _print_places(client: Client, name: str) -> None:
    """Print where a running execution is."""
    try:
        found = [*islice(client.pending(name), MOST_PLACES + 1)]
    except UnumError as error:  # descriptions need no right to read the table
        print(f"at       unknown: {error}")
        return
    now = to_datetime(client.clock.now_ms())
    for missing in found[:MOST_PLACES]:
        index = f"[{'.'.join(map(str, missing.index))}]" if missing.index else ""
        lasted = duration_text(max(0, round((now - missing.since).total_seconds() * 1000)))
        print(f"at       {missing.state}{index}, {waiting_text(missing)}, for {lasted}")
    if len(found) > MOST_PLACES:
        print("at       more states; see unum steps")


def _describe_child(client: Client, name: str, options: argparse.Namespace) -> None:
    if options.receipt:
        raise UsageError("--receipt: expected an execution, got a child execution, which its parent pays for")
    from unum_client.stepfunctions import StepFunctionsClient  # noqa: PLC0415 - loads all kinds of events

    _, child = StepFunctionsClient(client).find_child(name)
    print_child(child, as_json=options.json)


def _describe_with_receipt(client: Client, description: Description, *, as_json: bool) -> None:
    from unum_cli.commands.cost import (  # noqa: PLC0415 - loads the simulator, and few ask for it
        print_receipt,
        receipt_json,
        receipt_of,
    )

    receipt = receipt_of(client, description.name)
    if as_json:
        print_json(to_json(description) | {"receipt": receipt_json(receipt)})
    else:
        print_description(description)
        print_receipt(receipt)


def _wait(client: Client, options: argparse.Namespace) -> None:
    table = LiveTable(raw(sys.stderr))
    on_step = table.add if options.steps else None
    try:
        description = client.wait(options.execution, timeout_s=options.timeout, on_step=on_step)
    finally:
        table.close()
    check_success(description)
    print_json(to_json(description) if options.json else description.output)


def _steps(client: Client, options: argparse.Namespace) -> None:
    table = LiveTable(raw(sys.stdout))
    relations = Relations(client, options.execution)
    lines: list[str] = []
    for step in client.steps(options.execution):
        started = _started_by(step, relations)
        lines += [f"{step.state} started {each}" for each in started]
        if options.json:
            print(to_readable(to_json(step) | _started_json(started)))
        else:
            table.add(step)
    for missing in _pending(client, options.execution):
        started = awaited_by(missing)
        lines += [f"{missing.state} started {each}" for each in started]
        if options.json:
            status = {"status": waiting_text(missing)}
            print(to_readable(to_json(missing) | status | _started_json(started)))
        else:
            table.add_pending(missing, to_datetime(client.clock.now_ms()))
    table.close()
    if not options.json:
        print("".join(f"{line}\n" for line in lines), end="")


def _started_by(step: Step, relations: Relations) -> Sequence[Started]:
    """Return the executions that `step` has started; none, with a note, if its definition is unknown."""
    try:
        return relations.started_by(step)
    except DefinitionNotStored as error:
        print(f"what {step.state} has started is unknown: {error}", file=sys.stderr)
        return ()


def _started_json(started: Sequence[Started]) -> dict[str, Any]:
    """Return the field with the executions that a step has started; empty without any."""
    return {"started": [each._asdict() for each in started]} if started else {}


def _pending(client: Client, name: str) -> Iterator[Missing]:
    """Yield the commits that an execution waits for; nothing, with a note, if its definition is unknown."""
    try:
        if client.describe(name).status is Status.RUNNING:
            yield from client.pending(name)
    except DefinitionNotStored as error:
        print(f"what {name} waits for is unknown: {error}", file=sys.stderr)


def names_workflow(options: argparse.Namespace) -> bool:
    """Return True if `options` name a deployed workflow."""
    return options.stack is not None or None not in (options.table, options.workflow)


def connected(options: argparse.Namespace) -> Client:
    """Return a client for the workflow in `options`.

    Raises:
        UsageError: no workflow is named.
    """
    if not names_workflow(options):
        raise UsageError("expected --stack STACK, or --table TABLE and --workflow NAME, and to start --start-alias ARN")
    with needing_boto3():
        session = session_of(options)
        return client_at(located(session, options), session)


def client_at(found: Deployed, session: Session) -> Client:
    """Return a client for the workflow at the addresses `found`."""
    return Client.connect(
        table=found.table,
        workflow=found.workflow,
        start_alias=found.start_alias,
        retention_s=found.retention_s,
        session=session,
        describe_alias=found.describe_alias,
        control_alias=found.control_alias,
        payload_bucket=found.payload_bucket,
    )


class Relatives(NamedTuple):
    """Workflows that can be read.

    Attributes:
        client_of: returns a client of the workflow with a name; None for a workflow that cannot be read.
        workflows: names of the workflows that are known to be readable.
    """

    client_of: Callable[[str], Client | None]
    workflows: Collection[str]


def relatives(client: Client, options: argparse.Namespace) -> Relatives:
    """Return the workflows of the stack in `options`, else those of the table.

    Raises:
        CommandFailed: AWS refused to describe the stack.
    """
    if options.stack is None:

        def in_table(workflow: str) -> Client:
            own = workflow == client.workflow
            return client if own else replace(client, workflow=workflow, starts=None, descriptions=None, control=None)

        return Relatives(in_table, (client.workflow,))
    session = session_of(options)
    found = {one.workflow: one for one in workflows_in_stack(session, options.stack)}

    @cache
    def in_stack(workflow: str) -> Client | None:
        if workflow == client.workflow:
            return client
        return client_at(found[workflow], session) if workflow in found else None

    return Relatives(in_stack, found.keys())


def given_definition(options: argparse.Namespace, client: Client) -> Workflow | None:
    """Load the definition in ``--file``; None without ``--file``.

    Raises:
        UsageError: unreadable file.
        CommandFailed: problems in the definition.
    """
    return compiled_or_failed(options.file, client.workflow) if options.file else None


def definition_of(options: argparse.Namespace, client: Client) -> Workflow:
    """Return the definition of the execution in `options`: the given one, or that in the workflow's store.

    Raises:
        UsageError: unreadable file.
        CommandFailed: problems in the definition.
        ClientError: unknown execution, or no stored definition.
    """
    own = given_definition(options, client)
    if own is not None:
        return own
    has_begun = next(client.steps(options.execution), None) is not None
    found = client.definition(options.execution)
    if not has_begun:  # it may be on its way on an earlier version
        print(f"{options.execution} has committed nothing yet: shown by the deployed definition", file=sys.stderr)
    return found


@contextmanager
def needing_boto3() -> Iterator[None]:
    """Convert a missing boto3 into a message that says how to install it.

    Raises:
        CommandFailed: boto3 is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise CommandFailed(f"{error}; this command needs boto3: pip install boto3") from error


def located(session: Session, options: argparse.Namespace) -> Deployed:
    """Return the addresses of the workflow in `options`.

    Raises:
        UsageError: no workflow is named.
    """
    return _explicit(options) if options.stack is None else in_stack(session, options)


def session_of(options: argparse.Namespace) -> Session:
    """Return a session for the profile and region in `options`.

    Raises:
        UsageError: unknown profile, or no region.
    """
    session = Session(options.profile, options.region)
    try:
        region = session.region_name
    except call_errors() as error:
        raise UsageError(f"--profile {options.profile}: {error}") from error
    if region is None:
        raise UsageError("no AWS region: give --region REGION, or set AWS_REGION or the profile's region")
    return session


def _explicit(options: argparse.Namespace) -> Deployed:
    if options.command == "start" and options.start_alias is None:
        raise UsageError("--start-alias: expected the ARN of the start alias, got nothing; or give --stack STACK")
    return Deployed(
        workflow=options.workflow,
        table=options.table,
        start_alias=options.start_alias,
        control_alias=options.control_alias,
        payload_bucket=options.payload_bucket,
    )


def in_stack(session: Session, options: argparse.Namespace) -> Deployed:
    """Return the addresses of a workflow from the outputs of its stack.

    Raises:
        UsageError: unknown stack, no such workflow or several of them, or an address option beside the stack.
        CommandFailed: AWS refused to describe the stack.
    """
    if addresses := [f"--{each.replace('_', '-')}" for each in _ADDRESSES if getattr(options, each, None) is not None]:
        raise UsageError(
            f"--stack {options.stack}: its outputs name the workflow's addresses, got {', '.join(addresses)} as well; "
            "remove either"
        )
    return deployed(options.stack, _outputs(session, options.stack), options.workflow)


def workflows_in_stack(session: Session, stack: str) -> list[Deployed]:
    """Return the addresses of all workflows of a stack.

    Raises:
        UsageError: unknown stack.
        CommandFailed: AWS refused to describe the stack.
    """
    return all_deployed(_outputs(session, stack))


def _outputs(session: Session, stack: str) -> dict[str, str]:
    try:
        stacks = session.create("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except call_errors() as error:
        raise stack_failure(stack, error) from error
    return {output["OutputKey"]: output["OutputValue"] for output in stacks[0].get("Outputs", ())}


def stack_failure(stack: str, error: Exception) -> CommandFailed | UsageError:
    """Return the failure of a command whose question about `stack` AWS answered with `error`."""
    code = getattr(error, "response", {}).get("Error", {}).get("Code")
    return (UsageError if code == _NO_STACK else CommandFailed)(f"--stack {stack}: {error}")
