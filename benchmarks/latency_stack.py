"""Stack of `latency.py`: a chain and Maps, each as a workflow and as a state machine with the same functions."""

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn

from unum_constructs import Definition, ExecutionData, Guard, UnumFunction, UnumWorkflow

LENGTH = 10
STACK = "Latency"

_CODE = """
import time

def hop(event, context):
    return [*event, time.time()]

def make(width, context):
    return [time.time()] * width

def work(opened, context):
    return [opened, time.time()]

def join(branches, context):
    return {"opened": branches[0][0], "began": max(began for _, began in branches), "joined": time.time()}
"""
"""Functions that pass on their start times, in seconds since 1970."""

AT_ONCE = 2
"""Parallel branches of the limited Map: the minimum number of processors."""

_CHAIN = [f"Hop{number}" for number in range(LENGTH)]
_MAP = {"Make": "make", "Work": "work", "Join": "join"}

Machine = Mapping[str, Any]


class Latency(cdk.Stack):
    """Workflows and state machines of a chain, a Map, and a Map with lanes; a sink for events.

    ``Fused`` is the chain with all Tasks in one function. The machine of the workflow ``Fan`` is ``FanMachine``.
    """

    def __init__(self, scope: cdk.App, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self._both("Chain", chain(), dict.fromkeys(_CHAIN, "hop"))
        self._both("Fan", fan(), _MAP)
        self._both(
            "Lanes",
            fan(MaxConcurrency=AT_ONCE),
            _MAP,
            prefix="Lane",
            execution_data=ExecutionData(small_results=True),
            guard=Guard.COMMIT,
        )
        every = dict.fromkeys(_CHAIN, self._function("Every", "hop"))
        UnumWorkflow(self, "Fused", definition=Definition.from_asl(chain()), functions=every)
        sink = lambda_.Function(
            self,
            "Sink",
            runtime=lambda_.Runtime.PYTHON_3_11,
            handler="index.handle",
            code=lambda_.Code.from_inline("def handle(event, context):\n    pass\n"),
            reserved_concurrent_executions=1,  # keeps its load low while events arrive
        )
        cdk.CfnOutput(self, "SinkArn", value=sink.function_arn)

    def _both(self, name: str, machine: Machine, handlers: Mapping[str, str], prefix: str = "", **options: Any) -> None:
        functions = {key: self._function(f"{prefix}{key}", handler) for key, handler in handlers.items()}
        UnumWorkflow(self, name, definition=Definition.from_asl(machine), functions=functions, **options)
        arns = {key: function.function_arn for key, function in functions.items()}
        made = sfn.StateMachine(
            self,
            f"{name}Machine",
            definition_body=sfn.DefinitionBody.from_string(self.to_json_string(_with_resources(machine, arns))),
        )
        for function in functions.values():
            function.grant_invoke(made)
        cdk.CfnOutput(self, f"{name}MachineArn", value=made.state_machine_arn)

    def _function(self, key: str, handler: str) -> UnumFunction:
        return UnumFunction(
            self,
            key,
            handler=f"index.{handler}",
            code=lambda_.Code.from_inline(_CODE),
            memory_size=128,
            timeout=cdk.Duration.minutes(5),
        )


def chain() -> Machine:
    """Return a chain of Tasks."""
    following = [*_CHAIN[1:], None]
    return {
        "StartAt": _CHAIN[0],
        "States": {name: _task(name, then) for name, then in zip(_CHAIN, following, strict=True)},
    }


def fan(**fields: Any) -> Machine:
    """Return a Map between a Task that makes items and a Task that receives the results; `fields` extend the Map."""
    processor = {"StartAt": "Work", "States": {"Work": _task("Work", None)}}
    states = {
        "Make": _task("Make", "Each"),
        "Each": {"Type": "Map", "ItemProcessor": processor, "Next": "Join", **fields},
        "Join": _task("Join", None),
    }
    return {"StartAt": "Make", "States": states}


def _task(key: str, following: str | None) -> Machine:
    return {"Type": "Task", "Resource": f"${{{key}}}", **({"Next": following} if following else {"End": True})}


def _with_resources(machine: Any, arns: Mapping[str, str]) -> Any:
    """Return `machine` with ARNs in place of function keys."""
    if isinstance(machine, dict):
        return {name: _with_resources(value, arns) for name, value in machine.items()}
    if isinstance(machine, str) and machine.startswith("${"):
        return arns[machine[2:-1]]
    return machine


if __name__ == "__main__":
    # This synthesizer needs no bootstrap roles in the emulator.
    app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
    Latency(app, STACK)
    app.synth()
