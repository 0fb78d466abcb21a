import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import boto3
import pytest
from moto import mock_aws

from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Ending
from unum_simulator.local import LocalWorkflow

EXAMPLES = Path(__file__).parents[2] / "examples"
REGION = "us-east-1"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.Session]:
    """An account in this process; handlers must be loaded after it."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        boto3.setup_default_session()
        yield boto3.Session()


@pytest.fixture
def table(aws: boto3.Session) -> Callable[..., Any]:
    """Makes a table with keys of type string, the partition key first."""

    def create(name: str, *keys: str) -> Any:
        kinds: tuple[Literal["HASH", "RANGE"], ...] = ("HASH", "RANGE")
        return aws.resource("dynamodb").create_table(
            TableName=name,
            KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, kinds, strict=False)],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            BillingMode="PAY_PER_REQUEST",
        )

    return create


def _load(app: str, function: str) -> ModuleType:
    path = EXAMPLES / app / "functions" / function / "handler.py"
    spec = importlib.util.spec_from_file_location(f"{app}_{function}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def load() -> Callable[[str, str], ModuleType]:
    """Loads the code of an example's function: (example, folder)."""
    return _load


@pytest.fixture
def run() -> Callable[..., Ending]:
    """Runs an example's workflow in this process: (example, input, its functions' folders by key)."""

    def run_example(app: str, value: Any, **folders: str) -> Ending:
        definition = Definition.from_asl_file(EXAMPLES / app / "workflow.asl.json")
        functions = {key: _load(app, folder).handle for key, folder in folders.items()}
        workflow = definition.compile(app.replace("_", "-"), functions.keys())
        return LocalWorkflow(workflow, functions).run("test", value)

    return run_example


@pytest.fixture
def event() -> Callable[[str], Any]:
    """The event that an example comes with."""

    def read(app: str) -> Any:
        return json.loads((EXAMPLES / app / "event.json").read_text(encoding="utf-8"))

    return read
