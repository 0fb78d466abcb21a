"""Stacks of the research applications: a workflow and one function with all its handlers for each."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from examples.research.applications import EXCAMERA, FUNCTIONS, SEBS, UNUM, Application
from unum_constructs import OnRemoved, UnumFunction, UnumWorkflow, Upgrades


class ResearchStack(Stack):
    """Workflows of some applications, each with a construct id such as ``WordCount``."""

    applications: Sequence[Application]

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        code = lambda_.Code.from_asset(str(FUNCTIONS), exclude=["__pycache__"])
        for each in self.applications:
            name = each.construct_id
            UnumWorkflow(
                self,
                name,
                definition=each.definition,
                functions=UnumFunction(self, f"{name}Tasks", code=code, handlers=each.handlers),
                # Experiments: no schedule looks for stalled executions, and deployments may remove anything.
                sweep=None,
                upgrades=Upgrades(on_removed=OnRemoved.FAIL_EXECUTIONS),
            )


class UnumApplications(ResearchStack):
    """The applications of Unum's store."""

    applications = UNUM


class ExcameraApplications(ResearchStack):
    """ExCamera, twice."""

    applications = EXCAMERA


class SebsApplications(ResearchStack):
    """Six of the kinds that SeBS-Flow measures."""

    applications = SEBS


STACKS = (UnumApplications, ExcameraApplications, SebsApplications)
