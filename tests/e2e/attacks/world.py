"""Deployed app under attack, and evidence of success: executions and records, never an answer."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.e2e.conftest import Deployment, until
from tests.e2e.lost_starts import start_lost
from unum_client import Client
from unum_runtime.errors import ExecutionDoesNotExist, StartsPaused, UnumError
from unum_runtime.features.memo import calling, remembered
from unum_runtime.model.checkpoint import Status, Success
from unum_runtime.model.envelope import Envelope, Value, start_request
from unum_runtime.model.naming import Name
from unum_runtime.protocol.control.control_aliases import FORGET, LIST

STACK = "Attacks"
HOLD_S = 3_600
TRUSTED = "FlowTimerForwarder"
"""The function behind the timer queue, whose messages there are trusted: it is tried elsewhere."""


@dataclass(frozen=True)
class Victims:
    """Executions for one attacker: one that waits, one that has failed, one whose first event was lost, and one of the
    other workflow that waits; and what identifies a result that is remembered."""

    running: str
    failed: str
    lost: str
    other: str
    remembered: str
    kept: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class World:
    """Deployed app with an administrator's view."""

    deployment: Deployment
    trusted: dict[str, Any] = field(default_factory=dict)

    def client(self, workflow: str = "Flow") -> Client:
        return self.deployment.client(STACK, workflow)

    @property
    def name(self) -> str:
        return self.deployment.outputs[STACK]["FlowWorkflow"]

    @cached_property
    def functions(self) -> Mapping[str, Any]:
        """The configuration of each function of the app, by the front of its logical id."""
        formation, lambdas = (self.deployment.session.client(name) for name in ("cloudformation", "lambda"))
        found = formation.describe_stack_resources(StackName=STACK)["StackResources"]
        named = {
            each["LogicalResourceId"][:-8]: each["PhysicalResourceId"]
            for each in found
            if each["ResourceType"] == "AWS::Lambda::Function"
        }
        return {key: lambdas.get_function_configuration(FunctionName=name) for key, name in named.items()}

    @cached_property
    def queues(self) -> list[str]:
        """URLs of all queues of the app."""
        found = self.deployment.session.client("cloudformation").describe_stack_resources(StackName=STACK)
        resources = found["StackResources"]
        return [each["PhysicalResourceId"] for each in resources if each["ResourceType"] == "AWS::SQS::Queue"]

    @cached_property
    def addresses(self) -> list[str]:
        """Everything in the app that can be invoked: functions, versions and aliases."""
        lambdas, found = self.deployment.session.client("lambda"), []
        for each in self.functions.values():
            arn, name = each["FunctionArn"], each["FunctionName"]
            versions = lambdas.list_versions_by_function(FunctionName=name)["Versions"]
            aliases = lambdas.list_aliases(FunctionName=name)["Aliases"]
            qualifiers = [*(one["Version"] for one in versions), *(one["Name"] for one in aliases)]
            found += [arn, *(f"{arn}:{qualifier}" for qualifier in qualifiers)]
        return found

    def session_of(self, role: str) -> boto3.Session:
        """A session of a role of the stack, or of the role of a function, which trusts this test until `forget`."""
        output, function = self.deployment.outputs[STACK].get(f"{role}Role"), self.functions.get(role)
        if output is None:
            output = self._trusting(self._role(role) if function is None else function["Role"])
        name = "attacker" if function is None else function["FunctionName"]
        given = self.deployment.session.client("sts").assume_role(RoleArn=output, RoleSessionName=name)["Credentials"]
        return boto3.Session(
            aws_access_key_id=given["AccessKeyId"],
            aws_secret_access_key=given["SecretAccessKey"],
            aws_session_token=given["SessionToken"],
            region_name=self.deployment.session.region_name,
        )

    def _role(self, name: str) -> str:
        """The ARN of a role, by the front of its logical id."""
        found = self.deployment.session.client("cloudformation").describe_stack_resources(StackName=STACK)
        (role,) = (
            each["PhysicalResourceId"]
            for each in found["StackResources"]
            if each["ResourceType"] == "AWS::IAM::Role" and each["LogicalResourceId"][:-8] == name
        )
        return str(self.deployment.session.client("iam").get_role(RoleName=role)["Role"]["Arn"])

    def _trusting(self, arn: str) -> str:
        roles, name = self.deployment.session.client("iam"), arn.rpartition("/")[2]
        if name not in self.trusted:
            self.trusted[name] = roles.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
            here = {"AWS": f"arn:aws:iam::{arn.split(':')[4]}:root"}
            statement = {"Effect": "Allow", "Principal": here, "Action": "sts:AssumeRole"}
            document = {"Version": "2012-10-17", "Statement": [statement, *self.trusted[name]["Statement"]]}
            roles.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(document))
        return arn

    def forget(self) -> None:
        """Trust nobody any more."""
        for name, document in self.trusted.items():
            iam = self.deployment.session.client("iam")
            iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(document))

    def victims(self) -> Victims:
        """Executions to attack, in the state that they are to keep."""
        names = [uuid.uuid4().hex for _ in range(5)]
        found = Victims(names[0], names[1], names[2], names[3], names[4])
        flow, other = self.client(), self.client("Other")
        # An attacker before this one may have paused a workflow, and sandboxes know that for some seconds.
        until(lambda: is_started(flow, found.running, {"hold_s": HOLD_S}))
        until(lambda: is_started(other, found.other, {"hold_s": HOLD_S}))
        until(lambda: is_started(flow, found.failed, {"fails": True, "hold_s": 0}))
        start_lost(flow, {"hold_s": HOLD_S}, found.lost)
        assert flow.wait(found.failed, timeout_s=120).status is Status.FAILED
        until(lambda: is_called(flow, {"remembered": found.remembered}))
        until(lambda: bool([*flow.steps(found.running)]) and bool([*other.steps(found.other)]))
        found.kept.update(self.kept(found))
        return found

    def starts(self, workflow: str) -> list[Any]:
        """The start records of a workflow."""
        found = self.deployment.table(STACK, "FlowTable").scan()["Items"]
        return [each for each in found if each["pk"].startswith(f"start:{workflow}/") and each["sk"] == "start"]

    def results(self, event: str) -> list[Any]:
        """The items of results that are remembered for events with the text `event`."""
        found = self.deployment.table(STACK, "FlowTable").scan()["Items"]
        return [each for each in found if each["pk"].startswith("memo:") and event in each.get("of", "")]

    def remembered(self, victims: Victims) -> Any:
        """The item of the result that is remembered for `victims`; None if it is gone."""
        return next(iter(self.results(f'"remembered":"{victims.remembered}"')), None)

    def is_called(self, state: str, victims: Victims) -> bool:
        """Return True if a call of an attacker has run the Task `state`."""
        front = f"{self.name}/{calling._run_prefix(state)}"
        return any(each["by"].startswith(front) for each in self.results(f'"called":"{victims.remembered}"'))

    def names(self) -> set[str]:
        """The names of all executions of the workflow."""
        return {each["pk"].partition("/")[2] for each in self.starts(self.name)}

    def kept(self, victims: Victims) -> dict[str, Any]:
        """Return the owner's view of executions that must not change: input, and entry in a list."""
        return {
            name: self._seen(workflow, name) for workflow, name in (("Flow", victims.lost), ("Other", victims.other))
        }

    def _seen(self, workflow: str, name: str) -> Any:
        client = self.client(workflow)
        try:
            listed = [(each.name, each.started_at) for each in client.list(limit=1000).executions if each.name == name]
            found = client.describe(name)
        except UnumError as error:
            return type(error)
        return found.input, found.started_at, listed

    def settle(self) -> None:
        """Wait until no event of the workflow is under way."""
        queues = self.deployment.session.client("sqs")

        def is_quiet() -> bool:
            timers = [url for url in self.queues if "Timer" in url]
            found = [queues.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"] for url in timers]
            return all(
                int(each["ApproximateNumberOfMessages"]) + int(each["ApproximateNumberOfMessagesNotVisible"]) == 0
                for each in found
            )

        until(is_quiet)
        time.sleep(2)  # what was invoked asynchronously comes to its end


def is_started(client: Client, name: str, value: Any) -> bool:
    """Start an execution; return False if the workflow is paused."""
    with suppress(StartsPaused):
        client.start(value, name=name)
        return True
    return False


def is_called(client: Client, value: Any) -> bool:
    """Call the second Task; return False if the workflow is paused."""
    with suppress(StartsPaused):
        return bool(client.call("Second", value, timeout_s=60) == value)
    return False


def control(kind: str, execution: str, **content: Any) -> dict[str, Any]:
    """The event of a control request, as an attacker writes it."""
    return {"$unum": 1, "control": kind, "execution": execution, **content}


def payloads(world: World, victims: Victims) -> Iterator[Any]:
    """Yield everything that is worth sending, as itself and inside of records of failures."""
    own = [
        control("stop", victims.running, error="Forged"),
        control("stop", victims.other, error="Forged"),
        control("redrive", victims.failed),
        control("nudge", victims.lost),
        control("fork", victims.failed, node="First", name=f"forked-{victims.failed}", input={"hold_s": HOLD_S}),
        {"$unum": 1, "control": "sweep", "silent_ms": 1, "nudge": True},
        *(control("delete", name) for name in (victims.running, victims.failed, victims.other)),
        start_request(victims.lost),
        {"hold_s": HOLD_S},
    ]
    start = str(world.client().start_alias)
    for event in own:
        yield event
        yield record(event, start)
        yield record(event, f"{world.functions['FlowOnFailureHandler']['FunctionArn']}:1")
    yield {"$unum": 1, "control": "resume"}
    for state in ("First", "Second"):
        yield calling.request(state, {"hold_s": 0, "called": victims.remembered})
        yield remembered.request(FORGET, state=state)
    yield remembered.request(LIST, limit=1_000)
    for workflow, victim in (("Flow", victims.running), ("Other", victims.other)):
        for event in envelopes(world, workflow, victim):
            yield event
            for error in ("Forged", "StoreError"):
                function = world.functions[f"{workflow}Second"]["FunctionArn"]
                yield record(event, f"{function}:1", {"errorType": error, "errorMessage": "forged"})


def envelopes(world: World, workflow: str, execution: str) -> Iterator[Any]:
    """Yield events for the Task after the Wait, which has not ended: one forged input, and a step that is not due."""
    client = world.client(workflow)
    last = [*client.steps(execution)][-1].checkpoint
    for step in (last.name.step + 1, last.name.step + 2):
        name = Name(last.name.execution, (), step)
        value = Value(Success({"hold_s": 0, "forged": True}), last.committed_ms)
        event = Envelope(
            workflow=client.workflow,
            digest=str(last.digest),
            name=name,
            state="Second",
            input=value,
            sent_s=int(time.time()),
            routes={},
        )
        yield json.loads(event.to_bytes())


def record(event: Any, address: str, error: Any = None) -> Any:
    """Return a record of a failure that never happened."""
    context = {"requestId": uuid.uuid4().hex, "functionArn": address, "condition": "RetriesExhausted"}
    answer = {"responsePayload": error, "responseContext": {}} if error else {}
    return {"requestContext": context, "requestPayload": event, **answer}


def items(world: World, victims: Victims) -> Iterator[Any]:
    """Yield items that are worth writing: starts, changed starts, and entries in the lists of both workflows."""
    now_ms = int(time.time() * 1000)
    record = {"state": "", "phase": "entered", "ir": "", "at": now_ms, "ms": 0, "attempt": 0, "value": '{"hold_s":0}'}
    for workflow, known in (("Flow", victims.lost), ("Other", victims.other)):
        name = world.deployment.outputs[STACK][f"{workflow}Workflow"]
        entry = next(each for each in world.starts(name) if each["pk"].endswith(f"/{known}"))
        listed = {field: value for field, value in entry.items() if field.startswith("list")}
        for execution in (known, f"forged-{known}"):
            key = {"pk": f"start:{name}/{execution}", "sk": "start", "ttl": int(time.time()) + 86_400}
            yield {**key, **record}
            yield {**key, **record, **listed}
            yield {**key, **record, "phase": "retried", "state": "Second"}
            yield {**key, **record, **listed, "list_at": "malformed"}
            yield {**key, "pk": f"{name}/{execution}", **record, **listed, "status": "FAILED"}


def false_results(world: World, victims: Victims) -> Iterator[Any]:
    """Yield items that are worth writing in place of remembered results."""
    found = world.remembered(victims)
    if found is not None:
        yield {**found, "value": FALSE}


FALSE = '"forged"'


def pauses(world: World) -> Iterator[Any]:
    """Yield records of a pause that are worth writing, newer than any other."""
    for workflow in ("Flow", "Other"):
        name = world.deployment.outputs[STACK][f"{workflow}Workflow"]
        key = {"pk": f"start:{name}/~pauses", "sk": f"{int(time.time()) % 10**9:09d}"}
        yield {**key, "ttl": int(time.time()) + 86_400, "since_ms": 1, "reason": "forged", "value": "1"}


def write(session: boto3.Session, table: str, found: Iterator[Any]) -> int:
    """Write items in each way; return how many were accepted."""
    accepted, given = 0, session.resource("dynamodb").Table(table)
    for item in found:
        key = {name: item[name] for name in ("pk", "sk")}
        change: Any = {"ExpressionAttributeNames": {"#v": "value"}, "ExpressionAttributeValues": {":v": item["value"]}}
        attempts: tuple[Callable[[], Any], ...] = (
            partial(given.put_item, Item=item),
            partial(given.update_item, Key=key, UpdateExpression="SET #v = :v", **change),
            partial(given.delete_item, Key=key),
        )
        for attempt in attempts:
            with suppress(ClientError):
                attempt()
                accepted += 1
    return accepted


def attack(world: World, role: str, victims: Victims) -> int:
    """Send everything everywhere, as `role`, and write it; return how much was accepted."""
    session, events = world.session_of(role), [*payloads(world, victims)]
    table = world.deployment.outputs[STACK]["FlowTable"]
    accepted = write(session, table, items(world, victims)) + write(session, table, false_results(world, victims))
    lambdas, queues = session.client("lambda"), session.client("sqs")

    def is_open(address: str) -> bool:
        with suppress(ClientError):
            lambdas.invoke(FunctionName=address, InvocationType="DryRun")
            return True
        return False

    open_addresses = [each for each in world.addresses if is_open(each)]
    for payload in events:
        for address in open_addresses:
            lambdas.invoke(FunctionName=address, Payload=json.dumps(payload))
            accepted += 1
        targets = [each["FunctionArn"] for key, each in world.functions.items() if key.startswith("Flow")]
        for body in (payload, *({"address": f"{each}:1", "event": payload, "due_ms": 1} for each in targets)):
            for url in world.queues if role != TRUSTED else ():
                try:
                    queues.send_message(QueueUrl=url, MessageBody=json.dumps(body))
                except ClientError:
                    break
                accepted += 1
    # Last: in a pause, other attacks would have no effect.
    for address in open_addresses:
        lambdas.invoke(FunctionName=address, Payload=json.dumps({"$unum": 1, "control": "pause", "reason": "forged"}))
    return accepted + write(session, table, pauses(world))


def status(world: World, name: str) -> Status | None:
    """Return an execution's status; None after its deletion."""
    with suppress(ExecutionDoesNotExist):
        return world.client().describe(name).status
    return None


def is_redriven(world: World, name: str) -> bool:
    """Return True if a failed execution runs, has another end, or has run its first Task again."""
    found = status(world, name)
    again = [] if found is None else [*world.client().steps(name)][1:]
    return found not in (Status.FAILED, None) or any(each.state == "First" for each in again)


STARTED = "start"
"""Effect of an attack after which there is one more execution."""

Effect = Callable[[World, Victims], bool]

EFFECTS: Mapping[str, Effect] = {
    "stop": lambda world, found: status(world, found.running) in (Status.ABORTED, Status.FAILED, None),
    "delete": lambda world, found: status(world, found.failed) is None,
    "call": lambda world, found: world.is_called("Second", found),
    "call of another Task": lambda world, found: world.is_called("First", found),
    "forget": lambda world, found: "value" not in (world.remembered(found) or {}),
    "false result": lambda world, found: (world.remembered(found) or {}).get("value") == FALSE,
    "pause": lambda world, _: world.client().describe_pause() is not None,
    "redrive": lambda world, found: is_redriven(world, found.failed),
    "fork": lambda world, found: f"forked-{found.failed}" in world.names(),
    "begin": lambda world, found: bool([*world.client().steps(found.lost)]),
    "end of the other workflow's": lambda world, found: (
        world.client("Other").describe(found.other).status is not Status.RUNNING
    ),
    "step of the other workflow's": lambda world, found: len([*world.client("Other").steps(found.other)]) > 1,
    "forged step": lambda world, found: len([*world.client().steps(found.running)]) > 1,
    "other input or entry": lambda world, found: world.kept(found) != found.kept,
}
"""What attackers want to bring about, and whether it has come about. A forged start shows as one more name."""


def brought_about(world: World, role: str) -> set[str]:
    """Attack as `role`, and return which effects there were."""
    victims, names = world.victims(), world.names()
    attack(world, role, victims)
    world.settle()
    found = {effect for effect, has_come in EFFECTS.items() if has_come(world, victims)}
    for workflow in ("Flow", "Other"):
        world.client(workflow).resume_starts()
    # One attacker's victims are another's bystanders: a start without a name of its own is one more name.
    started = {each for each in world.names() - names if not each.startswith(("forked-", "call-"))}
    return found | ({STARTED} if started else set())
