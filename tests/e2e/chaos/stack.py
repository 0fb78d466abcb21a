from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack, Tags
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from unum_constructs import Definition, Store, UnumFunction, UnumWorkflow
from unum_constructs import graph as g

HERE = Path(__file__).parent

RETURN_S = 30
"""Time after which messages of a forwarder that died return, in place of three minutes, so that a run is short."""

FAULTS = "emulator:faults"
TASKS = "die=0.05 within=6 doomed=0.02 twice=0.05"
HANDLERS = "die=0.35 within=8 doomed=0.05 twice=0.05"
SERVICES = "die=0.15 within=8 twice=0.05"
FORWARDERS = "die=0.1 within=2 twice=0.05"
COPIERS = "die=1 within=150"
"""Faults by kind of function. Some events fail in each attempt, so that the failure handler has work, and some of its
own do, so that records become dead letters."""


NODE = """
exports.handler = async (event) => {
  if (Math.random() < 0.25) process.kill(process.pid, "SIGKILL");
  return Array.isArray(event) ? event.map((n) => ({ n })) : { square: event.n * event.n };
};
"""
"""A Node.js function, which has no requests to AWS at which the emulator could kill it, so it does that itself."""


class Chaos(Stack):
    """Workflows of which the emulator kills every function: one of all kinds of states, its child, a Map, a region.

    One has its state in S3, one calls a function of Node.js, which kills itself. The runtime of a last one is broken in
    ways that a checker must find.
    """

    def __init__(self, scope: Construct, construct_id: str, *, in_bucket: bool = False, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self._in_bucket = in_bucket
        self._notes = dynamodb.Table(
            self,
            "Notes",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        queue = sqs.Queue(self, "Told", removal_policy=RemovalPolicy.DESTROY)
        functions = {key: self._function(key, f"chaos.{key.lower()}") for key in ("Begin", "Item", "Join", "Ask")}
        for function in functions.values():
            _fail(function, TASKS)
        child = self._workflow("Child", "child", {"Item": functions["Item"]})
        workflow = self._workflow(
            "Workflow", "workflow", functions, Queue=queue.queue_url, Child=child.start_alias.function_arn
        )
        services = workflow.node.find_child("Services")
        _fail(services, SERVICES)
        self._wide()
        self._region()
        self._objects()
        self._called()
        self._broken()
        CfnOutput(self, "NotesTable", value=self._notes.table_name)

    def _workflow(
        self, construct_id: str, file: str, functions: dict[str, UnumFunction], **substitutions: str
    ) -> UnumWorkflow:
        definition = Definition.from_asl_file(HERE / f"{file}.asl.json", substitutions=substitutions)
        store = Store.s3() if self._in_bucket else None
        return self._killed(UnumWorkflow(self, construct_id, definition=definition, functions=functions, store=store))

    def _killed(self, workflow: UnumWorkflow) -> UnumWorkflow:
        """Return `workflow`, whose own functions the emulator kills."""
        for handler in (workflow.failure_handler, workflow.control):
            _fail(handler, HANDLERS)
        if workflow.timer is not None:
            _fail(workflow.timer, FORWARDERS)
            queue = workflow.timer.queue.node.default_child
            assert isinstance(queue, sqs.CfnQueue)
            queue.visibility_timeout = RETURN_S
        return workflow

    def _wide(self) -> None:
        functions = {key: self._function(f"Wide{key}", f"chaos.{key.lower()}") for key in ("Begin", "Item", "Join")}
        _fail(self._workflow("Wide", "wide", functions).control, COPIERS)

    def _region(self) -> None:
        odd = self._function(
            "RegionOdd", {**dict.fromkeys("ace", "region.node"), "split": "region.split", "h": "region.total"}
        )
        even = self._function("RegionEven", {**dict.fromkeys("bdf", "region.node"), "g": "region.encode"})
        for function in (odd, even):
            _fail(function, TASKS)
        graph = {
            "a": g.task("a"),
            "b": g.task("b").after("a"),
            "c": g.task("c").after("a"),
            "d": g.task("d").after("b", "c"),
            "e": g.task("e").after("c"),
            "f": g.task("f").after("d", "e"),
        }
        wave = g.map(g.task("g") >> g.task("h").after_previous("h"), items=g.out)
        functions = {**odd.by_key, **even.by_key}
        definition = Definition.from_graph(g.dag(graph) >> g.task("split") >> wave)
        self._killed(UnumWorkflow(self, "Region", definition=definition, functions=functions))

    def _objects(self) -> None:
        keys = ("Split", "Square", "Total")
        functions = {key: self._function(f"Objects{key}", f"objects.{key.lower()}") for key in keys}
        for function in functions.values():
            _fail(function, TASKS)
        each = {"StartAt": "Each", "States": {"Each": {"Type": "Task", "Resource": "Square", "End": True}}}
        states = {
            "First": {"Type": "Task", "Resource": "Split", "Next": "Map"},
            "Map": {"Type": "Map", "ItemProcessor": each, "Next": "Last"},
            "Last": {"Type": "Task", "Resource": "Total", "End": True},
        }
        definition = Definition.from_asl({"StartAt": "First", "States": states})
        self._killed(UnumWorkflow(self, "Objects", definition=definition, functions=functions, store=Store.s3()))

    def _called(self) -> None:
        functions = {key: self._function(f"Called{key}", f"objects.{key.lower()}") for key in ("Split", "Total")}
        for function in functions.values():
            _fail(function, TASKS)
        node = lambda_.Function(
            self,
            "CalledNode",
            code=lambda_.Code.from_inline(NODE),
            handler="index.handler",
            runtime=lambda_.Runtime.NODEJS_22_X,
        )
        again = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 8, "BackoffRate": 1}]
        call = {"Type": "Task", "Resource": "Node", "Retry": again}
        states = {
            "First": {"Type": "Task", "Resource": "Split", "Next": "Whole"},
            "Whole": {**call, "Next": "Map"},
            "Map": {
                "Type": "Map",
                "ItemProcessor": {"StartAt": "Each", "States": {"Each": {**call, "End": True}}},
                "Next": "Last",
            },
            "Last": {"Type": "Task", "Resource": "Total", "End": True},
        }
        workflow = UnumWorkflow(
            self,
            "Called",
            definition=Definition.from_asl({"StartAt": "First", "States": states}),
            functions={**functions, "Node": node},
        )
        _fail(self._killed(workflow).node.find_child("Services"), SERVICES)

    def _broken(self) -> None:
        functions = {key: self._function(key, f"broken.{key.lower()}") for key in ("First", "Second")}
        states = {
            "First": {"Type": "Task", "Resource": "First", "Next": "Second"},
            "Second": {"Type": "Task", "Resource": "Second", "End": True},
        }
        definition = Definition.from_asl({"StartAt": "First", "States": states})
        UnumWorkflow(self, "Broken", definition=definition, functions=functions)

    def _function(self, construct_id: str, handler: str | dict[str, str]) -> UnumFunction:
        function = UnumFunction(
            self,
            construct_id,
            handler=handler if isinstance(handler, str) else None,
            handlers=None if isinstance(handler, str) else handler,
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
            environment={"NOTES_TABLE": self._notes.table_name},
            timeout=Duration.seconds(10),
        )
        self._notes.grant(function, "dynamodb:PutItem", "dynamodb:GetItem")
        return function


def _fail(functions: IConstruct, faults: str) -> None:
    """Ask the emulator for faults of all functions inside a construct."""
    Tags.of(functions).add(FAULTS, faults, include_resource_types=["AWS::Lambda::Function"])
