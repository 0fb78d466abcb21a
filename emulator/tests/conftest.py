"""One emulator for the whole session, with helpers for deployments."""

import io
import json
import sys
import textwrap
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import botocore.auth
import botocore.session
import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from unum_emulator.process import Emulator
from unum_emulator.process_settings import AccessKey

ROLE = "arn:aws:iam::000000000000:role/any"
PATIENCE_S = 120
"""Longest wait for something that should come soon, for machines that have other work."""
RUNTIME = f"python{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Answer:
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Cloud:
    """Clients of an emulator, and helpers to deploy and to wait."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self._session = botocore.session.get_session()
        self.awslambda = self.client("lambda")
        self.sqs = self.client("sqs")
        self.dynamodb = self.client("dynamodb")
        self.logs = self.client("logs")

    def client(self, service: str, region: str = "us-east-1", **options: Any) -> Any:
        return self._session.create_client(
            service,
            endpoint_url=self.emulator.endpoint,
            region_name=region,
            aws_access_key_id=self.emulator.key.id,
            aws_secret_access_key=self.emulator.key.secret,
            config=Config(retries={"max_attempts": 0}, max_pool_connections=40, **options),
        )

    def signed(  # noqa: PLR0913 - each option is an attack
        self,
        method: str,
        target: str,
        body: bytes = b"",
        *,
        service: str = "lambda",
        key: AccessKey | None = None,
        token: str | None = None,
        host: str | None = None,
        at_hours: int = 0,
        signs_host: bool = True,
        **headers: str,
    ) -> dict[str, str]:
        """Return the headers of a request, `headers` with a signature; for underscores in their names, dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        host = host or self.host
        request = AWSRequest(method, f"http://{host}{target}", data=body, headers=named)
        key = key or self.emulator.key
        signer = (S3SigV4Auth if service == "s3" else SigV4Auth)(
            Credentials(key.id, key.secret, token), service, "us-east-1"
        )
        with pytest.MonkeyPatch.context() as patch:
            time_s = datetime.now(UTC) + timedelta(hours=at_hours)
            patch.setattr(botocore.auth, "get_current_datetime", lambda: time_s)
            if not signs_host:
                found = signer.headers_to_sign

                def headers_to_sign(request: AWSRequest) -> Any:
                    chosen = found(request)
                    del chosen["host"]
                    return chosen

                patch.setattr(signer, "headers_to_sign", headers_to_sign)
            signer.add_auth(request)
        return {"host": host, **dict(request.headers.items())}

    def path_of(self, url: str) -> str:
        """Return path and query of one of the emulator's URLs."""
        return url.removeprefix(self.emulator.endpoint)

    @property
    def host(self) -> str:
        return self.emulator.endpoint.removeprefix("http://")

    def send_raw(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        to: str | None = None,
    ) -> Answer:
        """Send a request with just these headers, and its length, to host and port `to`."""
        fields = {"host": self.host, **(headers or {})}
        connection = HTTPConnection(to or self.host, timeout=30)
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in fields.items():
            connection.putheader(name, value)
        connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        answer = Answer(
            response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        )
        connection.close()
        return answer

    def function(self, source: str, **options: Any) -> str:
        """Create a function with handler `index.handler` and return its name."""
        name = f"function-{uuid.uuid4().hex[:8]}"
        options = {"Runtime": RUNTIME, "Handler": "index.handler", "Role": ROLE, "MemorySize": 512} | options
        code = {"ZipFile": self.archive(source, **options.pop("files", {}))}
        self.awslambda.create_function(FunctionName=name, Code=code, **options)
        return name

    def archive(self, source: str, **others: str) -> bytes:
        """Return a deployment package with `index.py` and other files."""
        return zipped({"index.py": textwrap.dedent(source)} | others)

    def invoke(self, function: str, payload: Any = None, **options: Any) -> tuple[Any, Any]:
        """Call a function; return its result and the complete response."""
        answer = self.awslambda.invoke(FunctionName=function, Payload=json.dumps(payload), **options)
        return json.loads(answer["Payload"].read() or b"null"), answer

    def send(self, function: str, payload: Any = None, **options: Any) -> str:
        """Send an asynchronous event and return its request id."""
        answer = self.invoke(function, payload, InvocationType="Event", **options)[1]
        assert answer["StatusCode"] == 202
        request_id: str = answer["ResponseMetadata"]["RequestId"]
        return request_id

    def queue(self) -> tuple[str, str]:
        """Create a queue and return its URL and ARN."""
        url = self.sqs.create_queue(QueueName=f"queue-{uuid.uuid4().hex[:8]}")["QueueUrl"]
        return url, self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    def layer(self, files: Mapping[str, str]) -> str:
        """Publish a layer and return the ARN of its version."""
        name, content = f"layer-{uuid.uuid4().hex[:8]}", {"ZipFile": zipped(files)}
        arn: str = self.awslambda.publish_layer_version(LayerName=name, Content=content)["LayerVersionArn"]
        return arn

    def until(self, ask: Callable[[], Any], within_s: float = PATIENCE_S) -> Any:
        """Call `ask` until it returns a true value, and return that value."""
        end = time.monotonic() + within_s
        while not (answer := ask()):
            assert time.monotonic() < end, f"no answer within {within_s} s"
            time.sleep(0.02)
        return answer

    def receive(self, url: str, *, within_s: float = PATIENCE_S) -> Mapping[str, Any]:
        """Return the next message of a queue."""
        arguments = {
            "QueueUrl": url,
            "WaitTimeSeconds": 1,
            "MessageAttributeNames": ["All"],
            "AttributeNames": ["SenderId"],
        }
        message: Mapping[str, Any] = self.until(
            lambda: self.sqs.receive_message(**arguments).get("Messages"), within_s
        )[0]
        self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return message

    def table(self, **key: str) -> str:
        """Create a table with the given hash and range keys (`name="S"`) and return its name."""
        name = f"table-{uuid.uuid4().hex[:8]}"
        self.dynamodb.create_table(
            TableName=name,
            KeySchema=[
                {"AttributeName": attribute, "KeyType": kind}
                for attribute, kind in zip(key, ("HASH", "RANGE"), strict=False)
            ],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in key.items()],
            BillingMode="PAY_PER_REQUEST",
        )
        return name


def zipped(files: Mapping[str, str]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for path, content in files.items():
            opened.writestr(path, content)
    return archive.getvalue()


class Processes:
    """Processes of this machine, by Linux's /proc."""

    def descendants(self, ancestor: int) -> list[int]:
        """Return the living descendants of a process."""
        parents = {pid: status[1] for pid in self._all() if (status := self._status(pid)) and status[0] != "Z"}
        found = [ancestor]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found[1:]

    def wait_for_end_of(self, *pids: int, within_s: float = PATIENCE_S) -> None:
        """Wait until all processes have ended; zombies count as ended."""
        end = time.monotonic() + within_s
        while left := [pid for pid in pids if (status := self._status(pid)) and status[0] != "Z"]:
            assert time.monotonic() < end, f"processes {left} are still there"
            time.sleep(0.02)

    def _all(self) -> list[int]:
        return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]

    def _status(self, pid: int) -> tuple[str, int] | None:
        """Return the state and the parent of a process."""
        try:
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            return None
        return state, int(parent)


@pytest.fixture(scope="session")
def processes() -> Processes:
    if sys.platform != "linux":
        pytest.skip("the processes are found by Linux's /proc")
    return Processes()


@pytest.fixture(scope="session")
def new_cloud() -> Callable[[Emulator], Cloud]:
    """Clients and helpers for an emulator of a module's own."""
    return Cloud


@pytest.fixture(scope="session")
def guarded() -> Iterator[Cloud]:
    """An emulator that enforces IAM."""
    with Emulator(sys.executable, auth=True, max_processes=8) as emulator:
        yield Cloud(emulator)


@pytest.fixture(scope="session")
def cloud() -> Iterator[Cloud]:
    with Emulator(sys.executable, max_processes=8) as emulator:
        yield Cloud(emulator)
