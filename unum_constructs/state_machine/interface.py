"""`IStateMachine` of the CDK: what constructs see that are given a workflow in place of a state machine.

jsii calls the members below when, for example, ``targets.SfnStateMachine(workflow)`` reads ``stateMachineArn``. What
would synthesize and then fail on AWS is refused here, with what to write instead.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import jsii
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from unum_constructs.cdk.lookup import stack_of
from unum_constructs.errors import ConstructError
from unum_constructs.state_machine.members import GUIDE, PIPE, REST, StateMachineMembers

METHODS: Mapping[str, str] = {
    "apply_removal_policy": "applyRemovalPolicy",
    "grant": "grant",
    "grant_execution": "grantExecution",
    "grant_read": "grantRead",
    "grant_redrive_execution": "grantRedriveExecution",
    "grant_task_response": "grantTaskResponse",
    "metric": "metric",
    "metric_aborted": "metricAborted",
    "metric_failed": "metricFailed",
    "metric_started": "metricStarted",
    "metric_succeeded": "metricSucceeded",
    "metric_throttled": "metricThrottled",
    "metric_time": "metricTime",
    "metric_timed_out": "metricTimedOut",
    "_grant_start_to_service": "grantStartExecution",
    "_grant_start_sync_to_service": "grantStartSyncExecution",
}
"""Names in TypeScript of methods."""

PROPERTIES: Mapping[str, str] = {
    "env": "env",
    "stack": "stack",
    "state_machine_arn": "stateMachineArn",
    "state_machine_ref": "stateMachineRef",
}
"""Names in TypeScript of properties."""

REMEDIES: Mapping[str, str] = {
    "apigateway": REST,
    "iot": "give the rule an action for Lambda functions, with `workflow.start_alias`",
    "pipes": PIPE,
}
"""What to write instead, for services that call Step Functions' own operations, which a workflow does not have."""


class _IStateMachine:
    """The interface. Loading the module `aws_stepfunctions` takes longer than most apps' workflows."""

    __jsii_type__ = "aws-cdk-lib.aws_stepfunctions.IStateMachine"


def _declare(name: str) -> Any:
    """Return a member that jsii knows as `name` in TypeScript."""

    @jsii.member(jsii_name=name)
    def declared(_self: object) -> None: ...

    return declared


for _name, _jsii_name in METHODS.items():
    setattr(_IStateMachine, _name, _declare(_jsii_name))
for _name, _jsii_name in PROPERTIES.items():
    setattr(_IStateMachine, _name, property(_declare(_jsii_name)))


class _Typed:
    """Construct with a type, which `StepFunctionsRestApi` reads from the default child of a state machine."""

    __jsii_type__ = "constructs.IConstruct"
    refused_type = property(_declare("stateMachineType"))


@jsii.implements(_Typed)
class RefusedDefaultChild(Construct):
    """Default child of an Express workflow: it refuses to be read as a ``CfnStateMachine``."""

    @property
    def refused_type(self) -> str:
        """Raise an error.

        Raises:
            ConstructError: always.
        """
        raise refusal(self.node.scope or self, "apigateway.amazonaws.com", REST)


@jsii.implements(_IStateMachine)
class StateMachineInterface(StateMachineMembers):
    """Workflow that constructs of the CDK take as a state machine."""

    def _grant_start_to_service(self, identity: iam.IGrantable) -> iam.Grant:
        """Allow `identity` to start executions: EventBridge and its Scheduler invoke the start alias by their role.

        Source: Amazon EventBridge User Guide, "Using resource-based policies for Amazon EventBridge".

        Raises:
            ConstructError: its service would use an operation of Step Functions, and cannot invoke a function instead.
        """
        for service in _services(self, identity):
            if service in REMEDIES:
                raise refusal(self, f"{service}.amazonaws.com", REMEDIES[service])
        return self.grant_start(identity)

    def _grant_start_sync_to_service(self, identity: iam.IGrantable) -> iam.Grant:  # noqa: ARG002 - as in the interface
        """Refuse integrations of API Gateway, which call ``StartSyncExecution``.

        Raises:
            ConstructError: always; Python code calls `grant_start_sync_execution`.
        """
        raise refusal(self, "apigateway.amazonaws.com", REST)


def refusal(workflow: IConstruct, service: str, remedy: str) -> ConstructError:
    """Return the error for a construct by which `service` calls Step Functions."""
    return ConstructError(
        workflow,
        f"expected a construct that invokes a function, got one by which {service} uses Step Functions, which has no "
        f"state machine here: {remedy}; see {GUIDE}",
    )


def _services(workflow: Construct, identity: iam.IGrantable) -> Iterator[str]:
    """Yield the services that assume the role `identity`, such as ``events``."""
    policy = identity.assume_role_policy if isinstance(identity, iam.Role) else None
    if policy is None:
        return
    for statement in stack_of(workflow).resolve(policy)["Statement"]:
        found = statement.get("Principal", {})
        services = found.get("Service", []) if isinstance(found, Mapping) else []
        for each in [services] if isinstance(services, str) else services:
            if isinstance(each, str):
                yield each.partition(".")[0]
