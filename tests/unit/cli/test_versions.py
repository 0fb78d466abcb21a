"""Versions that nothing needs are found and deleted, and no others; Lambda and the table are moto's."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.unit.protocol.platform import Platform, chain
from unum_cli.commands import versions_command
from unum_cli.commands.stack import Deployed
from unum_client.client import Client
from unum_runtime.model.checkpoint import start_record
from unum_runtime.model.list_index import stored_item
from unum_runtime.model.naming import Execution, start_key

TABLE = "state"
OPTIONS = ("--table", TABLE, "--workflow", "w", "--region", "us-east-1")


@dataclass
class Account:
    """Functions with published versions, and the executions of a workflow."""

    lambda_: Any
    role: str
    platform: Platform
    arns: dict[str, str] = field(default_factory=dict)

    def publish(self, name: str, *, names: tuple[str, ...] = (), workflow: str = "w") -> str:
        """Publish a version of `name` whose environment names the versions `names`; return its ARN."""
        routes = {str(number): each for number, each in enumerate(names)}
        service = {"table": TABLE, "hosts": [name], "routes": routes, "retention_s": 604_800}
        environment = {"Variables": {"UNUM_WORKFLOWS": json.dumps({workflow: service})}}
        if name in self.arns:
            self.lambda_.update_function_configuration(FunctionName=name, Environment=environment)
        else:
            made = self.lambda_.create_function(
                FunctionName=name,
                Runtime="python3.13",
                Role=self.role,
                Handler="index.handle",
                Code={"ZipFile": archive()},
                Environment=environment,
            )
            self.arns[name] = made["FunctionArn"]
        self.lambda_.update_function_code(FunctionName=name, ZipFile=archive(len(self.published(name))))
        return str(self.lambda_.publish_version(FunctionName=name)["FunctionArn"])

    def point(self, alias: str, address: str) -> None:
        function, _, version = address.rpartition(":")
        name = function.rpartition(":")[2]
        names = [each["Name"] for each in self.lambda_.list_aliases(FunctionName=name)["Aliases"]]
        change = self.lambda_.update_alias if alias in names else self.lambda_.create_alias
        change(FunctionName=name, Name=alias, FunctionVersion=version)

    def published(self, name: str) -> list[int]:
        found = self.lambda_.list_versions_by_function(FunctionName=name)["Versions"]
        return [int(each["Version"]) for each in found if each["Version"] != "$LATEST"]

    def start(self, name: str, address: str) -> None:
        """Start an execution that waits after its first step, which ran on `address`."""
        self.platform.options["own_address"] = address
        self.platform.start(name, {})

    def record_start(self, name: str) -> None:
        """Store the start record of an execution whose first event has not arrived."""
        record = start_record(Execution(name, self.platform.clock.ms), {})
        key = start_key("w", name)
        assert self.platform.memory.create(key, stored_item("w", record), expires_at_s=2**40) is None

    def finish(self) -> None:
        self.platform.deliver_all()


def archive(number: int = 0) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("index.py", f"number = {number}\n")
    return packed.getvalue()


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        trust = json.dumps({"Version": "2012-10-17", "Statement": []})
        role = boto3.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
        platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)

        def client_at(found: Deployed, _session: Any) -> Client:
            """Return a client that reads executions where the platform has them."""
            return Client(store=platform.memory, workflow=found.workflow, index=platform.memory)

        monkeypatch.setattr(versions_command, "client_at", client_at)
        yield Account(boto3.client("lambda"), role, platform)


def options(account: Account) -> tuple[str, ...]:
    aliases = ("--start-alias", f"{account.arns['A']}:start-w", "--control-alias", f"{account.arns['Control']}:ask")
    return *OPTIONS, *aliases, "--keep", "1"


@pytest.fixture
def deployed(account: Account) -> Account:
    """Three deployments of A, which names B and has a control function; B changed in each."""
    for _ in range(3):
        b = account.publish("B")
        a = account.publish("A", names=(b,))
        control = account.publish("Control")
    account.point("start-w", a)
    account.point("ask", control)
    return account


def test_prune_says_what_it_would_delete_and_deletes_nothing(unum: Callable[..., Any], deployed: Account) -> None:
    ran = unum("versions", "prune", *options(deployed))
    assert ran.code == 0, ran.err
    assert "6 versions would be deleted" in ran.out
    assert "delete them with --yes" in ran.out
    assert [len(deployed.published(each)) for each in ("A", "B", "Control")] == [3, 3, 3]


def test_prune_deletes_what_no_alias_and_no_execution_needs(unum: Callable[..., Any], deployed: Account) -> None:
    shown = json.loads(unum("versions", "prune", *options(deployed), "--yes", "--json").out)
    assert [deployed.published(each) for each in ("A", "B", "Control")] == [[3], [3], [3]]
    assert (len(shown["versions"]), shown["deleted"]) == (6, True)
    assert shown["bytes"] == sum(each["bytes"] for each in shown["versions"]) > 0


def test_running_execution_keeps_its_versions_and_all_that_they_name(
    unum: Callable[..., Any], deployed: Account
) -> None:
    deployed.start("old", f"{deployed.arns['A']}:1")
    listed = unum("versions", "list", *options(deployed)).out
    assert listed.count("execution old") == 2
    unum("versions", "prune", *options(deployed), "--yes")
    assert [deployed.published(each) for each in ("A", "B", "Control")] == [[1, 3], [1, 3], [3]]
    deployed.finish()
    unum("versions", "prune", *options(deployed), "--yes")
    assert [deployed.published(each) for each in ("A", "B")] == [[3], [3]]


def test_failure_handler_of_a_needed_version_stays(unum: Callable[..., Any], account: Account) -> None:
    for _ in range(3):
        handler, a = account.publish("OnFailure"), account.publish("A")
        account.lambda_.put_function_event_invoke_config(
            FunctionName="A", Qualifier=a.rpartition(":")[2], DestinationConfig={"OnFailure": {"Destination": handler}}
        )
        account.point("ask", account.publish("Control"))
        account.point("start-w", a)
    account.start("old", f"{account.arns['A']}:1")
    unum("versions", "prune", *options(account), "--yes")
    assert [account.published(each) for each in ("A", "OnFailure")] == [[1, 3], [1, 3]]


def test_execution_without_a_commit_keeps_everything(unum: Callable[..., Any], deployed: Account) -> None:
    deployed.record_start("silent")
    ran = unum("versions", "prune", *options(deployed), "--yes")
    assert ran.code == 1
    assert "execution 'silent' has committed nothing" in ran.err
    assert deployed.published("A") == [1, 2, 3]


def test_newest_versions_are_kept_for_a_rollback(unum: Callable[..., Any], deployed: Account) -> None:
    *others, _option, _one = options(deployed)
    unum("versions", "prune", *others, "--yes")
    assert deployed.published("A") == [2, 3]


def test_functions_of_other_workflows_are_left_alone(unum: Callable[..., Any], deployed: Account) -> None:
    for _ in range(2):
        other = deployed.publish("Other", workflow="x")
    a = deployed.publish("A", names=(other,))
    deployed.point("start-w", a)
    unum("versions", "prune", *options(deployed), "--yes")
    assert deployed.published("Other") == [1, 2]


@pytest.mark.parametrize("given", [("--start-alias", "arn"), ("--control-alias", "arn"), ()])
def test_addresses_are_needed(unum: Callable[..., Any], given: tuple[str, ...]) -> None:
    ran = unum("versions", "list", *OPTIONS, *given)
    assert (ran.code, "expected both ARNs" in ran.err) == (2, True)


def test_list_deletes_nothing(unum: Callable[..., Any]) -> None:
    ran = unum("versions", "list", *OPTIONS, "--start-alias", "a", "--control-alias", "b", "--yes")
    assert (ran.code, "only `unum versions prune` deletes" in ran.err) == (2, True)
