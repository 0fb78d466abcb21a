"""The errors of data sets, under the names that Step Functions gives them."""

from unum_runtime.errors import StatesError


class ItemReaderFailed(StatesError):
    """``States.ItemReaderFailed``: the items of a Map cannot be read."""

    def __init__(self, cause: str) -> None:
        super().__init__("States.ItemReaderFailed", cause)


class ResultWriterFailed(StatesError):
    """``States.ResultWriterFailed``: the results of a Map cannot be written."""

    def __init__(self, cause: str) -> None:
        super().__init__("States.ResultWriterFailed", cause)
