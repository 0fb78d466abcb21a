"""Time to get a definition at a cold start: from the workflow's table, as most functions do, or from the environment.

    python benchmarks/definitions.py [--json] [--runs 200]

The table is the emulator's, and the connection is open, as it is before a function's first commit. The table's share on
AWS is that of one consistent query; the rest, parsing and verification, is processor time.
"""

import argparse
import binascii
import json
import os
import statistics
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import boto3

from unum_compiler import compile_workflow
from unum_emulator.process import Emulator
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import definition_key, definition_partition
from unum_runtime.protocol.requests.definition_records import BODY, read_definition
from unum_runtime.store.dynamodb import DynamoStore
from unum_runtime.wire.service_clients import wire_client

EMULATOR_PYTHON = Path(__file__).parents[1] / "emulator" / ".venv" / "bin" / "python"
TASKS = (10, 50)
RUNS = 200
TABLE = "definitions"
CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"reads of each kind (default: {RUNS})")
    options = parser.parse_args()
    with Emulator(EMULATOR_PYTHON) as emulator:
        os.environ.update({name: value for name, value in emulator.environment().items() if name.startswith("AWS_")})
        found = [measure(tasks, options.runs) for tasks in TASKS]
    print(json.dumps(found) if options.json else "\n".join(map(_line, found)))


def measure(tasks: int, runs: int) -> dict[str, Any]:
    """Return medians in milliseconds for a chain of `tasks`."""
    store = DynamoStore(wire_client("dynamodb", {name: os.environ[name] for name in CREDENTIALS}), _table(tasks))
    workflow = _chain(tasks)
    packed = binascii.b2a_base64(zlib.compress(workflow.to_json().encode(), 9), newline=False).decode()
    store.create(definition_key(workflow.name, workflow.digest, 30_000, 0), {BODY: packed}, expires_at_s=2**31)
    partition = definition_partition(workflow.name, workflow.digest)
    return {
        "tasks": tasks,
        "bytes": len(packed),
        "environment_ms": _median_ms(
            lambda: Workflow.from_json(zlib.decompress(binascii.a2b_base64(packed)).decode()), runs
        ),
        "table_ms": _median_ms(lambda: read_definition(store, workflow.name, workflow.digest), runs),
        "query_ms": _median_ms(lambda: store.query(partition, newest=1), runs),
    }


def _table(tasks: int) -> str:
    name = f"{TABLE}-{tasks}"
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    types = [{"AttributeName": each, "AttributeType": "S"} for each in ("pk", "sk")]
    boto3.client("dynamodb").create_table(
        TableName=name, KeySchema=keys, AttributeDefinitions=types, BillingMode="PAY_PER_REQUEST"
    )
    return name


def _chain(tasks: int) -> Workflow:
    states: dict[str, Any] = {
        f"Step{number}": {"Type": "Task", "Resource": f"step{number}", "Next": f"Step{number + 1}"}
        for number in range(tasks)
    }
    states[f"Step{tasks - 1}"] = {"Type": "Task", "Resource": f"step{tasks - 1}", "End": True}
    return compile_workflow({"StartAt": "Step0", "States": states}, name="Flow", functions=None)


def _median_ms(work: Callable[[], object], runs: int) -> float:
    work()  # opens the connection, and imports
    return round(statistics.median(_duration_ms(work) for _ in range(runs)), 2)


def _duration_ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _line(row: Mapping[str, Any]) -> str:
    return (
        f"{row['tasks']} Tasks, {row['bytes']} bytes: environment {row['environment_ms']} ms, "
        f"table {row['table_ms']} ms, of which the query {row['query_ms']} ms"
    )


if __name__ == "__main__":
    main()
