from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, Sweep, UnumControlPlane, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent
RETRY = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 1, "IntervalSeconds": 1}]


def chain(*keys: str) -> dict[str, Any]:
    """Return Tasks of `keys` one after the other, each of which is tried twice."""
    following = [*keys[1:], None]
    states = {
        key: {"Type": "Task", "Resource": key, "Retry": RETRY, **({"Next": after} if after else {"End": True})}
        for key, after in zip(keys, following, strict=True)
    }
    return {"StartAt": keys[0], "States": states}


class Together(Stack):
    """Two workflows with one control plane: one of two functions, one of a single function."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        plane = UnumControlPlane(self, "Plane", sweep=Sweep.every(Duration.minutes(1), silent_for=Duration.minutes(5)))
        code = lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        first, second = (UnumFunction(self, key, code=code, handler=f"steps.{name}") for key, name in FUNCTIONS.items())
        both = UnumFunction(self, "Both", code=code, handlers={"Only": "steps.work", "Last": "steps.echo"})
        self.one = UnumWorkflow(
            self,
            "One",
            definition=Definition.from_asl(chain("First", "Second")),
            functions={"First": first, "Second": second},
            control_plane=plane,
        )
        self.two = UnumWorkflow(
            self, "Two", definition=Definition.from_asl(chain("Only", "Last")), functions=both, control_plane=plane
        )
        CfnOutput(self, "Sync", value=self.one.sync_start_alias.function_arn)
        CfnOutput(self, "Permanent", value=self.two.permanent_start_alias.function_arn)
        CfnOutput(self, "Control", value=plane.function.function_arn)
        CfnOutput(self, "DeadLetters", value=plane.failure_queue.queue_url)
        for key, function in {"First": first, "Second": second, "Both": both}.items():
            CfnOutput(self, f"{key}Function", value=function.function_arn)


FUNCTIONS = {"First": "work", "Second": "work"}
