"""What a test of one state is given, under the names that the TestState API of Step Functions has for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from unum_runtime.model.ir import Json
from unum_runtime.simulator.local import Function


class Level(StrEnum):
    """How much is shown of what happens in the state."""

    INFO = "INFO"
    """What it comes to."""

    DEBUG = "DEBUG"
    """Its data after each of its fields, too, and how its failure was handled."""

    TRACE = "TRACE"
    """The same; Step Functions adds the HTTP request and response of a Task that makes one."""


class Validation(StrEnum):
    """How strictly a mocked result is compared with the service's API."""

    STRICT = "STRICT"
    """Required fields must be there, and all fields that are there must have the API's type."""

    PRESENT = "PRESENT"
    """The fields that are there must have the API's type."""

    NONE = "NONE"
    """Nothing is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mock:
    """What the work of a Task, Map or Parallel comes to.

    Attributes:
        result: as Step Functions would have it; of ``lambda:invoke`` the whole answer, not only ``Payload``.
        error: name of the error if it fails; None if it succeeds.
        cause: of the error.
        field_validation_mode: how strictly the result is compared with the service's API.
    """

    result: Json = None
    error: str | None = None
    cause: str | None = None
    field_validation_mode: Validation = Validation.STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What surrounds the state.

    Attributes:
        variables: that it sees, by name without ``$``.
        context: the whole context object; None for that of a new execution.
        mock: what its work comes to; needed for Map, Parallel, ``.sync``, ``.waitForTaskToken`` and activities, allowed
            for every Task.
        functions: handlers for a Task that has no mock, as `LocalWorkflow` takes them.
        retrier_retry_count: how often the retrier that is for the error was used before.
        error_caused_by_state: the state inside a Map or Parallel that the mock's error comes from.
        map_iteration_failure_count: how many branches of a Map failed.
        map_item_reader_data: what the ``ItemReader`` of a Map reads, as it is in the object.
    """

    variables: Mapping[str, Json] = field(default_factory=dict)
    context: Mapping[str, Json] | None = None
    mock: Mock | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)
    retrier_retry_count: int = 0
    error_caused_by_state: str | None = None
    map_iteration_failure_count: int = 0
    map_item_reader_data: str | None = None
