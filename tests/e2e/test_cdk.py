import shlex
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from unum_emulator import cdk
from unum_emulator.process import Emulator

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]

# An app without the CDK's library: it writes the assembly as the command line expects it.
APP = """
import json, os, pathlib
out = pathlib.Path(os.environ["CDK_OUTDIR"])
out.mkdir(parents=True, exist_ok=True)
resources = {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "tiny"}}}
outputs = {"Url": {"Value": {"Ref": "Queue"}}}
(out / "Tiny.json").write_text(json.dumps({"Resources": resources, "Outputs": outputs}))
environment = "aws://000000000000/us-east-1"
stack = {"type": "aws:cloudformation:stack", "environment": environment, "properties": {"templateFile": "Tiny.json"}}
(out / "manifest.json").write_text(json.dumps({"version": "36.0.0", "artifacts": {"Tiny": stack}}))
"""

SITE = """
from aws_cdk import App, RemovalPolicy, Stack
from aws_cdk.aws_s3 import Bucket
from aws_cdk.aws_s3_deployment import BucketDeployment, Source

app = App()
stack = Stack(app, "Site")
bucket = Bucket(
    stack, "Bucket", bucket_name="site", versioned=True, auto_delete_objects=True, removal_policy=RemovalPolicy.DESTROY
)
sources = [Source.asset("pages"), Source.json_data("config.json", {"bucket": bucket.bucket_arn})]
BucketDeployment(stack, "Pages", destination_bucket=bucket, sources=sources, exclude=["*.tmp"])
app.synth()
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory as a user has it: an app, and the command line beside it."""
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    return tmp_path


@pytest.fixture
def app() -> str:
    return f"{shlex.quote(sys.executable)} app.py"


@pytest.fixture
def session(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> boto3.Session:
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    return boto3.Session()


def test_a_stack_is_deployed_and_destroyed(
    emulator: Emulator, checkout: Path, app: str, session: boto3.Session
) -> None:
    lines: list[str] = []
    outputs = cdk.deploy(emulator, ["Tiny"], app=app, cwd=checkout, progress=lines.append)
    assert outputs["Tiny"]["Url"].endswith("/tiny")
    assert any("CREATE_COMPLETE" in line and "AWS::SQS::Queue" in line for line in lines)
    cdk.destroy(emulator, ["Tiny"], app=app, cwd=checkout)
    with pytest.raises(ClientError, match="NonExistentQueue"):
        session.client("sqs").get_queue_url(QueueName="tiny")


def test_a_bucket_is_filled_at_deployment_and_emptied_at_the_end(
    bootstrapped: Emulator, checkout: Path, app: str, session: boto3.Session
) -> None:
    (checkout / "app.py").write_text(SITE, encoding="utf-8")
    (checkout / "pages").mkdir()
    for name in ("index.html", "index.tmp"):
        (checkout / "pages" / name).write_text("<b>Hello</b>", encoding="utf-8")
    s3 = session.client("s3")
    cdk.deploy(bootstrapped, ["Site"], app=f"CDK_VALIDATION=false {app}", cwd=checkout)
    found = {each["Key"]: s3.get_object(Bucket="site", Key=each["Key"]) for each in _objects(s3)}
    assert {key: each["ContentType"] for key, each in found.items()} == {
        "config.json": "application/json",
        "index.html": "text/html",
    }
    # The CDK's function replaces what is known at deployment only.
    assert found["config.json"]["Body"].read() == b'{"bucket":"arn:aws:s3:::site"}'
    cdk.destroy(bootstrapped, ["Site"], app=f"CDK_VALIDATION=false {app}", cwd=checkout)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        _objects(s3)


def _objects(s3: Any) -> list[Any]:
    contents: list[Any] = s3.list_objects_v2(Bucket="site")["Contents"]
    return contents


def test_the_assembly_is_kept_where_the_caller_wants_it(emulator: Emulator, checkout: Path, app: str) -> None:
    kept = checkout / "kept"
    cdk.deploy(emulator, ["Tiny"], app=app, cwd=checkout, outdir=kept)
    assert (kept / "manifest.json").exists()
    cdk.destroy(emulator, ["Tiny"], app=str(kept), cwd=checkout)


def test_what_a_broken_app_says_is_in_the_error(emulator: Emulator, checkout: Path, app: str) -> None:
    (checkout / "app.py").write_text("raise SystemExit('there is a hole in the bucket')", encoding="utf-8")
    with pytest.raises(cdk.CdkError, match="there is a hole in the bucket"):
        cdk.deploy(emulator, ["Tiny"], app=app, cwd=checkout)
    assert not (checkout / "cdk.out").exists()
