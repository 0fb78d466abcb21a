"""Stack with one customer managed key for all stored and logged data."""

from aws_cdk import Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from docs.snippets.orders import HERE
from unum_constructs import Definition, UnumFunction, UnumWorkflow


class Encrypted(Stack):
    """Orders; the functions use the key, too."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        code = lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        # --8<-- [start:key]
        key = kms.Key(self, "Key", enable_key_rotation=True)
        functions = {
            name: UnumFunction(self, name, code=code, handler=f"orders.{name.lower()}", encryption_key=key)
            for name in ("Split", "Price", "Total")
        }
        definition = Definition.from_asl_file(HERE / "workflow.asl.json")
        UnumWorkflow(self, "Orders", definition=definition, functions=functions, encryption_key=key)
        # --8<-- [end:key]
