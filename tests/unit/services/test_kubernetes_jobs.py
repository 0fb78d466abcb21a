"""``eks:runJob``, against a local HTTPS server that keeps jobs as a cluster does."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.session import Session

from tests.unit.services.https_server import Asked, Server, https_server
from unum_compiler.services.service_permissions import iam_statements
from unum_runtime.errors import StatesError
from unum_runtime.features import kubernetes
from unum_runtime.features.services import Clients, Running, begin, call, delay_ms, poll, stop
from unum_runtime.model.states import Json, Pattern

JOB: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pi"}, "spec": {"backoffLimit": 0}}
LOGS = {"one": '{"pi": 3.14}', "two": "plain", "three": "NaN"}


@dataclass
class Cluster:
    """Jobs of one cluster, by namespace and name."""

    jobs: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    is_logging: bool = True

    def __call__(self, asked: Asked) -> tuple[int, str]:
        url = urlsplit(asked.target)
        parts = url.path.split("/")
        namespace, name = parts[parts.index("namespaces") + 1], "/".join(parts[parts.index("namespaces") + 3 :])
        if "/pods" in url.path:
            return self._pods(name, parse_qs(url.query))
        if asked.method == "POST":
            return self._create(namespace, json.loads(asked.body))
        if (namespace, name) not in self.jobs:
            return 404, '{"kind": "Status", "reason": "NotFound"}'
        if asked.method == "DELETE":
            assert url.query == "propagationPolicy=Background"
            return 200, json.dumps(self.jobs.pop((namespace, name)))
        return 200, json.dumps(self.jobs[namespace, name])

    def _create(self, namespace: str, job: dict[str, Any]) -> tuple[int, str]:
        key = namespace, job["metadata"]["name"]
        if key in self.jobs:
            return 409, '{"kind": "Status", "reason": "AlreadyExists"}'
        self.jobs[key] = {**job, "metadata": {**job["metadata"], "namespace": namespace}}
        return 201, json.dumps(self.jobs[key])

    def _pods(self, name: str, query: dict[str, list[str]]) -> tuple[int, str]:
        if not self.is_logging:
            return 403, '{"kind": "Status"}'
        if not name:
            assert query == {"labelSelector": ["job-name=pi"]}
            containers = [{"name": each} for each in (*LOGS, "gone")]
            return 200, json.dumps({"items": [{"metadata": {"name": "pi-x"}, "spec": {"containers": containers}}]})
        assert name == "pi-x/log"
        (container,) = query["container"]
        return (200, LOGS[container]) if container in LOGS else (400, '{"kind": "Status"}')

    def end(self, condition: str, namespace: str = "default", name: str = "pi") -> None:
        conditions = [{"type": "Suspended", "status": "False"}, {"type": condition, "status": "True"}]
        self.jobs[namespace, name]["status"] = {"succeeded": 1, "conditions": conditions}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def server(tmp_path: Path, cluster: Cluster) -> Iterator[Server]:
    with https_server(tmp_path, cluster) as server:
        yield server


@pytest.fixture
def own(models: Session) -> Clients:
    models.set_credentials("AKIDEXAMPLE", "secret", "session")
    return Clients(models, {"region_name": "eu-west-1"})


def parameters(server: Server, **more: Any) -> dict[str, Any]:
    authority = base64.b64encode(server.certificate.read_bytes()).decode()
    return {"ClusterName": "main", "CertificateAuthority": authority, "Endpoint": server.url, "Job": JOB, **more}


def begun(server: Server, own: Clients, token: str = "t" * 64, **more: Any) -> Json:
    return begin("eks:runJob", parameters(server, **more), clients=own, token=token)


def polled(handle: Json, own: Clients) -> Any:
    return poll("eks:runJob", json.loads(json.dumps(handle)), clients=own)


def test_a_job_runs_to_its_end_and_has_its_logs(server: Server, cluster: Cluster, own: Clients) -> None:
    options = {"RetrieveLogs": True, "LogParameters": {"tailLines": ["6"]}}
    handle = begun(server, own, LogOptions=options)
    assert polled(handle, own) == Running("")
    cluster.end("Complete")
    found = polled(handle, own)
    assert (found["metadata"]["name"], found["status"]["succeeded"]) == ("pi", 1)
    (containers,) = [pod["containers"] for pod in found["logs"]["pods"].values()]
    assert [containers[name]["log"] for name in LOGS] == [{"pi": 3.14}, "plain", "NaN"]
    assert (containers["gone"]["error"], json.loads(containers["gone"]["cause"])["StatusCode"]) == ("EKS.400", 400)
    asked = [parse_qs(urlsplit(each.target).query) for each in server.asked if "/log?" in each.target]
    assert all(query["tailLines"] == ["6"] for query in asked)
    assert delay_ms("eks:runJob", 0) >= 2_000


def test_raw_logs_are_texts(server: Server, cluster: Cluster, own: Clients) -> None:
    handle = begun(server, own, LogOptions={"RetrieveLogs": True, "RawLogs": True})
    cluster.end("Complete")
    containers = polled(handle, own)["logs"]["pods"]["pi-x"]["containers"]
    assert {name: containers[name]["log"] for name in LOGS} == LOGS


def test_no_logs_unless_they_are_wanted(server: Server, cluster: Cluster, own: Clients) -> None:
    handle = begun(server, own, LogOptions={"RawLogs": True})
    cluster.end("Complete")
    assert "logs" not in polled(handle, own)
    assert not [each for each in server.asked if "/pods" in each.target]


def test_logs_that_cannot_be_listed_fail_no_job(server: Server, cluster: Cluster, own: Clients) -> None:
    handle = begun(server, own, LogOptions={"RetrieveLogs": True})
    cluster.end("Complete")
    cluster.is_logging = False
    assert polled(handle, own)["logs"]["error"] == "EKS.403"


def test_a_failed_job_fails_the_task_with_its_description(server: Server, cluster: Cluster, own: Clients) -> None:
    handle = begun(server, own)
    cluster.end("Failed")
    with pytest.raises(StatesError) as caught:
        polled(handle, own)
    assert caught.value.error == "States.TaskFailed"
    assert json.loads(caught.value.cause)["status"]["conditions"][1]["type"] == "Failed"


def test_a_job_that_is_gone_fails_the_task(server: Server, cluster: Cluster, own: Clients) -> None:
    handle = begun(server, own)
    cluster.jobs.clear()
    with pytest.raises(StatesError) as caught:
        polled(handle, own)
    assert caught.value.error == "EKS.404"


def test_repeated_deliveries_create_one_job(server: Server, cluster: Cluster, own: Clients) -> None:
    assert begun(server, own) == begun(server, own)
    assert [*cluster.jobs] == [("default", "pi")]
    with pytest.raises(StatesError) as caught:
        begun(server, own, token="u" * 64)
    assert caught.value.error == "EKS.409"


def test_a_prefix_becomes_one_name_for_each_attempt(server: Server, cluster: Cluster, own: Clients) -> None:
    job = {**JOB, "metadata": {"generateName": "a-rather-long-prefix-" * 4}}
    for token in ("a" * 64, "a" * 64, "b" * 64):
        begun(server, own, token=token, Job=job, Namespace="batch")
    names = [name for _, name in cluster.jobs]
    assert [name[-10:] for name in names] == ["a" * 10, "b" * 10]
    assert {namespace for namespace, _ in cluster.jobs} == {"batch"}
    assert max(map(len, names)) <= 63


def test_deliveries_that_do_not_know_their_job_would_be_noticed(
    server: Server, cluster: Cluster, own: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes, "_EXISTS", "EKS.0")
    with pytest.raises(StatesError):
        test_repeated_deliveries_create_one_job(server, cluster, own)


def test_a_job_is_stopped_by_its_deletion(server: Server, cluster: Cluster, own: Clients) -> None:
    stop("eks:runJob", begun(server, own), clients=own)
    assert cluster.jobs == {}


def test_without_sync_the_result_is_the_response(server: Server, cluster: Cluster, own: Clients) -> None:
    given = parameters(server, Job=json.dumps(JOB))
    result = call("eks:runJob", given, clients=own, token="t")
    assert (result["StatusCode"], result["ResponseBody"]["metadata"]["name"]) == (201, "pi")
    assert cluster.jobs["default", "pi"]["spec"] == JOB["spec"]


@pytest.mark.parametrize(
    "wrong",
    [{"Job": "{"}, {"Job": None}, {"Job": [1]}, {"Job": {"metadata": None}}, {"Namespace": 5}, {"LogOptions": "x"}],
    ids=str,
)
def test_parameters_that_no_call_can_have(server: Server, own: Clients, wrong: dict[str, Any]) -> None:
    with pytest.raises(StatesError) as caught:
        begun(server, own, **wrong)
    assert (caught.value.error, server.asked) == ("States.Runtime", [])


def test_the_cluster_grants_the_permissions() -> None:
    assert iam_statements("eks:runJob", Pattern.SYNC, {"ClusterName": "main"}) == []
