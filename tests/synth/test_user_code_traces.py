"""Traces of user code: what functions get for them, and that others get nothing."""

import zipfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_

from tests.synth.deployment import RUNTIME_LAYER, Deployment, function
from tests.synth.machines import chain, machine
from unum_constructs import ConstructError, Monitoring, OpenTelemetry
from unum_constructs.layer import opentelemetry
from unum_constructs.layer.opentelemetry import sdk_content

ENDPOINT = "http://collector.internal:4318"


def variables(deployment: Deployment, path: str) -> dict[str, Any]:
    found: dict[str, Any] = deployment.properties(path)["Environment"]["Variables"]
    return found


def layers(deployment: Deployment, path: str) -> list[str]:
    return [each["Ref"] for each in deployment.properties(path)["Layers"]]


def test_without_the_option_there_is_nothing_of_it() -> None:
    deployment = Deployment.of(chain("A"), "A")
    assert not {"UNUM_TRACES", "OTEL_EXPORTER_OTLP_ENDPOINT"} & variables(deployment, "A").keys()
    assert layers(deployment, "A") == [deployment.logical_id(RUNTIME_LAYER)]


def test_functions_with_user_code_get_sdk_and_endpoint() -> None:
    states = {"A": {"Type": "Task", "Resource": "A", "Next": "B"}}
    send = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage",
        "Parameters": {"QueueUrl": "q", "MessageBody": "m"},
    }
    definition = machine(**states, B={**send, "End": True})
    deployment = Deployment.of(definition, "A", monitoring=Monitoring(opentelemetry=OpenTelemetry(endpoint=ENDPOINT)))
    assert variables(deployment, "A")["UNUM_TRACES"] == "opentelemetry"
    assert variables(deployment, "A")["OTEL_EXPORTER_OTLP_ENDPOINT"] == ENDPOINT
    assert layers(deployment, "A") == [deployment.logical_id(each) for each in ("UnumOpenTelemetry", RUNTIME_LAYER)]
    traced = [
        each for each in deployment.all("Lambda::Function").values() if len(each["Properties"].get("Layers", ())) > 1
    ]
    assert len(traced) == 1  # none of the functions that the workflow makes


def test_functions_of_two_workflows_have_the_layer_once() -> None:
    deployment = Deployment.new()
    shared = function(deployment.stack, "A")
    for name in ("One", "Two"):
        deployment.flow(chain("A"), {"A": shared}, name, monitoring=Monitoring(opentelemetry=OpenTelemetry()))
    assert layers(deployment, "A") == [deployment.logical_id(each) for each in ("UnumOpenTelemetry", RUNTIME_LAYER)]


def test_layers_of_the_user_come_in_place_of_ours() -> None:
    deployment = Deployment.new()
    own = lambda_.LayerVersion.from_layer_version_arn(
        deployment.stack, "Adot", "arn:aws:lambda:us-east-1:123456789012:layer:adot:1"
    )
    deployment.flow(
        chain("A"),
        {"A": function(deployment.stack, "A")},
        monitoring=Monitoring(opentelemetry=OpenTelemetry(layers=[own])),
    )
    found = deployment.properties("A")["Layers"]
    assert found[0] == "arn:aws:lambda:us-east-1:123456789012:layer:adot:1"
    assert len(found) == 2
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" not in variables(deployment, "A")


def test_functions_may_bring_the_sdk_themselves() -> None:
    deployment = Deployment.of(chain("A"), "A", monitoring=Monitoring(opentelemetry=OpenTelemetry(layers=[])))
    assert len(layers(deployment, "A")) == 1
    assert variables(deployment, "A")["UNUM_TRACES"] == "opentelemetry"


def test_functions_that_x_ray_traces_send_segments() -> None:
    deployment = Deployment.new()
    functions = {
        "A": function(deployment.stack, "A", tracing=lambda_.Tracing.ACTIVE),
        "B": function(deployment.stack, "B", tracing=lambda_.Tracing.PASS_THROUGH),
    }
    deployment.flow(
        chain("A", "B"), functions, tracing_enabled=True, monitoring=Monitoring(opentelemetry=OpenTelemetry())
    )
    assert variables(deployment, "A")["UNUM_TRACES"] == "opentelemetry,xray"
    assert variables(deployment, "B")["UNUM_TRACES"] == "opentelemetry"


def test_x_ray_alone_adds_no_layer() -> None:
    deployment = Deployment.new()
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A", tracing=lambda_.Tracing.ACTIVE)})
    assert variables(deployment, "A")["UNUM_TRACES"] == "xray"
    assert len(layers(deployment, "A")) == 1


def test_the_layer_has_the_sdk_and_all_that_it_requires(tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path))
    deployment = Deployment(Stack(app, "Stack"))
    deployment.flow(
        chain("A"), {"A": function(deployment.stack, "A")}, monitoring=Monitoring(opentelemetry=OpenTelemetry())
    )
    app.synth()
    (folder,) = (each.parents[3] for each in tmp_path.glob("asset.*/python/opentelemetry/sdk/trace"))
    packages = {each.name for each in (folder / "python").iterdir() if not each.name.endswith((".dist-info", ".py"))}
    assert packages - {"__pycache__"} == {"opentelemetry"}
    assert {each.parts[1].partition("-")[0] for each in map(Path, sdk_content())} >= {
        "opentelemetry_sdk",
        "opentelemetry_api",
        "opentelemetry_semantic_conventions",
        "typing_extensions",
    }
    assert [*folder.rglob("__pycache__/*.pyc")]
    assert not [path for path in sdk_content() if path.endswith((".so", ".pyd"))]


def test_the_layer_is_small(tmp_path: Path) -> None:
    archive = tmp_path / "sdk.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path, data in sdk_content().items():
            zipped.writestr(path, data)
    assert archive.stat().st_size < 1_000_000


@pytest.mark.parametrize("endpoint", ["collector:4318", "grpc://collector:4317", 4318])
def test_endpoints_that_are_none(endpoint: Any) -> None:
    with pytest.raises(ValueError, match="endpoint: expected a URL with http or https"):
        OpenTelemetry(endpoint=endpoint)


def test_another_option() -> None:
    with pytest.raises(ConstructError, match=r"monitoring\.opentelemetry: expected a OpenTelemetry, got True"):
        Deployment.of(chain("A"), "A", monitoring=Monitoring(opentelemetry=True))  # type: ignore[arg-type]


def test_a_machine_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    sdk_content.cache_clear()
    monkeypatch.setattr(opentelemetry, "distribution", missing)
    with pytest.raises(ConstructError, match=r"run `pip install 'unum-constructs\[otel\]'`, or give `layers`"):
        Deployment.of(chain("A"), "A", monitoring=Monitoring(opentelemetry=OpenTelemetry()))


def test_a_function_without_room_for_layers() -> None:
    deployment = Deployment.new()
    arn = "arn:aws:lambda:us-east-1:123456789012:layer:l:1"
    own = [lambda_.LayerVersion.from_layer_version_arn(deployment.stack, f"L{n}", arn) for n in range(5)]
    full = function(deployment.stack, "A", layers=own)
    with pytest.raises(ConstructError, match="opentelemetry: Lambda allows 5 layers"):
        deployment.flow(chain("A"), {"A": full}, monitoring=Monitoring(opentelemetry=OpenTelemetry()))
