"""The one error of JSONata states, in the words that AWS records for each of its reasons."""

from unum_runtime.asl.states_errors import excerpt
from unum_runtime.errors import StatesError
from unum_runtime.model.ir import Json


class QueryEvaluationError(StatesError):
    """``States.QueryEvaluationError``: an expression fails, or says what its field cannot take (specification)."""

    def __init__(self, cause: str) -> None:
        super().__init__("States.QueryEvaluationError", cause)

    @classmethod
    def thrown(cls, text: str, field: str, why: str) -> "QueryEvaluationError":
        """The expression `text` of `field` cannot be evaluated."""
        return cls(f"{_subject(text, field)} threw an error during evaluation. {why}")

    @classmethod
    def undefined(cls, text: str, field: str) -> "QueryEvaluationError":
        """It has no result."""
        return cls(f"{_subject(text, field)} returned nothing (undefined).")

    @classmethod
    def unsupported(cls, text: str, field: str) -> "QueryEvaluationError":
        """Its result is no JSON, but a function."""
        return cls(f"{_subject(text, field)} returned an unsupported result type.")

    @classmethod
    def unexpected(cls, text: str, field: str, expected: str, value: Json) -> "QueryEvaluationError":
        """Its result is not of the type that the field needs."""
        return cls(
            f"{_subject(text, field)} returned an unexpected result type. "
            f"Expected '{expected}', but was '{type_name(value)}' for value: {excerpt(value)}"
        )

    @classmethod
    def out_of_range(cls, text: str, field: str, expected: str, value: Json) -> "QueryEvaluationError":
        """Its result is of that type, but not within the limits of the field."""
        return cls(f"{_subject(text, field)} returned a value out of range. Expected {expected}, but was {value}")


def type_name(value: Json) -> str:
    """The type of `value` as ``$type`` names it."""
    return next(name for kinds, name in _TYPES if isinstance(value, kinds))


_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "boolean"),  # before numbers, because Python takes it for one
    ((int, float), "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)


def _subject(text: str, field: str) -> str:
    return f"The JSONata expression '{text}' specified for the field '{field}'"
