"""One app for the whole catalogue of attacks: two workflows on one table, and a role for everybody who might attack."""

from functools import partial
from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, Memoization, Store, UnumFunction, UnumWorkflow

DEFINITION: Any = {
    "StartAt": "First",
    "States": {
        "First": {"Type": "Task", "Resource": "First", "Next": "Hold"},
        "Hold": {"Type": "Wait", "SecondsPath": "$.hold_s", "Next": "Second"},
        "Second": {"Type": "Task", "Resource": "Second", "End": True},
    },
}
"""An execution waits for as long as its input says, and fails before that if its input says so."""

CODE = """
import os

import boto3


def handle(event, context):
    if event.get("fails"):
        raise ValueError("as asked")
    if event.get("charge") and context.unum.state == "Second":
        charges = boto3.resource("dynamodb").Table(os.environ["CHARGES"])
        change = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": 1}}
        charges.update_item(Key={"key": event["charge"]}, **change)
    return event
"""
"""User code, whose last Task charges: what is run again shows as one more charge."""

VERBS = {
    "HolePut": ("dynamodb:PutItem",),
    "HoleUpdate": ("dynamodb:UpdateItem",),
    "HoleDelete": ("dynamodb:DeleteItem",),
    "HoleBatch": ("dynamodb:BatchWriteItem", "dynamodb:PutItem", "dynamodb:DeleteItem"),
}
"""Roles with one right more than any other has, for each verb of the table: the judges must report them."""


SHARED = Memoization(version="1")


class Attacks(Stack):
    """Two workflows of the same form on one table, and roles."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self.functions: dict[str, UnumFunction] = {}
        key = dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING)
        self.charges = dynamodb.Table(self, "ChargesTable", partition_key=key)
        CfnOutput(self, "Charges", value=self.charges.table_name)
        self.workflow = self._flow("Flow", {}, memoize=SHARED)
        self._flow("Other", {"store": Store.dynamodb(table=self.workflow.table)})
        for kind in self.workflow.control.aliases:
            self.workflow.control.aliases[kind]  # an attack needs something to invoke
        grants: Any = {
            "Starter": self.workflow.grant_start,
            "Reader": self.workflow.grant_read,
            "Stopper": self.workflow.grant_stop,
            "Redriver": self.workflow.grant_redrive,
            "Forker": self.workflow.grant_fork,
            "Nudger": self.workflow.grant_nudge,
            "Deleter": self.workflow.grant_delete,
            "Pauser": self.workflow.grant_pause,
            "Forgetter": self.workflow.grant_memo,
            "Caller": partial(self.workflow.grant_call, state="Second"),
        }
        for name, grant in grants.items():
            grant(self._role(name))
        self._role("Nobody")
        # What no grant allows, and no role of a function: a hole, which the judges must find.
        hole = self._role("Hole")
        self.functions["OtherSecond"].current_version.grant_invoke(hole)
        self.workflow.grant_call(hole, "First")
        for name, actions in VERBS.items():
            self.workflow.table.grant(self._role(name), *actions)

    def _flow(self, name: str, options: Any, **shared: Any) -> UnumWorkflow:
        functions = {key: self._function(f"{name}{key}", **shared) for key in ("First", "Second")}
        self.functions |= {f"{name}{key}": each for key, each in functions.items()}
        return UnumWorkflow(self, name, definition=Definition.from_asl(DEFINITION), functions=functions, **options)

    def _function(self, name: str, **shared: Any) -> UnumFunction:
        code, environment = lambda_.Code.from_inline(CODE), {"CHARGES": self.charges.table_name}
        made = UnumFunction(self, name, handler="index.handle", code=code, environment=environment, **shared)
        self.charges.grant(made, "dynamodb:UpdateItem")
        return made

    def _role(self, name: str) -> iam.Role:
        role = iam.Role(self, name, assumed_by=iam.AccountRootPrincipal())
        CfnOutput(self, f"{name}Role", value=role.role_arn)
        return role
