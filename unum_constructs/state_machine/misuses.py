"""Search for resources that give a workflow's address to Step Functions: they would deploy, and fail for each event."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jsii
from constructs import Construct, IConstruct, IValidation

from unum_constructs.cdk.lookup import path_of, stack_of
from unum_runtime.json_text import to_ascii

if TYPE_CHECKING:
    from aws_cdk import aws_lambda as lambda_

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
