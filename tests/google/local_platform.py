"""Google Cloud on one machine: functions under the Functions Framework, Firestore, Cloud Tasks, and signed tokens."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import grpc
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

from tests.google.firestore_server import HOST, PROJECT, firestore_client, firestore_server
from tests.patience import PATIENCE_S
from unum_client.reading import stored_steps
from unum_compiler.definition import Definition
from unum_google.adapters import SERVICE, TASKS_HOST
from unum_google.firestore import FirestoreStore
from unum_runtime.model.ir import Workflow

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "gcp"
TASKS_PYTHON = ROOT / ".venv-tasks" / "bin" / "python"
ACCOUNT, STARTER = "orders@unum-tests.iam.gserviceaccount.com", "shop@unum-tests.iam.gserviceaccount.com"
WORKFLOW = "orders"
HANDLERS: Mapping[str, Mapping[str, str]] = {
    "split": {"Split": "orders.split", "Total": "orders.total"},
    "price": {"Price": "orders.price"},
    "recovery": {},
}
MANY = 1_000_000
"""Deaths of a function in tests that kill functions at random."""


@dataclass(frozen=True)
class Deployment:
    """A workflow and its functions.

    Attributes:
        source: folder of `main.py`.
        handlers: handlers by key, for each function.
        compiled: the compiled workflow.
        attempts: see `Service.attempts`.
    """

    source: Path
    handlers: Mapping[str, Mapping[str, str]]
    compiled: Callable[[], bytes]
    attempts: int = MANY


@dataclass(frozen=True)
class Platform:
    """Running services.

    Attributes:
        urls: URL of each function.
        tokens: URL of the service that signs tokens.
        functions: process of each function; its child runs the requests.
        store: the workflow's store.
        purge: function that drops the events of a function from its queue, as Cloud Tasks does at last.
        queued: function that counts the events of a function in its queue, without one that is being delivered.
    """

    urls: Mapping[str, str]
    tokens: str
    functions: "Mapping[str, subprocess.Popen[bytes]]"
    store: FirestoreStore
    purge: Callable[[str], object]
    queued: Callable[[str], int]

    def token(self, email: str, audience: str, **claims: str) -> str:
        """Return an ID token, as Google signs it unless `claims` say otherwise."""
        return token(self.tokens, email, audience=audience, **claims)

    def post(self, function: str, path: str, body: Any, token: str | None) -> tuple[int, Any]:
        """Send a request to a function; return status and answer."""
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        request = Request(f"{self.urls[function]}{path}", json.dumps(body).encode(), headers)  # noqa: S310 - ours
        try:
            with urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    def start(self, name: str, value: Any) -> None:
        """Start an execution; repeat it while functions die, as clients do."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with suppress(URLError, ConnectionError):
                status, answer = self.post("split", "/start", {"name": name, "input": value}, self._starter())
                if status == 200:
                    return
                assert status == 429, answer
            time.sleep(0.1)
        raise AssertionError(f"{name}: not started")

    def ended(self, name: str) -> bool:
        """Return True if the execution has ended."""
        record = stored_steps.start_record(self.store, WORKFLOW, name)
        return stored_steps.ending(self.store, WORKFLOW, record.name.execution) is not None

    def result(self, name: str, seconds: float = PATIENCE_S) -> Any:
        """Wait for the end of an execution; return its outcome."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            record = stored_steps.start_record(self.store, WORKFLOW, name)
            if ending := stored_steps.ending(self.store, WORKFLOW, record.name.execution):
                return ending.outcome
            time.sleep(0.1)
        raise AssertionError(f"{name}: expected an end within {seconds} s")

    def kill(self, function: str) -> int:
        """Kill the process that runs the function's requests; return how many were killed."""
        found = self._workers(function)
        for each in found:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        return len(found)

    def end(self, function: str) -> None:
        """Kill the function, so that nothing starts it again."""
        workers = self._workers(function)
        self.functions[function].kill()
        for each in workers:
            os.kill(each, signal.SIGKILL)

    def _workers(self, function: str) -> list[int]:
        master = self.functions[function].pid
        return [*map(int, Path(f"/proc/{master}/task/{master}/children").read_text(encoding="utf-8").split())]

    def sweep(self, silent_s: int, give_up_s: int) -> int:
        """Sweep as Cloud Scheduler does; return the status."""
        body = {"silent_s": silent_s, "give_up_s": give_up_s}
        with suppress(URLError, ConnectionError):
            return self.post("recovery", "/sweep", body, self.token(ACCOUNT, self.urls["recovery"]))[0]
        return 0

    def _starter(self) -> str:
        return self.token(STARTER, self.urls["split"])


def token(issuer: str, email: str, /, **claims: str) -> str:
    """Return an ID token of the service at `issuer`."""
    with urlopen(f"{issuer}/token?{urlencode({'email': email, **claims})}") as found:  # noqa: S310 - on this machine
        text: bytes = found.read()
    return text.decode()


def definition() -> Workflow:
    """Return the example, compiled."""
    return Definition.from_asl_file(str(EXAMPLE / "workflow.asl.json")).compile(WORKFLOW, None)


def example() -> Deployment:
    """Return the example, with a function that sweeps."""
    return Deployment(EXAMPLE / "functions", HANDLERS, _compiled_as_documented)


@contextmanager
def platform(folder: Path, deployed: Deployment) -> Iterator[Platform]:
    """Run functions with the services that they need."""
    file = folder / "orders.json"
    file.write_bytes(deployed.compiled())
    urls = {name: f"http://127.0.0.1:{_free_port()}" for name in deployed.handlers}
    queues = {url: f"projects/{PROJECT}/locations/here/queues/{name}" for name, url in urls.items()}
    with ExitStack() as running:
        firestore = running.enter_context(firestore_server())
        tasks, tokens = running.enter_context(tasks_server(list(queues.values())))
        given = {
            "definition": str(file),
            "project": PROJECT,
            "routes": {key: urls[name] for name, keys in deployed.handlers.items() for key in keys},
            "queues": queues,
            "account": ACCOUNT,
            "starters": [STARTER],
            "certs_url": f"{tokens}/certs",
            "attempts": deployed.attempts,
        }
        servers = {HOST: firestore.address, TASKS_HOST: tasks}
        functions = {
            name: running.enter_context(
                _function(
                    url,
                    {**given, "hosts": deployed.handlers[name], "address": url},
                    servers,
                    deployed.source,
                    folder / f"{name}.log",
                )
            )
            for name, url in urls.items()
        }
        client = firestore_client(firestore.address)
        for url in urls.values():
            _await(url)
        queue_client = tasks_v2.CloudTasksClient(
            transport=CloudTasksGrpcTransport(channel=grpc.insecure_channel(tasks))
        )
        yield Platform(
            urls,
            tokens,
            functions,
            FirestoreStore(lambda: client),
            lambda name: queue_client.purge_queue(name=queues[urls[name]]),
            lambda name: len([*queue_client.list_tasks(parent=queues[urls[name]])]),
        )


@contextmanager
def tasks_server(queues: list[str]) -> Iterator[tuple[str, str]]:
    """Run Cloud Tasks; yield its host and port, and the URL of its tokens."""
    command = [str(TASKS_PYTHON), "-W", "ignore", str(Path(__file__).with_name("tasks_server.py")), *queues]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - ours
        assert process.stdin
        assert process.stdout
        try:
            found = json.loads(process.stdout.readline())
            yield found["tasks"], found["tokens"]
        finally:
            process.stdin.close()


@contextmanager
def _function(
    url: str, given: Mapping[str, Any], servers: Mapping[str, str], source: Path, log: Path
) -> "Iterator[subprocess.Popen[bytes]]":
    command = [sys.executable, "-m", "functions_framework", "--target", "handle", "--source", str(source / "main.py")]
    command += ["--host", "127.0.0.1", "--port", url.rpartition(":")[2]]
    environment = {"PATH": os.environ["PATH"], **servers, SERVICE: json.dumps(given), "WORKERS": "1", "THREADS": "4"}
    environment["PYTHONPATH"] = f"{ROOT / 'runtime_layer' / 'python'}:{source}"
    with log.open("wb") as output, subprocess.Popen(command, env=environment, stdout=output, stderr=output) as process:  # noqa: S603 - ours
        try:
            yield process
        finally:
            process.terminate()


def _compiled_as_documented() -> bytes:
    """Run the page's command; return what it writes."""
    page = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("unum compile")]
    name, *arguments = line.partition(" >")[0].split()
    command = [str(Path(sys.executable).with_name(name)), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S603 - the page's


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _await(url: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            urlopen(url, timeout=10)  # noqa: S310 - ours
        except HTTPError as error:
            error.close()
            return
        except (URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(f"{url}: expected a function, got no answer")
