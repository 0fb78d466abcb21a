"""Members of `aws_stepfunctions.StateMachine`, under its names, for apps whose state machine became a workflow.

Resources that give a workflow's address to Step Functions are refused: they would deploy, and fail for each event.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import jsii
from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct, IValidation

from unum_constructs.cdk.lookup import path_of, stack_of
from unum_constructs.errors import ConstructError
from unum_runtime.json_text import to_ascii

if TYPE_CHECKING:
    from aws_cdk import RemovalPolicy
    from aws_cdk import aws_lambda as lambda_
    from aws_cdk.interfaces import ResourceEnvironment
    from aws_cdk.interfaces.aws_stepfunctions import StateMachineReference

    from unum_constructs.cdk.storage import Storage


REST = (
    "give API Gateway `LambdaIntegration(workflow.sync_start_alias)`, which answers with the result, or "
    "`LambdaIntegration(workflow.run_alias, proxy=False)`, with a template for `name` and `input`"
)
HTTP = (
    "give the route `HttpLambdaIntegration(id, workflow.sync_start_alias)`, which answers with the result, or "
    "`HttpLambdaIntegration(id, workflow.start_alias)`: the request is then the input"
)
PIPE = (
    "give the pipe `target=workflow.start_alias.function_arn` with "
    '`lambda_function_parameters={"invocationType": "FIRE_AND_FORGET"}`, and its role `workflow.grant_start(role)`'
)

GUIDE = "docs/howto/migrate.md"
"""Page that says what takes the place of each word."""

GRANTS: Mapping[str, str] = {
    "StartExecution": "grant_start",
    "StartSyncExecution": "grant_start_sync",
    "StopExecution": "grant_stop",
    "RedriveExecution": "grant_redrive",
    "DescribeExecution": "grant_describe",
    "GetExecutionHistory": "grant_read",
    "ListExecutions": "grant_read",
    "DescribeMapRun": "grant_read",
    "ListMapRuns": "grant_read",
    "DescribeStateMachine": "grant_read",
    "DescribeStateMachineForExecution": "grant_read",
    "SendTaskSuccess": "grant_task_response",
    "SendTaskFailure": "grant_task_response",
    "SendTaskHeartbeat": "grant_task_response",
}
"""Grants of workflows by the action of Step Functions that they are for."""

PREFIX = "states:"


class Misuse(NamedTuple):
    """Resource that names a state machine.

    Attributes:
        read: returns what the resource says of its target.
        mark: text in it if the target is a state machine.
        remedy: what to write instead.
    """

    read: Callable[[Any], Any]
    mark: str
    remedy: str


MISUSES: Mapping[str, Misuse] = {
    "CfnIntegration": Misuse(lambda each: [each.integration_subtype, each.request_parameters], "StepFunctions-", HTTP),
    "CfnMethod": Misuse(lambda each: each.integration, ":states:action/", REST),
    "CfnPipe": Misuse(lambda each: [each.target, each.target_parameters], "stepFunctionStateMachineParameters", PIPE),
}
"""Resources by the name of their class in the CDK. Policies are not among them: a useless permission does no harm."""


@jsii.implements(IValidation)
class AddressCheck:
    """Check at the end of synthesis, for workflows whose `state_machine_arn` was read.

    Args:
        workflow: the workflow.
        start_alias: its address.
    """

    def __init__(self, workflow: Construct, start_alias: "lambda_.IFunction") -> None:
        self._workflow, self._start_alias = workflow, start_alias

    def validate(self) -> list[str]:
        """Return the resources that give the address to Step Functions, with what to write instead."""
        return [
            f"{path_of(each)}: expected a resource that invokes a function, got one by which a service uses Step "
            f"Functions, which has no state machine {path_of(self._workflow)}: {remedy}"
            for each, remedy in self._found()
        ]

    def _found(self) -> Iterator[tuple[IConstruct, str]]:
        # In this stack the address is a `Ref`, wherever a resource has it from.
        stack = stack_of(self._workflow)
        address = to_ascii(stack.resolve(self._start_alias.function_arn)).strip('"')
        # The names of classes are known in Python: no call to the CDK's process for each construct of the app.
        for each in self._workflow.node.root.node.find_all():
            misuse = MISUSES.get(type(each).__name__)
            if misuse is not None:
                text = to_ascii(stack.resolve(misuse.read(each)))
                if misuse.mark in text and address in text:
                    yield each, misuse.remedy


class StateMachineMembers(Construct):
    """Members that workflows, made by this app or imported, share with state machines.

    Attributes:
        workflow_name: name of the workflow.
        start_alias: alias that starts executions.
        storage: place of the state of executions.
    """

    workflow_name: str
    start_alias: "lambda_.IFunction"
    storage: "Storage"
    _is_checked = False
    if TYPE_CHECKING:
        grant_start: Callable[[iam.IGrantable], iam.Grant]
        grant_start_sync: Callable[[iam.IGrantable], iam.Grant]
        grant_redrive: Callable[[iam.IGrantable], iam.Grant]

    @property
    def stack(self) -> Stack:
        """Stack of the workflow."""
        return stack_of(self)

    @property
    def env(self) -> "ResourceEnvironment":
        """Account and region of the workflow."""
        return self.start_alias.env

    @property
    def state_machine_arn(self) -> str:
        """ARN of the start alias, which is a workflow's address.

        Rules, schedules and Tasks with ``states:startExecution`` take it where they take a state machine's ARN. Who
        starts executions with it calls Lambda, not Step Functions: `grant_start_execution` allows that.
        """
        if not self._is_checked:
            self._is_checked = True
            self.node.add_validation(AddressCheck(self, self.start_alias))
        return self.start_alias.function_arn

    @property
    def state_machine_name(self) -> str:
        """Name of the workflow."""
        return self.workflow_name

    @property
    def state_machine_ref(self) -> "StateMachineReference":
        """Reference to the workflow's address, `state_machine_arn`."""
        from aws_cdk.interfaces.aws_stepfunctions import StateMachineReference  # noqa: PLC0415 - few apps need it

        return StateMachineReference(state_machine_arn=self.state_machine_arn)

    @property
    def state_machine_revision_id(self) -> str:
        """Raise an error: executions name the digest of their definition, and functions their versions.

        Raises:
            ConstructError: always.
        """
        raise ConstructError(
            self,
            "state_machine_revision_id: a workflow has none; use the version of `start_alias` to see deployments, and "
            f"`unum versions` for definitions; see {GUIDE}",
        )

    def apply_removal_policy(self, policy: "RemovalPolicy") -> None:
        """Apply `policy` to the table or bucket with the executions, which a state machine has within itself."""
        resource: Any = self.storage.resource
        resource.apply_removal_policy(policy)

    @property
    def grants(self) -> "StateMachineGrants":
        """Grants under the names of `aws_stepfunctions.StateMachineGrants`."""
        return StateMachineGrants(self)

    def grant_start_execution(self, identity: iam.IGrantable) -> iam.Grant:
        """Allow starting executions; see `grant_start`."""
        return self.grant_start(identity)

    def grant_start_sync_execution(self, identity: iam.IGrantable) -> iam.Grant:
        """Allow starting executions and waiting for their results; see `grant_start_sync`."""
        return self.grant_start_sync(identity)

    def grant_redrive_execution(self, identity: iam.IGrantable) -> iam.Grant:
        """Allow redriving executions; see `grant_redrive`."""
        return self.grant_redrive(identity)

    def grant_execution(self, identity: iam.IGrantable, *actions: str) -> iam.Grant:
        """Allow the calls that Step Functions' `actions` are for, such as ``states:StopExecution``.

        Raises:
            ConstructError: there is no action, or one that no grant of workflows is for.
        """
        if not actions:
            raise ConstructError(self, f"grant_execution: expected actions of {PREFIX.rstrip(':')}, got none")
        allow = [grant_for(self, action) for action in actions]
        return reduce(iam.Grant.combine, (each(identity) for each in dict.fromkeys(allow)))


def grant_for(workflow: Construct, action: str) -> Callable[[iam.IGrantable], iam.Grant]:
    """Return the grant of `workflow` that the action of Step Functions is for.

    Raises:
        ConstructError: no grant is for `action`.
    """
    name = action.removeprefix(PREFIX)
    if name not in GRANTS or not action.startswith(PREFIX):
        allowed = ", ".join(f"{PREFIX}{each}" for each in GRANTS)
        raise ConstructError(workflow, f"expected actions among {allowed}, got {action!r}; see {GUIDE}")
    allow: Callable[[iam.IGrantable], iam.Grant] = getattr(workflow, GRANTS[name])
    return allow


class StateMachineGrants:
    """Grants of a workflow under the names of `aws_stepfunctions.StateMachineGrants`."""

    def __init__(self, workflow: Any) -> None:
        self.start_execution = workflow.grant_start
        self.start_sync_execution = workflow.grant_start_sync
        self.redrive_execution = workflow.grant_redrive
        self.read = workflow.grant_read
        self.task_response = workflow.grant_task_response
        self.execution = self.actions = partial(workflow.grant_execution)
