"""A handler behind Powertools' idempotency decorator, with nothing but dictionaries behind it."""

import copy
from typing import Any

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord
from payload import PAYLOAD
from timing import cpu_microseconds


class Nothing(BasePersistenceLayer):
    """A store in which no record ever is."""

    def _get_record(self, idempotency_key: str) -> DataRecord:
        raise AssertionError(idempotency_key)

    def _put_record(self, data_record: DataRecord) -> None:
        """Take it as new."""

    def _update_record(self, data_record: DataRecord) -> None:
        """Take it as done."""

    def _delete_record(self, data_record: DataRecord) -> None:
        """Take it as gone."""


class Context:
    """Of Lambda's context what the decorator asks for."""

    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        """Enough."""
        return 900_000


@idempotent(persistence_store=Nothing(), config=IdempotencyConfig(event_key_jmespath="id"))
def handler(event: dict[str, Any], context: Context) -> Any:  # noqa: ARG001 - as Lambda calls it
    """Hand on what came in."""
    return event["input"]


def main() -> None:
    """Print the time of a call."""
    event = {"id": "execution#1", "input": PAYLOAD}
    if handler(copy.deepcopy(event), Context()) != PAYLOAD:
        raise AssertionError
    print(cpu_microseconds(lambda: handler(event, Context())))


if __name__ == "__main__":
    main()
