"""Attacks by starters, describers, responders, readers and event sources, judged by their effects.

Each attack is tried by every way that the role's permissions leave open, also those that IAM refuses. Nobody looks at
refusals: what counts is what executions and tables hold afterwards.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Deployment
from unum_client import Client, Description
from unum_client.task_responses import Tasks
from unum_runtime.errors import ExecutionDoesNotExist, UnumError
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.naming import start_key
from unum_runtime.protocol.waiting.callback import DIGEST_LENGTH

pytestmark = pytest.mark.e2e

STACK = "Callbacks"
ALIASES = ("Run", "Start", "Describe", "Respond")
SECRET = "what only readers may know"
QUIET_S = 5
"""Time in which an accepted attack would have had its effect: a delivery takes far less here."""

Attack = Iterator[None]
"""What sends all that an attacker can, yields once, and judges then what has come about."""


@dataclass(frozen=True)
class Site:
    """The workflow, watched by its owner."""

    deployment: Deployment
    planted: Mapping[str, str] = field(default_factory=dict)

    @property
    def client(self) -> Client:
        return self.deployment.client(STACK)

    @property
    def outputs(self) -> Mapping[str, str]:
        return {**self.deployment.outputs[STACK], **self.planted}

    def session(self, role: str) -> boto3.Session:
        sts = self.deployment.session.client("sts")
        given = sts.assume_role(RoleArn=self.outputs[f"{role}Role"], RoleSessionName="attack")["Credentials"]
        return boto3.Session(
            aws_access_key_id=given["AccessKeyId"],
            aws_secret_access_key=given["SecretAccessKey"],
            aws_session_token=given["SessionToken"],
            region_name=self.deployment.session.region_name,
        )

    def waiting(self) -> tuple[str, str]:
        """An execution that waits for an answer, and its token."""
        name = uuid.uuid4().hex
        self.client.start({"case": "ask", "question": name, "secret": SECRET}, name=name)
        table, end = self.deployment.table(STACK, "AskedTable"), time.monotonic() + 60
        while time.monotonic() < end:
            found = table.get_item(Key={"key": name}, ConsistentRead=True).get("Item")
            if found is not None:
                return name, str(found["token"])
            time.sleep(0.1)
        raise AssertionError(f"{name}: nobody asked")

    @cached_property
    def forked(self) -> str:
        """The name of an execution that has ended, which nobody may fork."""
        return self.ended().name

    def ended(self) -> Description:
        name, token = self.waiting()
        Tasks.connect(
            start_alias=self.outputs["WorkflowStartAlias"], session=self.deployment.session
        ).send_task_success(token, json.dumps(SECRET))
        return self.client.wait(name, timeout_s=60)

    def exists(self, name: str) -> bool:
        try:
            self.client.describe(name)
        except ExecutionDoesNotExist:
            return False
        return True

    def mentions(self, text: str) -> bool:
        """Return True if anything in the workflow's table has `text` in it."""
        pages = self.deployment.session.client("dynamodb").get_paginator("scan")
        return any(text in str(page["Items"]) for page in pages.paginate(TableName=self.outputs["WorkflowTable"]))


@dataclass(frozen=True)
class Attacker:
    """A role with what it hears."""

    site: Site
    session: boto3.Session
    heard: list[str]

    def send(self, *events: Any, aliases: tuple[str, ...] = ALIASES) -> None:
        """Send each event through every alias, with and without waiting for the answer."""
        functions = self.session.client("lambda")
        for alias in aliases:
            for event in events:
                # What the start alias refuses is tried again for minutes, and lies in the failure queue at last.
                kinds: tuple[Any, ...] = ("RequestResponse",) if alias == "Start" else ("RequestResponse", "Event")
                for kind in kinds:
                    with suppress(ClientError):
                        arn = self.site.outputs[f"Workflow{alias}Alias"]
                        payload = json.dumps(event).encode()
                        answer = functions.invoke(FunctionName=arn, InvocationType=kind, Payload=payload)
                        self.heard.append(answer["Payload"].read().decode())

    def operate(self, event: Any) -> None:
        """Send a request of operators to its alias, and to the alias of administrators."""
        for kind in (event["control"], "operate"):
            alias = f"{self.site.outputs['WorkflowControlFunction']}:{kind}-{self.site.client.workflow}"
            with suppress(ClientError):
                self.session.client("lambda").invoke(FunctionName=alias, Payload=json.dumps(event).encode())

    def put(self, name: str, **attributes: Any) -> None:
        """Write a start record with other attributes than the run alias writes."""
        key = start_key(self.site.client.workflow, name)
        record = {"state": "", "phase": "entered", "ir": "", "at": int(time.time() * 1000), "ms": 0, "attempt": 0}
        item = {"pk": key.partition, "sk": key.sort, "ttl": int(time.time()) + 86_400, **record, **attributes}
        with suppress(ClientError):
            self.session.resource("dynamodb").Table(self.site.outputs["WorkflowTable"]).put_item(Item=item)

    def read(self, name: str) -> None:
        """Read what the table has of an execution."""
        key = start_key(self.site.client.workflow, name)
        table = self.session.resource("dynamodb").Table(self.site.outputs["WorkflowTable"])
        with suppress(ClientError):
            self.heard.append(str(table.get_item(Key={"pk": key.partition, "sk": key.sort})))
        with suppress(ClientError):
            self.heard.append(str(table.scan()))


def start(name: str, value: Any = None, **more: Any) -> dict[str, Any]:
    return {"$unum": 1, "start": name, "input": value, **more}


def begins_in_the_middle(attacker: Attacker) -> Attack:
    name = uuid.uuid4().hex
    forged = {"value": '{"question":"forged","case":"ask"}', "phase": "retried", "state": "Done"}
    attacker.put(name, **forged)
    attacker.send(
        {"$unum": 1, "start": name},
        start(name, {}, answer=True, phase="retried", state="Done"),
        start(name, {}, phase="retried", state="Done"),
    )
    attacker.operate(
        {"$unum": 1, "control": "fork", "execution": attacker.site.forked, "node": "Ask", "name": f"{name}-fork"}
    )
    yield
    assert not attacker.site.exists(name)
    assert not attacker.site.exists(f"{name}-fork")


def changes_a_result(attacker: Attacker) -> Attack:
    before = attacker.site.ended()
    attacker.put(before.name, value='{"case":"ask","question":"changed"}')
    changed = {"case": "ask", "question": "changed"}
    again = {"$unum": 1, "start": before.name}
    attacker.send(start(before.name, changed, answer=True), start(before.name, changed), again)
    yield
    assert attacker.site.client.describe(before.name) == before


def learns_a_result(attacker: Attacker) -> Attack:
    name = attacker.site.ended().name
    attacker.heard.clear()
    attacker.send(
        {"$unum": 1, "describe": name}, {"$unum": 1, "register": name, "input": "{}"}, start(name, 1, answer=True)
    )
    attacker.read(name)
    yield
    assert SECRET not in "".join(attacker.heard)


def ends_an_execution_before_it_began(attacker: Attacker) -> Attack:
    name = uuid.uuid4().hex
    attacker.put(name, at=1_000, value='{"case":"ask","question":"early"}')
    early = {"at": 1_000, "StartDate": 1_000}
    attacker.send(
        *({**start(name, {"case": "ask", "question": "early"}, answer=True), field: at} for field, at in early.items())
    )
    yield
    assert not attacker.site.exists(name)


def begins_a_running_name_again(attacker: Attacker) -> Attack:
    name, _ = attacker.site.waiting()
    before = attacker.site.client.describe(name)
    attacker.put(name, ttl=1, value='{"case":"ask","question":"second"}')
    second = {"case": "ask", "question": "second"}
    attacker.send(
        start(name, second, answer=True), start(name, second), start(name, second, answer=True, retention_s=1, ttl=1)
    )
    yield
    assert attacker.site.client.describe(name) == before


def answers_a_task(attacker: Attacker) -> Attack:
    name, token = attacker.site.waiting()
    answer = {"$unum": 1, "token": token, "output": '"forged"'}
    body = json.dumps({"taskToken": token, "output": '"forged"'})
    attacker.send(answer, {"requestContext": {"http": {"method": "POST"}}, "body": body})
    yield
    assert attacker.site.client.describe(name).status is Status.RUNNING


def starts(attacker: Attacker) -> Attack:
    name = uuid.uuid4().hex
    attacker.put(name, value="{}")
    attacker.send(start(name), start(name, {}, answer=True), {"$unum": 1, "start": name}, {"any": name})
    yield
    assert not attacker.site.mentions(name)


def stops(attacker: Attacker) -> Attack:
    name, _ = attacker.site.waiting()
    request = {"$unum": 1, "control": "stop", "execution": name}
    attacker.send({"control": "stop", "execution": name}, request)
    attacker.operate(request)
    yield
    assert attacker.site.client.describe(name).status is Status.RUNNING


def chooses_a_name(attacker: Attacker) -> Attack:
    name = uuid.uuid4().hex
    attacker.send(start(name, {}), start(name, {}, answer=True), {"$unum": 1, "start": name}, aliases=("Start",))
    yield
    assert not attacker.site.exists(name)


EFFECTS: Mapping[str, tuple[Callable[[Attacker], Attack], ...]] = {
    "Starter": (
        begins_in_the_middle,
        changes_a_result,
        learns_a_result,
        ends_an_execution_before_it_began,
        begins_a_running_name_again,
        answers_a_task,
        stops,
    ),
    "Describer": (starts, begins_in_the_middle, changes_a_result, answers_a_task, stops),
    "Answering": (starts, begins_in_the_middle, changes_a_result, learns_a_result, stops),
    "Reader": (starts, begins_in_the_middle, changes_a_result, answers_a_task, stops),
    "Source": (
        begins_in_the_middle,
        changes_a_result,
        learns_a_result,
        answers_a_task,
        stops,
        chooses_a_name,
        begins_a_running_name_again,
    ),
}
"""By role: what it must not bring about."""


CASES = [(role, each) for role, effects in EFFECTS.items() for each in effects]


@pytest.fixture(scope="module")
def site(deployment: Deployment) -> Site:
    return Site(deployment)


@pytest.fixture(scope="module")
def attacks(site: Site) -> Mapping[tuple[str, str], Attack]:
    """Every attack, sent; each has had the time for its effect."""
    sessions = {role: site.session(role) for role in EFFECTS}
    return sent({(role, each.__name__): each(Attacker(site, sessions[role], [])) for role, each in CASES})


def sent(attacks: Mapping[tuple[str, str], Attack]) -> Mapping[tuple[str, str], Attack]:
    for attack in attacks.values():
        next(attack)
    time.sleep(QUIET_S)
    return attacks


@pytest.mark.parametrize(
    ("role", "effect"), [pytest.param(role, each.__name__, id=f"{role}-{each.__name__}") for role, each in CASES]
)
def test_the_role_does_not_bring_it_about(attacks: Mapping[tuple[str, str], Attack], role: str, effect: str) -> None:
    # The attack itself asserts what has come about, between its only `yield` and its end.
    assert next(attacks[role, effect], "judged") == "judged"


def test_who_may_do_everything_brings_it_about(site: Site) -> None:
    """A judge that finds nothing proves something only if it finds what comes about."""
    effects = dict.fromkeys(each for found in EFFECTS.values() for each in found)
    sites = {each: holed(site) if each in HOLES else site for each in effects}
    found = sent({("all", each.__name__): each(Attacker(sites[each], site.deployment.session, [])) for each in effects})
    for attack in found.values():
        # A start record that was overwritten may be none any more.
        with pytest.raises((AssertionError, UnumError)):
            next(attack)  # ends without an error if it found nothing, which is none of these


HOLES = (chooses_a_name,)
"""Effects that no permission suffices for: a hole is planted, the run alias in place of the start alias."""


def holed(site: Site) -> Site:
    return replace(site, planted={"WorkflowStartAlias": site.outputs["WorkflowRunAlias"]})


def test_no_item_tells_a_token(site: Site) -> None:
    """Whoever reads the whole table can answer no Task: it has no token, and no secret part of one."""
    name, token = site.waiting()
    assert site.mentions(name)
    assert site.mentions(token[:DIGEST_LENGTH]), "the part that finds the Task"
    assert not site.mentions(token[DIGEST_LENGTH:]), "the part that proves the token"


def test_bodies_that_look_like_commands_are_input(site: Site) -> None:
    source = Attacker(site, site.session("Source"), [])
    bodies: list[Any] = [
        {"$unum": 1, "workflow": site.client.workflow, "execution": ["e", 1], "frames": [], "step": 1, "state": "Done"},
        {"$unum": 1, "control": "stop", "execution": "e"},
        {"$unum": 1, "upload": "a" * 64, "bytes": 5},
        {"$unum": 1, "start": "e", "input": {}, "answer": True},
        {"start": "e"},
    ]
    source.send(*bodies, aliases=("Start",))
    found = [json.loads(each) for each in source.heard if each]
    assert {each["workflow"] for each in found} == {site.client.workflow}
    inputs = [site.client.describe(each["execution"]).input for each in found]
    assert inputs == bodies
    assert not site.exists("e")
