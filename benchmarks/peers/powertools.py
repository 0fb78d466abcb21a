"""A handler with Powertools' idempotency decorator on an empty store."""

import copy
from typing import Any

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord
from payload import PAYLOAD
from timing import cpu_microseconds


class Nothing(BasePersistenceLayer):
    """A store without records."""

    def _get_record(self, idempotency_key: str) -> DataRecord:
        raise AssertionError(idempotency_key)

    def _put_record(self, data_record: DataRecord) -> None:
        """Accept the record."""

    def _update_record(self, data_record: DataRecord) -> None:
        """Accept the update."""

    def _delete_record(self, data_record: DataRecord) -> None:
        """Accept the deletion."""


class Context:
    """The parts of Lambda's context that the decorator uses."""

    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        """Return a sufficient time."""
        return 900_000


@idempotent(persistence_store=Nothing(), config=IdempotencyConfig(event_key_jmespath="id"))
def handler(event: dict[str, Any], context: Context) -> Any:  # noqa: ARG001 - as Lambda calls it
    """Return the input."""
    return event["input"]


def main() -> None:
    """Print the time per call."""
    event = {"id": "execution#1", "input": PAYLOAD}
    # A copy, because the decorator may change its event.
    if handler(copy.deepcopy(event), Context()) != PAYLOAD:
        raise AssertionError
    print(cpu_microseconds(lambda: handler(event, Context())))


if __name__ == "__main__":
    main()
