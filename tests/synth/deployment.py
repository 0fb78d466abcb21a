"""Synthesized stack, with questions about it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from aws_cdk import App, CfnElement, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template

from tests.synth.machines import Machine
from unum_constructs import Definition, UnumFunction, UnumWorkflow
from unum_constructs.cdk.lambda_runtimes import DEFAULT_PYTHON
from unum_constructs.layer.workflow_layer import SLOWER_STARTS

CODE = "def handle(event, context):\n    return event\n"

RUNTIME_LAYER = f"UnumRuntime-{DEFAULT_PYTHON}"
"""Path of the layer that all workflows of a stack share."""

Resources = Mapping[str, Mapping[str, Any]]


def function(stack: Stack, construct_id: str, **options: Any) -> UnumFunction:
    options.setdefault("code", lambda_.Code.from_inline(CODE))
    return UnumFunction(stack, construct_id, handler="index.handle", **options)


class Warned(NamedTuple):
    path: str
    text: str


@dataclass
class Deployment:
    """A stack under construction; its template is what it is when first asked for."""

    stack: Stack

    @classmethod
    def new(cls, **context: Any) -> "Deployment":
        return cls(Stack(App(context=context), "Stack"))

    @classmethod
    def of(cls, definition: Machine, *keys: str, **options: Any) -> "Deployment":
        """A stack with one workflow, called ``Flow``, and a function for each of `keys`."""
        deployment = cls.new()
        deployment.flow(definition, {key: function(deployment.stack, key) for key in keys}, **options)
        return deployment

    def flow(
        self,
        definition: Machine | Definition,
        functions: Mapping[str, lambda_.IFunction] | UnumFunction,
        construct_id: str = "Flow",
        **options: Any,
    ) -> UnumWorkflow:
        options.setdefault("workflow_name", construct_id)
        made = definition if isinstance(definition, Definition) else Definition.from_asl(definition)
        return UnumWorkflow(self.stack, construct_id, definition=made, functions=functions, **options)

    @cached_property
    def template(self) -> dict[str, Any]:
        """The template; the CDK refuses circular dependencies here."""
        return dict(Template.from_stack(self.stack).to_json())

    def all(self, kind: str) -> Resources:
        """Resources of a type by logical id."""
        resources = self.template["Resources"]
        return {name: resource for name, resource in resources.items() if resource["Type"] == f"AWS::{kind}"}

    def only(self, kind: str) -> Mapping[str, Any]:
        """Properties of the only resource of a type."""
        (resource,) = self.all(kind).values()
        properties: Mapping[str, Any] = resource.get("Properties", {})
        return properties

    def logical_id(self, path: str) -> str:
        """Logical id of the construct at `path` below the stack."""
        construct = self.stack
        for part in path.split("/"):
            construct = construct.node.find_child(part)  # type: ignore[assignment]
        element = construct.node.default_child or construct
        assert isinstance(element, CfnElement)
        resolved: str = self.stack.resolve(element.logical_id)
        return resolved

    def resource(self, path: str) -> Mapping[str, Any]:
        resource: Mapping[str, Any] = self.template["Resources"][self.logical_id(path)]
        return resource

    def properties(self, path: str) -> Mapping[str, Any]:
        properties: Mapping[str, Any] = self.resource(path)["Properties"]
        return properties

    def version(self, function_path: str) -> str:
        """Logical id of a function's version."""
        return self.logical_id(f"{function_path}/CurrentVersion")

    def services(self, function_path: str) -> dict[str, Any]:
        """Return a function's environment about its workflows, with logical ids for references."""
        variables = self.properties(function_path)["Environment"]["Variables"]
        services: dict[str, Any] = json.loads(flat(variables["UNUM_WORKFLOWS"]))
        return services

    def routes(self, function_path: str, workflow: str = "Flow") -> dict[str, str]:
        routes: dict[str, str] = self.services(function_path)[workflow].get("routes", {})
        return routes

    def statements(self, policy_path: str) -> list[tuple[list[str], list[str]]]:
        """Actions and resources of each statement that allows something."""
        return self._statements(policy_path, "Allow")

    def denials(self, policy_path: str) -> list[tuple[list[str], list[str]]]:
        """Return statements that deny."""
        return self._statements(policy_path, "Deny")

    def _statements(self, policy_path: str, effect: str) -> list[tuple[list[str], list[str]]]:
        statements = self.properties(policy_path)["PolicyDocument"]["Statement"]
        return [
            (sorted(as_list(each["Action"])), sorted(map(flat, as_list(each["Resource"]))))
            for each in statements
            if each["Effect"] == effect
        ]

    def logs(self, role_path: str) -> list[str]:
        """Return the log groups that a role may write; a role of ours holds that itself, and nothing else."""
        (policy,) = self.properties(role_path)["Policies"]
        (statement,) = policy["PolicyDocument"]["Statement"]
        assert (statement["Effect"], statement["Action"]) == ("Allow", ["logs:CreateLogStream", "logs:PutLogEvents"])
        return [flat(each) for each in as_list(statement["Resource"])]

    def warnings(self) -> list[Warned]:
        """The warnings of the synthesized stack."""
        return self._messages("aws:cdk:warning")

    def notices(self) -> list[Warned]:
        """The information of the synthesized stack."""
        return self._messages("aws:cdk:info")

    def starts_told(self) -> list[Warned]:
        """Return warnings about cold starts, which depend on the Python of these tests."""
        return [each for each in self.notices() if SLOWER_STARTS in each.text]

    def _messages(self, kind: str) -> list[Warned]:
        """All messages of one kind.

        Not by ``assertions.Annotations``: its answers need the library's ``cloud_assembly_schema``,
        a file that the distribution ``aws-cdk.cloud-assembly-schema`` has as well, and which of the two
        is on disk depends on the order of installation.
        """
        assert self.template
        return [
            Warned(construct.node.path, entry.data)
            for construct in self.stack.node.find_all()
            for entry in construct.node.metadata
            if entry.type == kind
        ]


def flat(value: Any) -> str:
    """An intrinsic as text, references as logical ids."""
    if isinstance(value, str):
        return value
    ((intrinsic, argument),) = value.items()
    if intrinsic == "Fn::Join":
        separator, parts = argument
        return str(separator).join(map(flat, parts))
    return argument if isinstance(argument, str) else ".".join(argument)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
