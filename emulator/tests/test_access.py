"""Entrances of the emulator and attacks on them, judged by what happened: no function, file, item or object is there.

Each entrance works for a request that is signed with the emulator's key, so the attacks reach it.
"""

import base64
import dataclasses
import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from unum_emulator.process_settings import AccessKey

EVIL = "http://evil.example"
WRITING = """
    import json, pathlib, sys

    def handler(event, context):
        pathlib.Path(event["path"] if "path" in event else json.loads(event["body"])["path"]).touch()
        return {"statusCode": 200, "body": "written", "headers": {"access-control-allow-origin": "*"}}
"""
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}],
}


@dataclass(frozen=True)
class Entrance:
    """A request that has an effect.

    Attributes:
        happened: returns True if the effect is there; gets the answer of the request.
    """

    method: str
    target: str
    body: bytes
    headers: Mapping[str, str]
    service: str
    happened: Callable[[bytes], bool]


@pytest.fixture(params=[False, True], ids=["plain", "with-iam"])
def here(request: pytest.FixtureRequest) -> Any:
    """An emulator without IAM, and one with."""
    return request.getfixturevalue("guarded" if request.param else "cloud")


def _role(here: Any) -> str:
    name = f"role-{uuid.uuid4().hex[:8]}"
    arn: str = here.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    return arn


def _creates_a_function(here: Any, _: Path) -> Entrance:
    name = f"planted-{uuid.uuid4().hex[:8]}"
    code = {"ZipFile": base64.b64encode(here.archive(WRITING)).decode()}
    body = {
        "FunctionName": name,
        "Runtime": "python3.11",
        "Handler": "index.handler",
        "Role": _role(here),
        "Code": code,
    }

    def happened(_: bytes) -> bool:
        pages = here.awslambda.get_paginator("list_functions").paginate()
        return name in [function["FunctionName"] for page in pages for function in page["Functions"]]

    return Entrance("POST", "/2015-03-31/functions", json.dumps(body).encode(), {}, "lambda", happened)


def _invokes(here: Any, path: Path, kind: str) -> Entrance:
    function = here.function(WRITING, Role=_role(here))
    target, body = f"/2015-03-31/functions/{function}/invocations", json.dumps({"path": str(path)}).encode()
    return Entrance("POST", target, body, {"x-amz-invocation-type": kind}, "lambda", lambda _: path.exists())


def _puts_an_item(here: Any, _: Path) -> Entrance:
    table = here.table(name="S")
    body = json.dumps({"TableName": table, "Item": {"name": {"S": "planted"}}}).encode()
    target = {"x-amz-target": "DynamoDB_20120810.PutItem"}
    return Entrance("POST", "/", body, target, "dynamodb", lambda _: bool(here.dynamodb.scan(TableName=table)["Count"]))


def _sends_a_message(here: Any, _: Path) -> Entrance:
    url, _arn = here.queue()
    body = f"Action=SendMessage&Version=2012-11-05&QueueUrl={url}&MessageBody=planted".encode()

    def happened(_: bytes) -> bool:
        found = here.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        return found["Attributes"]["ApproximateNumberOfMessages"] != "0"

    return Entrance("POST", "/", body, {"content-type": "application/x-www-form-urlencoded"}, "sqs", happened)


def _puts_an_object(here: Any, _: Path) -> Entrance:
    bucket = _bucket(here)
    client = here.client("s3")
    return Entrance(
        "PUT",
        f"/{bucket}/a%20b",
        b"planted",
        {},
        "s3",
        lambda _: "Contents" in client.list_objects_v2(Bucket=bucket),
    )


def _changes_a_setting(_here: Any, _: Path) -> Entrance:
    body = json.dumps({"transcribe._JOB_RUN_SECONDS": 1}).encode()
    return Entrance("POST", "/_ministack/config", body, {}, "lambda", lambda answer: b"applied" in answer)


def _calls_a_url_with_iam(here: Any, path: Path) -> Entrance:
    function = here.function(WRITING, Role=_role(here))
    url = here.awslambda.create_function_url_config(FunctionName=function, AuthType="AWS_IAM")["FunctionUrl"]
    body = json.dumps({"path": str(path)}).encode()
    return Entrance(
        "POST",
        here.path_of(url),
        body,
        {"content-type": "application/json"},
        "lambda",
        lambda _: path.exists(),
    )


ENTRANCES: Mapping[str, Callable[[Any, Path], Entrance]] = {
    "create-function": _creates_a_function,
    "invoke": lambda here, path: _invokes(here, path, "RequestResponse"),
    "send-event": lambda here, path: _invokes(here, path, "Event"),
    "put-item": _puts_an_item,
    "query-protocol": _sends_a_message,
    "put-object": _puts_an_object,
    "control-path": _changes_a_setting,
    "url-with-iam": _calls_a_url_with_iam,
}


def _bucket(here: Any) -> str:
    name = f"bucket-{uuid.uuid4().hex[:8]}"
    here.client("s3").create_bucket(Bucket=name)
    return name


def _signed(here: Any, entrance: Entrance, **options: Any) -> dict[str, str]:
    headers = {name.replace("-", "_"): value for name, value in entrance.headers.items()}
    signed: dict[str, str] = here.signed(
        entrance.method, entrance.target, entrance.body, service=entrance.service, **headers, **options
    )
    return signed


def _signed_at(hours: int) -> Callable[[Any, Entrance], dict[str, str]]:
    def headers(here: Any, entrance: Entrance) -> dict[str, str]:
        return _signed(here, entrance, at_hours=hours)

    return headers


def _replaced(headers: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    changed = {name: value.replace(old, new) for name, value in headers.items()}
    assert changed != headers
    return changed


def _without_signature(here: Any, entrance: Entrance) -> dict[str, str]:
    return {"host": here.host, **entrance.headers}


def _with_two_credentials(here: Any, entrance: Entrance) -> dict[str, str]:
    """A request whose first credential is another's: ministack reads the first one, and other parsers the last."""
    credential = "Credential="
    return _replaced(_signed(here, entrance), credential, f"{credential}000000000000/x, {credential}")


ATTACKS: Mapping[str, Callable[[Any, Entrance], dict[str, str]]] = {
    "unsigned": _without_signature,
    "text/plain": lambda here, it: {**_without_signature(here, it), "content-type": "text/plain"},
    "foreign origin": lambda here, it: {**_without_signature(here, it), "origin": EVIL, "content-type": "text/plain"},
    "origin null": lambda here, it: {**_without_signature(here, it), "origin": "null"},
    "own origin, unsigned": lambda here, it: {**_without_signature(here, it), "origin": here.emulator.endpoint},
    "foreign host": lambda here, it: {**_without_signature(here, it), "host": "evil.example"},
    "other site": lambda here, it: {**_without_signature(here, it), "sec-fetch-site": "cross-site"},
    "bearer": lambda here, it: {**_without_signature(here, it), "authorization": "Bearer x"},
    "key, foreign origin": lambda here, it: {**_signed(here, it), "origin": EVIL},
    "key, origin of another port": lambda here, it: {**_signed(here, it), "origin": "http://localhost:3000"},
    "key, origin null": lambda here, it: {**_signed(here, it), "origin": "null"},
    "key, other site": lambda here, it: {**_signed(here, it), "sec-fetch-site": "same-site"},
    "key, foreign host": lambda here, it: _signed(here, it, host="evil.example"),
    "key, foreign host of this port": lambda here, it: _signed(here, it, host=here.host.replace("127.0.0.1", "evil")),
    "wrong secret": lambda here, it: _signed(here, it, key=AccessKey(here.emulator.key.id, "guessed")),
    "another emulator's key": lambda here, it: _signed(here, it, key=AccessKey()),
    "ministack's own key": lambda here, it: _signed(here, it, key=AccessKey("test", "test")),
    "account as key": lambda here, it: _signed(here, it, key=AccessKey("000000000000", "test")),
    "two credentials": _with_two_credentials,
    "host not signed": lambda here, it: _signed(here, it, signs_host=False),
    "other header": lambda here, it: {**_signed(here, it, x_amz_meta_a="1"), "x-amz-meta-a": "2"},
    "an hour old": _signed_at(-1),
    "of the next hour": _signed_at(1),
    "other query": lambda here, it: _signed(here, dataclasses.replace(it, target=f"{it.target}?a=1")),
    "other body, its hash in a header": lambda here, it: _signed(
        here,
        dataclasses.replace(it, body=it.body + b" "),
        x_amz_content_sha256=hashlib.sha256(it.body + b" ").hexdigest(),
    ),
    "content not signed, as in S3": lambda here, it: (
        _signed(here, it, x_amz_content_sha256="UNSIGNED-PAYLOAD")
        if it.service != "s3"
        else _without_signature(here, it)
    ),
    "other body": lambda here, it: _signed(here, dataclasses.replace(it, body=it.body + b" ")),
}


def _send(here: Any, entrance: Entrance, headers: Mapping[str, str]) -> Any:
    return here.send_raw(entrance.method, entrance.target, entrance.body, headers)


@pytest.mark.parametrize("kind", ENTRANCES)
def test_only_signed_requests_have_effect(kind: str, here: Any, tmp_path: Path) -> None:
    entrance = ENTRANCES[kind](here, tmp_path / "written")
    for name, attack in ATTACKS.items():
        answer = _send(here, entrance, attack(here, entrance))
        assert answer.status in (400, 403), name
        assert not entrance.happened(answer.body), name
        assert not [header for header in answer.headers if header.startswith("access-control-")], name
    answer = _send(here, entrance, _signed(here, entrance))
    assert answer.status < 300
    here.until(lambda: entrance.happened(answer.body))


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/_ministack/health", "/_ministack/reset", "/_localstack/health", "/any/page"])
def test_no_path_answers_without_signature(cloud: Any, method: str, path: str) -> None:
    table = cloud.table(name="S")
    for headers in ({}, {"origin": EVIL}, {"origin": EVIL, "access-control-request-method": "POST"}):
        answer = cloud.send_raw(method, path, b"", headers)
        assert answer.status == 403
        assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert cloud.dynamodb.describe_table(TableName=table)["Table"]["TableName"] == table


def test_answers_have_no_cors_wildcard(here: Any) -> None:
    for client, call in (("s3", "list_buckets"), ("lambda", "list_functions"), ("sts", "get_caller_identity")):
        found = getattr(here.client(client), call)()["ResponseMetadata"]["HTTPHeaders"]
        assert not [name for name in found if name.startswith("access-control-")], client


def test_temporary_credentials_are_verified(here: Any, tmp_path: Path) -> None:
    role = _role(here)
    everything = {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}], "Version": "2012-10-17"}
    here.client("iam").put_role_policy(
        RoleName=role.rpartition("/")[2], PolicyName="all", PolicyDocument=json.dumps(everything)
    )
    given = here.client("sts").assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
    key, token = AccessKey(given["AccessKeyId"], given["SecretAccessKey"]), given["SessionToken"]
    entrance = _invokes(here, tmp_path / "written", "RequestResponse")
    wrong = {
        "no token": {"key": key},
        "other token": {"key": key, "token": "guessed"},
        "other secret": {"key": AccessKey(key.id, "guessed"), "token": token},
    }
    for name, options in wrong.items():
        assert _send(here, entrance, _signed(here, entrance, **options)).status in (400, 403), name
        assert not entrance.happened(b""), name
    assert _send(here, entrance, _signed(here, entrance, key=key, token=token)).status == 200
    assert entrance.happened(b"")


def test_secrets_of_functions_cannot_be_computed(guarded: Any) -> None:
    source = "import os\ndef handler(event, context): return {n: v for n, v in os.environ.items() if 'AWS_S' in n}"
    role = _role(guarded)
    function = guarded.function(source, Role=role)
    arn = guarded.awslambda.get_function(FunctionName=function)["Configuration"]["FunctionArn"]
    found, _ = guarded.invoke(function)
    assert set(found) == {"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
    digest = hashlib.sha256(f"{arn}:{role}".encode()).hexdigest()  # as ministack derives them
    assert found["AWS_SECRET_ACCESS_KEY"] != hashlib.sha256(f"secret:{digest}".encode()).hexdigest()
