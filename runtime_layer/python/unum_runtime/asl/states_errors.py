"""The errors of the Amazon States Language that data flow raises, under the names that AWS gives them.

A cause does not name the state; whoever runs the state knows its name and adds it.
"""

from unum_runtime.asl.serialize import NotSerializable, dumps
from unum_runtime.errors import StatesError
from unum_runtime.model.ir import Json

_SHOWN_CHARACTERS = 1000


class RuntimeFailure(StatesError):
    """``States.Runtime``: a path found nothing.

    The specification names ``States.ParameterPathFailure`` for templates; AWS records ``States.Runtime`` for these too.
    """

    def __init__(self, cause: str) -> None:
        super().__init__("States.Runtime", cause)


class ResultPathMatchFailure(StatesError):
    """``States.ResultPathMatchFailure``: a result cannot be placed in the input (specification, Runtime Errors)."""

    def __init__(self, cause: str) -> None:
        super().__init__("States.ResultPathMatchFailure", cause)


class IntrinsicFailure(StatesError):
    """``States.IntrinsicFailure``: an intrinsic function cannot take its arguments (specification, Appendix A).

    Step Functions itself was observed to say ``States.Runtime`` here, which nobody can catch; nothing is recorded.
    """

    def __init__(self, cause: str) -> None:
        super().__init__("States.IntrinsicFailure", cause)


class NoChoiceMatched(StatesError):
    """``States.NoChoiceMatched``: no rule of a Choice holds, and it has no Default."""

    def __init__(self, cause: str) -> None:
        super().__init__("States.NoChoiceMatched", cause)


def excerpt(value: Json) -> str:
    """The JSON text of `value`, cut to a length that fits a cause."""
    try:
        text = dumps(value)
    except NotSerializable as error:
        return f"<{error.cause}>"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}… ({len(text)} characters)"
