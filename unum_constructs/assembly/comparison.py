"""Comparison of a definition with earlier ones at synth, as annotations of the workflow.

Earlier definitions are given (`earlier`), or read from the deployed workflow if the context asks for that. Each change
is what ``unum diff`` says: an error if the deployment guard would refuse it, a warning if it breaks running executions,
else an information. What cannot be read is said, and fails nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aws_cdk import Annotations, Stack, Token
from constructs import Construct

from unum_client.client import Client
from unum_compiler.analysis.changes import Change, Effect, changes, with_values_of
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_constructs.assembly.checked_options import WorkflowOptions
from unum_constructs.cdk.argument_checks import check_types
from unum_constructs.cdk.outputs import output_id
from unum_runtime.errors import UnumError
from unum_runtime.json_text import parse_json
from unum_runtime.model.ir import Workflow
from unum_runtime.protocol.control.deletions.removal import Stranded

# The deployed version of a workflow, read at synth with the credentials at hand.

TIMEOUT_S = 5
"""Longest wait for CloudFormation's first answer, so that a synthesis without network takes seconds."""


class NotKnown(Exception):
    """Reason why nothing can be said about the deployed workflow."""


@dataclass(frozen=True)
class Deployed:
    """A deployed workflow.

    Attributes:
        client: client of the workflow.
        definition: its definition.
    """

    client: Client
    definition: Workflow

    def stranded_without(self, parts: Collection[str]) -> Stranded:
        """Return the running executions that need one of `parts`.

        Raises:
            NotKnown: they cannot be read.
        """
        from unum_client.reading.stranded import stranded_without  # noqa: PLC0415 - few apps compare

        try:
            return stranded_without(self.client, self.definition, parts)
        except UnumError as error:
            raise NotKnown(str(error)) from error


def read_deployed(workflow: Construct, name: str) -> Deployed:
    """Return the deployed version of `workflow`, which is called `name`.

    Raises:
        NotKnown: nothing is deployed, access is missing, or the stack is nested in another.
    """
    stack = Stack.of(workflow)
    if stack.nested:
        raise NotKnown("its stack is nested, and only its deployment knows the stack's name")
    try:
        import boto3  # noqa: PLC0415 - optional, and few apps compare
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - the same
    except ImportError as error:
        raise NotKnown(f"{error}; it needs boto3: pip install 'unum-constructs[client]'") from error
    try:
        session = boto3.Session(region_name=None if Token.is_unresolved(stack.region) else stack.region)
        values = _addresses(workflow, _outputs(session, stack))
        if missing := _OUTPUTS - {"PayloadBucket"} - values.keys():
            raise NotKnown(f"stack {stack.stack_name} has no such workflow yet: no output {sorted(missing)}")
        client = Client.connect(
            table=values["Table"],
            workflow=values["Workflow"],
            control_alias=values["ControlFunction"],
            payload_bucket=values.get("PayloadBucket"),
            retention_s=int(values["Retention"]),
            session=session,
        )
        if values["Workflow"] != name:
            raise NotKnown(f"its name was {values['Workflow']!r} and is {name!r}: executions of both never meet")
        return Deployed(client, client.deployed_definition())
    except (BotoCoreError, ClientError, UnumError) as error:
        raise NotKnown(str(error)) from error


_OUTPUTS = frozenset({"ControlFunction", "PayloadBucket", "Retention", "Table", "Workflow"})


def _addresses(workflow: Construct, outputs: Mapping[str, str]) -> Mapping[str, str]:
    """Return the addresses of `workflow` in the `outputs` of its stack, by kind: in one output, or in one for each."""
    one = outputs.get(output_id(workflow, "Workflow"), "")
    if one.startswith("{"):
        addresses: Mapping[str, str] = parse_json(one)
        return {kind: addresses[kind] for kind in _OUTPUTS & addresses.keys()}
    return {kind: outputs[key] for kind in _OUTPUTS if (key := output_id(workflow, kind)) in outputs}


def _outputs(session: Any, stack: Stack) -> Mapping[str, str]:
    """Return the values of the outputs of `stack` by logical id.

    Raises:
        NotKnown: the stack belongs to another account.
    """
    from botocore.config import Config  # noqa: PLC0415 - as above

    config = Config(connect_timeout=TIMEOUT_S, read_timeout=TIMEOUT_S, retries={"mode": "standard", "max_attempts": 2})
    client = session.client("cloudformation", config=config)
    (found,) = client.describe_stacks(StackName=stack.stack_name)["Stacks"]
    *_, account, _ = found["StackId"].split(":")
    if not Token.is_unresolved(stack.account) and account != stack.account:
        raise NotKnown(f"the credentials are of account {account}, the stack is for account {stack.account}")
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}


CONTEXT = "unum:compareDeployed"
"""Context value: true to compare with the deployed definition."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Comparison of a workflow's definition with earlier ones.

    Attributes:
        construct: the workflow, which gets the annotations.
        new: its compiled definition.
        parts: names of all parts of its deployment.
        is_guarded: True if a deployment is refused that removes what executions need.
    """

    construct: Construct
    new: Workflow
    parts: Collection[str]
    is_guarded: bool

    def with_given(self, earlier: Sequence[Definition], options: Mapping[str, FunctionOptions]) -> None:
        """Compare with definitions whose executions may run.

        Raises:
            ConstructError: one is no definition.
            DefinitionError: one does not compile.
        """
        for number, each in enumerate(earlier):
            check_types(self.construct, Definition, {f"upgrades.earlier[{number}]": each})
            old = _with_settings_of(self.new, each.bind({}).compile(self.new.name, None, options))
            found = self._changes(old)
            removed = {change.part for change in found if change.part is not None}
            self._annotate(f"earlier[{number}]", found, removed, "executions of that definition may need it")

    def with_deployed(self) -> None:
        """Compare with the deployed definition, if the context asks for it."""
        # The command line passes a text, cdk.json any value.
        if self.construct.node.try_get_context(CONTEXT) not in (True, "true"):
            return
        try:
            self._compare(read_deployed(self.construct, self.new.name))
        except NotKnown as reason:
            text = f"Not compared with the deployed definition: {reason}"
            Annotations.of(self.construct).add_info_v2("unum:NotCompared", text)

    def _compare(self, deployed: Deployed) -> None:
        found = self._changes(deployed.definition)
        removed = {change.part for change in found if change.part is not None}
        if not removed:
            self._annotate("deployed", found, removed, "")
            return
        stranded = deployed.stranded_without(removed)
        names = ", ".join(stranded.names) + (", ..." if stranded.executions > len(stranded.names) else "")
        self._annotate("deployed", found, stranded.parts, f"running executions need it ({names})")

    def _changes(self, old: Workflow) -> list[Change]:
        found = changes(old, with_values_of(old, self.new), self.parts)
        return [change for change in found if change.effect is not Effect.UNCHANGED]

    def _annotate(self, compared: str, found: Iterable[Change], refused: Collection[str], reason: str) -> None:
        notes = Annotations.of(self.construct)
        for change in found:
            text = f"{change.effect} {change.subject}: {change.message} (compared with {compared})"
            code = f"unum:{change.effect}[{compared}: {change.subject}]"
            if self.is_guarded and change.part in refused:
                notes.add_error(f"{text}; the deployment would be refused: {reason}; {_REMEDY} [{code}]")
            elif change.effect is Effect.BREAKS:
                notes.add_warning_v2(code, text)
            else:
                notes.add_info_v2(code, text)


def compare(
    workflow: Construct, options: WorkflowOptions, new: Workflow, parts: Collection[str], *, is_guarded: bool
) -> None:
    """Compare `new`, the compiled definition, with the definitions that `options` and the context name.

    Raises:
        ConstructError: one is no definition.
        DefinitionError: one does not compile.
    """
    comparison = Comparison(construct=workflow, new=new, parts=parts, is_guarded=is_guarded)
    comparison.with_given(options.groups.upgrades.earlier, options.options_by_key(workflow))
    comparison.with_deployed()


_REMEDY = (
    "keep it for them by `upgrades=Upgrades(keep=Keep(...))`, or let them fail by "
    '`upgrades=Upgrades(on_removed="fail-executions")`'
)


def _with_settings_of(new: Workflow, old: Workflow) -> Workflow:
    """Return `old` with the settings that the construct's options give to `new`."""
    names = ("hop_budget", "width_budget", "invocation_budget", "collection", "payload_limit", "small_results")
    timeout_s = new.timeout_s if old.timeout_s is None else old.timeout_s
    return replace(old, **{name: getattr(new, name) for name in names}, timeout_s=timeout_s)
