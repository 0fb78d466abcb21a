"""The deployed version of a workflow, read at synth with the credentials at hand."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from aws_cdk import Stack, Token
from constructs import Construct

from unum_client.client import Client
from unum_constructs.cdk.outputs import output_id
from unum_runtime.errors import UnumError
from unum_runtime.model.ir import Workflow
from unum_runtime.protocol.control.deletions.removal import Stranded

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
        found = _outputs(session, stack)
        values = {kind: found[key] for kind in _OUTPUTS if (key := output_id(workflow, kind)) in found}
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
