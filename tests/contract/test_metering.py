"""Equality of the metered memory store's counts with the requests and bytes of `DynamoStore`."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from unum_compiler import compile_workflow
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.states import Guard, Json, Task
from unum_runtime.store.dynamodb import Attributes, DynamoStore
from unum_simulator.local import Function, LocalWorkflow
from unum_simulator.metering import BEGUN_MS, StillClock, Usage, meter

TABLE = "table"


@dataclass
class Counting:
    """Moto client that counts requests from their parameters and responses."""

    client: Any
    usage: Usage = field(default_factory=Usage)

    def put_item(self, **parameters: Any) -> Any:
        sent = size(parameters["Item"])
        try:
            answer = self.client.put_item(**parameters)
        except ClientError as error:
            found = size(error.response["Item"])  # type: ignore[typeddict-item]  # its type lacks it
            self._wrote(max(sent, found), sent + found)
            raise
        self._wrote(sent, sent)
        return answer

    def update_item(self, **parameters: Any) -> Any:
        if "ReturnValues" not in parameters:
            before = self.client.get_item(TableName=TABLE, Key=parameters["Key"]).get("Item", {})
            self._wrote(size(before), 0)
            return self.client.update_item(**parameters)
        values = parameters["ExpressionAttributeValues"]
        set_ = {name.removeprefix("#"): values[f":{name.removeprefix('#')}"] for name in self._set_by(parameters)}
        sent = size({**parameters["Key"], **set_})
        try:
            answer = self.client.update_item(**parameters)
        except ClientError as error:
            found = size(error.response["Item"])  # type: ignore[typeddict-item]  # its type lacks it
            self._wrote(found, sent + found)
            raise
        self._wrote(size(answer["Attributes"]), sent + size(answer["Attributes"]))
        return answer

    @staticmethod
    def _set_by(parameters: Any) -> list[str]:
        """Return the attributes that an update sets or adds to."""
        return [name for name in parameters["ExpressionAttributeNames"] if name in parameters["UpdateExpression"]]

    def get_item(self, **parameters: Any) -> Any:
        answer = self.client.get_item(**parameters)
        self._read([answer.get("Item", {})])
        return answer

    def batch_get_item(self, **parameters: Any) -> Any:
        answer = self.client.batch_get_item(**parameters)
        found = answer["Responses"][TABLE]
        absent = len(parameters["RequestItems"][TABLE]["Keys"]) - len(found)
        self._read([*found, *[{}] * absent])
        return answer

    def query(self, **parameters: Any) -> Any:
        answer = self.client.query(**parameters)
        self.usage.reads += 1
        moved = sum(map(size, answer["Items"]))
        self.usage.read_units += max(1, -(-moved // 4096))
        self.usage.moved_bytes += moved
        return answer

    def _wrote(self, item: int, moved: int) -> None:
        self.usage.writes += 1
        self.usage.write_units += max(1, -(-item // 1024))
        self.usage.moved_bytes += moved

    def _read(self, items: list[Attributes]) -> None:
        self.usage.reads += 1
        self.usage.read_units += sum(max(1, -(-size(item) // 4096)) for item in items)
        self.usage.moved_bytes += sum(map(size, items))


def size(item: Attributes) -> int:
    return sum(len(name.encode()) + _value_size(*value.items()) for name, value in item.items())


def _value_size(typed: tuple[str, Any]) -> int:
    match typed:
        case "S", text:
            return len(text.encode())
        case "N", number:
            return 1 + (len(number.strip("0")) + 1) // 2
        case "NS", numbers:
            return sum(_value_size(("N", number)) for number in numbers)
    raise AssertionError(typed)


@pytest.fixture
def counting() -> Iterator[Counting]:
    with mock_aws():
        client = boto3.client("dynamodb", "us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
        client.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            BillingMode="PAY_PER_REQUEST",
        )
        yield Counting(client)


def task(name: str, following: str | None) -> Json:
    return {"Type": "Task", "Resource": name, **({"Next": following} if following else {"End": True})}


def workflow(states: dict[str, Json]) -> Workflow:
    return compile_workflow({"StartAt": next(iter(states)), "States": states}, name="wörk", functions=None)


CHAIN = workflow({"One": task("echo", "Two"), "Two": task("echo", "Three"), "Three": task("echo", None)})
BRANCH = {"StartAt": "Each", "States": {"Each": task("echo", "Then"), "Then": task("echo", None)}}
MAP = workflow({"Make": task("echo", "Map"), "Map": {"Type": "Map", "ItemProcessor": BRANCH, "End": True}})
JOINED = workflow(
    {
        "Make": task("echo", "All"),
        "All": {
            "Type": "Parallel",
            "Branches": [BRANCH, {"StartAt": "Other", "States": {"Other": task("echo", None)}}],
            "ResultPath": "$.all",
            "Next": "End",
        },
        "End": task("echo", None),
    }
)
FUNCTIONS: dict[str, Function] = {"echo": lambda event, _: event}


@pytest.mark.parametrize("small_results", [None, True])
@pytest.mark.parametrize("guard", list(Guard))
@pytest.mark.parametrize("collection", list(Collection))
@pytest.mark.parametrize(
    ("definition", "value"),
    [
        (CHAIN, {"text": "ä"}),
        (CHAIN, {"text": "much" * 5_000}),
        (MAP, [0, 1, "two" * 3_000, [3], None, 5, 6, 7]),
        (MAP, []),
        (JOINED, {"n": 1}),
    ],
    ids=["chain", "large", "map", "empty map", "parallel"],
)
def test_every_request_is_counted_as_dynamodb_does(
    counting: Counting,
    definition: Workflow,
    value: Json,
    guard: Guard,
    collection: Collection,
    small_results: bool | None,  # noqa: FBT001 - a test parameter
) -> None:
    given = (replace(definition, small_results=small_results), value, guard, collection)
    assert metered_usage(*given) == requested(counting, *given)


def test_the_shards_of_a_large_map_are_counted_as_dynamodb_does(counting: Counting) -> None:
    given = (MAP, list(range(257)), Guard.COMMIT, Collection.TTL)
    assert metered_usage(*given) == requested(counting, *given)


def metered_usage(definition: Workflow, value: Json, guard: Guard, collection: Collection) -> dict[str, int]:
    arrival = Arrival(BEGUN_MS)  # as a local workflow has it
    run = meter(guarded(definition, guard), FUNCTIONS, value, name="exec", collection=collection, arrival=arrival)
    return measures(run.usage)


def requested(
    counting: Counting, definition: Workflow, value: Json, guard: Guard, collection: Collection
) -> dict[str, int]:
    clock = StillClock()
    store = DynamoStore(counting, TABLE, clock)
    LocalWorkflow(guarded(definition, guard), FUNCTIONS, store, clock, collection).deliver("exec", value)
    return measures(counting.usage)


def guarded(definition: Workflow, guard: Guard) -> Workflow:
    states = definition.states.items()
    return replace(
        definition,
        states={name: replace(state, guard=guard) if isinstance(state, Task) else state for name, state in states},
    )


def measures(usage: Usage) -> dict[str, int]:
    return {
        name: getattr(usage, name) for name in ("writes", "reads", "write_units", "read_units", "moved_bytes", "calls")
    }
