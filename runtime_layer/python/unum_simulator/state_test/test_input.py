"""Input of a test of one state, named as in the TestState API of Step Functions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from unum_runtime.model.states import Json
from unum_simulator.local import Function


class Level(StrEnum):
    """Level of detail of a test's result."""

    INFO = "INFO"
    """Result only."""

    DEBUG = "DEBUG"
    """Also data after each field, and the handling of a failure."""

    TRACE = "TRACE"
    """As DEBUG; Step Functions adds the HTTP request and response of a Task that makes one."""


class Validation(StrEnum):
    """Strictness of comparing a mocked result with the service's API."""

    STRICT = "STRICT"
    """Required fields must exist, and every field must have the API's type."""

    PRESENT = "PRESENT"
    """Existing fields must have the API's type."""

    NONE = "NONE"
    """No comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mock:
    """Mocked outcome of a Task, Map or Parallel.

    Attributes:
        result: result in Step Functions' shape; for ``lambda:invoke`` the whole answer, not only ``Payload``.
        error: error name of a failure; None for a success.
        cause: cause of the failure.
        field_validation_mode: strictness of comparing the result with the service's API.
    """

    result: Json = None
    error: str | None = None
    cause: str | None = None
    field_validation_mode: Validation = Validation.STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Surroundings of the state.

    Attributes:
        variables: visible variables, by name without ``$``.
        context: whole context object; None for that of a new execution.
        mock: mocked outcome; required for Map and Parallel, and for ``.sync``, ``.waitForTaskToken`` and activities
            without a handler under the Task's name; allowed for every Task.
        functions: handlers for Tasks without a mock, as for `LocalWorkflow`.
        retrier_retry_count: earlier uses of the retrier for the error.
        error_caused_by_state: state inside a Map or Parallel that the mock's error comes from.
        map_iteration_failure_count: number of failed branches of a Map.
        map_item_reader_data: content of the object that a Map's ``ItemReader`` reads.
    """

    variables: Mapping[str, Json] = field(default_factory=dict)
    context: Mapping[str, Json] | None = None
    mock: Mock | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)
    retrier_retry_count: int = 0
    error_caused_by_state: str | None = None
    map_iteration_failure_count: int = 0
    map_item_reader_data: str | None = None
