"""A refused request: the error's code and its message."""


class AccessRefusedError(Exception):
    """A request that the emulator does not answer.

    Attributes:
        code: AWS's code for the error.
        message: what the request had, what is allowed, and what to do.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
