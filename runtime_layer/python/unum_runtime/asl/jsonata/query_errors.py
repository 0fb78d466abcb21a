"""Error of JSONata states, with AWS's recorded causes."""

from unum_runtime.asl.states_errors import DataFlowError, excerpt
from unum_runtime.model.states import Json


class QueryEvaluationError(DataFlowError):
    """``States.QueryEvaluationError``: failed expression, or a result that its field does not allow."""

    NAME = "States.QueryEvaluationError"

    @classmethod
    def thrown(cls, text: str, field: str, why: str) -> "QueryEvaluationError":
        """Return the error of a failed evaluation of `text` in `field`."""
        return cls(f"{_subject(text, field)} threw an error during evaluation. {why}")

    @classmethod
    def undefined(cls, text: str, field: str) -> "QueryEvaluationError":
        """Return the error of an undefined result."""
        return cls(f"{_subject(text, field)} returned nothing (undefined).")

    @classmethod
    def unsupported(cls, text: str, field: str) -> "QueryEvaluationError":
        """Return the error of a result without JSON form, for example a function."""
        return cls(f"{_subject(text, field)} returned an unsupported result type.")

    @classmethod
    def unexpected(cls, text: str, field: str, expected: str, value: Json) -> "QueryEvaluationError":
        """Return the error of a result of the wrong type."""
        return cls(
            f"{_subject(text, field)} returned an unexpected result type. "
            f"Expected '{expected}', but was '{type_name(value)}' for value: {excerpt(value)}"
        )

    @classmethod
    def out_of_range(cls, text: str, field: str, expected: str, value: Json) -> "QueryEvaluationError":
        """Return the error of a result beyond the field's limits."""
        return cls(f"{_subject(text, field)} returned a value out of range. Expected {expected}, but was {value}")


def type_name(value: Json) -> str:
    """Return the type name of `value`, as in ``$type``."""
    return next(name for kinds, name in _TYPES if isinstance(value, kinds))


_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "boolean"),  # before number, because bool is a subclass of int
    ((int, float), "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)


def _subject(text: str, field: str) -> str:
    return f"The JSONata expression '{text}' specified for the field '{field}'"
