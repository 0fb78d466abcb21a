"""Errors of data flow, with AWS's names and causes.

A cause does not name the state; the caller adds the state's name.
"""

from typing import ClassVar

from unum_runtime.asl.serialize import NotSerializable, dumps
from unum_runtime.errors import StatesError
from unum_runtime.model.states import Json

_SHOWN_CHARACTERS = 1000


class DataFlowError(StatesError):
    """Error of data flow; each subclass has one error name."""

    NAME: ClassVar[str]

    def __init__(self, cause: str) -> None:
        super().__init__(self.NAME, cause)


class RuntimeFailure(DataFlowError):
    """``States.Runtime``: path without value, or invalid value of a field.

    The specification names ``States.ParameterPathFailure`` for templates; AWS records ``States.Runtime`` there too.
    """

    NAME = "States.Runtime"


class ResultPathMatchFailure(DataFlowError):
    """``States.ResultPathMatchFailure``: ResultPath does not fit the input. Source: specification, Appendix A."""

    NAME = "States.ResultPathMatchFailure"


class IntrinsicFailure(DataFlowError):
    """``States.IntrinsicFailure``: invalid arguments of an intrinsic function. Source: specification, Appendix A.

    Step Functions itself was observed to report ``States.Runtime``, which cannot be caught; no recording exists.
    """

    NAME = "States.IntrinsicFailure"


class NoChoiceMatched(DataFlowError):
    """``States.NoChoiceMatched``: Choice without matching rule and without Default."""

    NAME = "States.NoChoiceMatched"

    def __init__(self) -> None:
        super().__init__("No rule in Choices holds for the input, and there is no Default; add one, or a rule")


def excerpt(value: Json) -> str:
    """Return the JSON text of `value`, shortened to the size of a cause."""
    try:
        text = dumps(value)
    except NotSerializable as error:
        return f"<{error.cause}>"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}… ({len(text)} characters)"
