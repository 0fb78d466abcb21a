"""Errors of data sets, named as in Step Functions."""

from unum_runtime.errors import StatesError


class ItemReaderFailed(StatesError):
    """``States.ItemReaderFailed``: items of a Map cannot be read."""

    def __init__(self, cause: str) -> None:
        super().__init__("States.ItemReaderFailed", cause)


class ResultWriterFailed(StatesError):
    """``States.ResultWriterFailed``: results of a Map cannot be written."""

    def __init__(self, cause: str) -> None:
        super().__init__("States.ResultWriterFailed", cause)
