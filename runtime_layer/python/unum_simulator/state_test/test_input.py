"""Input of a test of one state, named as in the TestState API of Step Functions, and checks of its mocked results.

Source: AWS Step Functions API Reference, "MockInput". Unknown fields pass, as on AWS.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from unum_runtime.asl.places import element, member
from unum_runtime.asl.states_errors import excerpt
from unum_runtime.model.states import DATA_SET_TASKS, Form, Json, Pattern, Task
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


_KINDS: Mapping[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "character": (str,),
    "boolean": (bool,),
    "timestamp": (str, int, float),
    **dict.fromkeys(("integer", "long", "float", "double"), (int, float)),
}
"""What JSON has for the types of a service's model."""


def check_result(task: Task, result: Json, validation: Validation) -> None:
    """Raise ValueError unless the service of `task` could answer `result`.

    Results of Lambda functions, of jobs and of task tokens have no model, so they pass.

    Raises:
        ValueError: the result does not fit the model; the text names every place.
        ImportError: botocore, which has the API models, is not installed.
    """
    resource = "lambda:invoke" if task.form is Form.INVOKE else task.resource
    has_model = resource is not None and not resource.startswith("arn:") and resource not in DATA_SET_TASKS
    if validation is Validation.NONE or task.pattern is not Pattern.RESPONSE or not has_model:
        return
    shape = _answer(str(resource))
    faults = [] if shape is None else list(_faults(result, shape, "$", strict=validation is Validation.STRICT))
    if faults:
        remedy = "mend the mock, or choose the field validation mode NONE"
        raise ValueError(f"mock.result: no result of {resource}: {'; '.join(faults)}; {remedy}")


def _answer(resource: str) -> Any:
    """Return the response shape of `resource`, a ``botocore.model.Shape``; None without a model."""
    from unum_runtime.features.services.boto_clients import Clients  # noqa: PLC0415 - needs botocore, and few mocks do
    from unum_runtime.features.services.operation import parse  # noqa: PLC0415 - beside the other

    called = parse(resource)
    if not called.service:
        return None
    client = Clients(options={"region_name": "us-east-1"}).client(called.service)  # asked for its model alone
    return client.meta.service_model.operation_model(called.operation).output_shape


def _faults(value: Json, shape: Any, place: str, *, strict: bool) -> Iterator[str]:
    if not _fits(value, shape):
        yield f"{place}: expected a value of type {shape.type_name}, got {excerpt(value)}"
    elif shape.type_name == "structure":
        yield from _structure_faults(value, shape, place, strict=strict)
    elif shape.type_name == "list":
        for index, item in enumerate(value):
            yield from _faults(item, shape.member, element(place, index), strict=strict)
    elif shape.type_name == "map":
        for key, item in value.items():
            yield from _faults(item, shape.value, member(place, key), strict=strict)


def _structure_faults(value: dict[str, Json], shape: Any, place: str, *, strict: bool) -> Iterator[str]:
    from unum_runtime.features.services.spelling import capitalize, fold_name  # noqa: PLC0415 - as above

    given = {fold_name(name): (name, item) for name, item in value.items()}
    for name, inner in shape.members.items():
        if fold_name(name) in given:
            spelled, item = given[fold_name(name)]
            yield from _faults(item, inner, member(place, spelled), strict=strict)
        elif strict and name in shape.required_members:
            yield f"{place}: the required field {capitalize(name)!r} is missing"


def _fits(value: Json, shape: Any) -> bool:
    """Return True if `value` has the type of `shape`, members ignored; binary data and documents may be anything."""
    kinds = None if getattr(shape, "is_document_type", False) else _KINDS.get(shape.type_name)
    if kinds is None:
        return True
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
