"""Places of an app that need a person's decision, by the name used there, with a proposed replacement."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from unum_cli.migration.app_names import STATES

_TASKS = "aws_cdk.aws_stepfunctions_tasks"


class Decision(NamedTuple):
    """Place that a person must decide about.

    Attributes:
        line: its number.
        text: what is there, and what to write.
    """

    line: int
    text: str


_REST = (
    "API Gateway would call Step Functions; write `LambdaIntegration(workflow.sync_start_alias)`, which answers with "
    "the result, or `LambdaIntegration(workflow.run_alias, proxy=False)` with a template, which does not wait"
)
_DEFINITION = "give its definition to `UnumWorkflow(definition=Definition.from_asl(...))`"
_EMR = "Unum refuses Tasks of Amazon EMR: keep this state machine, or request EMR from a function of yours"

NAMED: Mapping[str, str] = {
    "aws_cdk.aws_apigateway.StepFunctionsIntegration": _REST,
    "aws_cdk.aws_apigateway.StepFunctionsRestApi": _REST,
    "aws_cdk.aws_apigatewayv2.HttpIntegrationSubtype.STEPFUNCTIONS_START_EXECUTION": "API Gateway would call Step "
    "Functions; write an integration with `workflow.start_alias`, which takes the request as input",
    "aws_cdk.aws_apigatewayv2.HttpIntegrationSubtype.STEPFUNCTIONS_START_SYNC_EXECUTION": "API Gateway would call Step "
    "Functions; write an integration with `workflow.sync_start_alias`, which answers with the result",
    "aws_cdk.aws_apigatewayv2_integrations.HttpStepFunctionsIntegration": "API Gateway would call Step Functions; "
    "write `HttpLambdaIntegration(ID, workflow.start_alias)`, which takes the request as input",
    "aws_cdk.aws_iot_actions_alpha.StepFunctionsStateMachineAction": "AWS IoT would call Step Functions; write "
    "`LambdaFunctionAction(workflow.start_alias)`",
    "aws_cdk.aws_pipes_targets_alpha.SfnStateMachine": "EventBridge Pipes would call Step Functions; write a `CfnPipe` "
    "with `target=workflow.start_alias.function_arn`, and `workflow.grant_start(role)` for its role",
    "aws_cdk.aws_sam.CfnStateMachine": f"a template's state machine: {_DEFINITION}",
    f"{STATES}.CfnStateMachine": f"a template's state machine: {_DEFINITION}",
    f"{STATES}.CfnStateMachineAlias": "aliases belong to Step Functions: running executions keep the version of a "
    "workflow that they began with, without one",
    f"{STATES}.CfnStateMachineVersion": "versions belong to Step Functions: each deployment of a workflow has one",
    f"{STATES}.StateMachineGrants": "write `workflow.grants`, which has the same methods",
    f"{STATES}.StateMachineProps": "`UnumWorkflow` takes no such object: give the arguments themselves",
    f"{STATES}.StateMachineType.EXPRESS": "changes nothing: a workflow commits each step and keeps its executions, as "
    "STANDARD does, and costs accordingly; delete the argument, or keep the state machine",
    f"{_TASKS}.EmrAddStep": _EMR,
    f"{_TASKS}.EmrCancelStep": _EMR,
    f"{_TASKS}.EmrContainersDeleteVirtualCluster": _EMR,
    f"{_TASKS}.EmrCreateCluster": _EMR,
    f"{_TASKS}.EmrModifyInstanceFleetByName": _EMR,
    f"{_TASKS}.EmrModifyInstanceGroupByName": _EMR,
    f"{_TASKS}.EmrSetClusterTerminationProtection": _EMR,
    f"{_TASKS}.EmrTerminateCluster": _EMR,
}
"""What to write in place of a name of the CDK."""

OLD_CDK = "aws_cdk.core is the CDK 1, which has ended: move the app to the CDK 2 first"
BY_ARN = (
    "from_state_machine_arn: write `UnumWorkflow.from_workflow_attributes(...)` if that state machine becomes a "
    "workflow, too; leave the line if it stays a state machine"
)
BY_NAME = (
    "from_state_machine_name: the app that deploys this workflow must give `exported=True`; undo this edit if it "
    "stays a state machine"
)
SUBCLASS = (
    "subclass of StateMachine: derive from `UnumWorkflow` if `super().__init__` passes only arguments of StateMachine, "
    "and check which members the class overrides"
)
OTHER_USE = "{name} is used as a value: write `{new}` if each use of this value is about workflows"
MODULE_AS_VALUE = "aws_stepfunctions is used as a value: name `StateMachine` by an import, and run this command again"
AMBIGUOUS = "{name} is bound in several ways: write `{new}` if it is aws_stepfunctions' here"
COMMENT_WITHIN = "there is a comment within the name {name}: write `{new}`"
STAR = "a star import may bring StateMachine: import it by name, and run this command again"
UNKNOWN = "StateMachine of unknown origin: write `UnumWorkflow` if it is aws_stepfunctions'"
TAKEN = "{new} already names something else in this file: rename that, and run this command again"
MEMBERS: Mapping[str, str] = {
    "node.default_child": "a workflow has no CfnStateMachine as default child: give what is set here as an argument of "
    "`UnumWorkflow`",
    "role": "a workflow has a role only if a Task calls a service: grant the function that needs the permission, if "
    "`cdk synth` stops here",
    "state_machine_revision_id": "a workflow has none: use the version of `workflow.start_alias`",
}
"""What to decide about members of a workflow that replaces a state machine."""

SOLUTION = "this construct makes a StateMachine of its own: write a `UnumWorkflow` and the other resources"
PIPE = (
    "EventBridge Pipes would call Step Functions; write `lambda_function_parameters` for "
    "`target=workflow.start_alias.function_arn`, and `workflow.grant_start(role)` for the pipe's role"
)
CLIENT = (
    'boto3.client("stepfunctions") does not know workflows: if it is about one, write `from unum_stepfunctions '
    "import boto3` in a function with `workflow.grant_start_execution(function)` or its like, `from "
    "unum_task_responses import boto3` in one that only answers Tasks, and `StepFunctionsClient.connect(...)` of "
    "`unum_client.stepfunctions` elsewhere"
)
POLICY = (
    "{action} allows nothing for a workflow: write `workflow.grant_execution(grantee, {quoted})`, if it is about a "
    "workflow"
)
ANY_ACTION = "{action} allows nothing for a workflow: write `workflow.grant_execution(grantee, ...)` with each action"
MANAGED_POLICY = (
    "{policy} allows nothing for a workflow: write `workflow.grant_execution(grantee, ...)` with each action"
)
INTEGRATION = f"AwsIntegration of Step Functions: {_REST}"
CUSTOM_RESOURCE = (
    "the custom resource would call Step Functions: let it invoke `workflow.start_alias`, by service Lambda and action "
    "invoke"
)
LOADED_BY_NAME = "aws_stepfunctions is loaded by its name: import it, and run this command again"

_ACTION = re.compile(r"states:(\*|[A-Z]\w*\*?)")
_SERVICES = {"SFN", "StepFunctions", "stepfunctions", "@aws-sdk/client-sfn"}
"""Names of Step Functions in the SDK for JavaScript, which custom resources use."""

_MANAGED_POLICY = re.compile(r"AWSStepFunctions\w*Access")
_PIPE_WORDS = {"step_function_state_machine_parameters", "stepFunctionStateMachineParameters"}
_TEXTS: Mapping[str, str] = {
    **dict.fromkeys(_PIPE_WORDS, PIPE),
    STATES: LOADED_BY_NAME,
    "AWS::StepFunctions::StateMachine": "the template no longer has this resource: check the workflow by "
    "`unum_constructs.testing.assert_workflow`, or delete the check",
}


def about_name(name: str) -> str | None:
    """Return the decision about a CDK name or its member; None without one."""
    parts = name.split(".")
    for length in range(3, len(parts) + 1):
        text = NAMED.get(".".join(parts[:length]))
        if text is not None:
            return f"{parts[length - 1]}: {text}"
    is_solution = parts[0] == "aws_solutions_constructs" and "stepfunctions" in name
    return f"{parts[-1]}: {SOLUTION}" if is_solution else None


def about_module(name: str) -> str | None:
    """Return the decision about an imported module; None without one."""
    return OLD_CDK if name == "aws_cdk.core" or name.startswith("aws_cdk.core.") else None


def about_keyword(word: str) -> str | None:
    """Return the decision about a keyword argument; None without one."""
    return PIPE if word in _PIPE_WORDS else None


def about_service(name: str | None) -> str | None:
    """Return what to decide about an argument `service` of an integration or a custom resource; None for nothing."""
    return INTEGRATION if name == "states" else CUSTOM_RESOURCE if name in _SERVICES else None


def about_text(text: str) -> str | None:
    """Return the decision about a string; None without one."""
    if _ACTION.fullmatch(text):
        return ANY_ACTION.format(action=text) if "*" in text else POLICY.format(action=text, quoted=f'"{text}"')
    if _MANAGED_POLICY.fullmatch(text):
        return MANAGED_POLICY.format(policy=text)
    if text.startswith("StepFunctions-Start"):
        return f"{text}: API Gateway would call Step Functions; write an integration with `workflow.run_alias`"
    return _TEXTS.get(text)
