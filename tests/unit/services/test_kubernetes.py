"""``eks:call``, against a local HTTPS server in place of a cluster."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from botocore.session import Session

from tests.unit.services.https_server import Asked, Server, https_server
from unum_compiler.services.service_permissions import iam_statements
from unum_runtime.errors import StatesError
from unum_runtime.features import kubernetes
from unum_runtime.features.services import Clients, call
from unum_runtime.model.states import Pattern

PODS = "/api/v1/namespaces/default/pods"


def answer(asked: Asked) -> tuple[int, str]:
    if asked.target.startswith("/missing"):
        return 404, '{"kind": "Status", "code": 404}'
    return (201, asked.body) if asked.method == "POST" else (200, '{"kind": "PodList", "items": []}')


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Server]:
    with https_server(tmp_path, answer) as server:
        yield server


@pytest.fixture
def own(models: Session) -> Clients:
    models.set_credentials("AKIDEXAMPLE", "secret", "session")
    return Clients(models, {"region_name": "eu-west-1"})


def parameters(cluster: Server, **more: Any) -> dict[str, Any]:
    authority = base64.b64encode(cluster.certificate.read_bytes()).decode()
    fixed = {"ClusterName": "main", "CertificateAuthority": authority, "Endpoint": cluster.url}
    return {**fixed, "Method": "GET", "Path": PODS, **more}


def test_a_cluster_is_asked_with_a_token_for_it(cluster: Server, own: Clients) -> None:
    query = {"labelSelector": ["job-name=example", "a in (b)"], "limit": 5}
    result = call("eks:call", parameters(cluster, QueryParameters=query), clients=own)
    assert (result["StatusCode"], result["StatusText"]) == (200, "OK")
    assert result["ResponseBody"] == {"kind": "PodList", "items": []}
    assert result["Headers"]["Content-Type"] == ["application/json"]
    (asked,) = cluster.asked
    path, _, pairs = asked.target.partition("?")
    assert (path, parse_qsl(pairs)) == (
        PODS,
        [("labelSelector", "job-name=example"), ("labelSelector", "a in (b)"), ("limit", "5")],
    )
    kind, _, token = asked.headers["Authorization"].partition(" ")
    assert (kind, token.partition(".")[0]) == ("Bearer", "k8s-aws-v1")
    text = token.partition(".")[2]
    assert "=" not in text
    url = urlsplit(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    signed = dict(parse_qsl(url.query))
    assert (url.scheme, url.netloc, signed["Action"]) == ("https", "sts.eu-west-1.amazonaws.com", "GetCallerIdentity")
    assert (signed["X-Amz-SignedHeaders"], signed["X-Amz-Expires"]) == ("host;x-k8s-aws-id", "60")
    assert signed["X-Amz-Credential"].startswith("AKIDEXAMPLE/")
    assert signed["X-Amz-Security-Token"] == "session"


def test_a_body_is_sent_as_json(cluster: Server, own: Clients) -> None:
    pod = {"kind": "Pod", "metadata": {"name": "é"}}
    result = call("eks:call", parameters(cluster, Method="POST", RequestBody=pod), clients=own)
    assert (result["StatusCode"], result["ResponseBody"]) == (201, pod)
    assert cluster.asked[0].headers["Content-Type"] == "application/json"
    assert json.loads(cluster.asked[0].body) == pod


def failing(given: dict[str, Any], clients: Clients) -> StatesError:
    with pytest.raises(StatesError) as caught:
        call("eks:call", given, clients=clients)
    return caught.value


def test_a_response_without_success_fails_with_its_status(cluster: Server, own: Clients) -> None:
    failed = failing(parameters(cluster, Path="/missing"), own)
    assert failed.error == "EKS.404"
    # The form that the Developer Guide shows for EKS.401.
    body = {"kind": "Status", "code": 404}
    assert json.loads(failed.cause) == {"ResponseBody": body, "StatusCode": 404, "StatusText": "Not Found"}


def test_a_body_may_be_a_text(cluster: Server, own: Clients) -> None:
    call("eks:call", parameters(cluster, Method="POST", RequestBody='{"kind": "Pod"}'), clients=own)
    assert cluster.asked[0].body == '{"kind": "Pod"}'


def test_a_response_has_a_limit(cluster: Server, own: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "MOST_BYTES", 8)
    assert failing(parameters(cluster), own).error == "States.DataLimitExceeded"


def test_only_the_authority_of_the_cluster_is_trusted(cluster: Server, own: Clients, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with https_server(tmp_path / "other", answer) as other:
        failed = failing(parameters(other, Endpoint=cluster.url), own)
    assert (failed.error, cluster.asked) == ("EKS.SdkClientException", [])
    assert "certificate" in failed.cause


def test_a_cluster_that_does_not_answer(cluster: Server, own: Clients) -> None:
    assert failing(parameters(cluster, Endpoint="https://127.0.0.1:9"), own).error == "EKS.SdkClientException"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ClusterName", None, "'ClusterName' is required"),
        ("CertificateAuthority", "no base64!", "expected a certificate"),
        ("CertificateAuthority", base64.b64encode(b"no certificate").decode(), "expected a certificate"),
        ("Endpoint", "http://127.0.0.1", "expected a URL that begins with https://"),
        ("QueryParameters", "a=b", "expected an object"),
    ],
)
def test_parameters_that_no_call_can_have(cluster: Server, own: Clients, name: str, value: Any, message: str) -> None:
    failed = failing(parameters(cluster, **{name: value}), own)
    assert (failed.error, message in failed.cause, cluster.asked) == ("States.Runtime", True, [])


def test_the_cluster_grants_the_permissions() -> None:
    assert iam_statements("eks:call", Pattern.RESPONSE, {"ClusterName": "main"}) == []
