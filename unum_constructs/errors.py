"""What stops the synthesis."""

from constructs import IConstruct

from unum_runtime.errors import UnumError


class ConstructError(UnumError):
    """A construct was given what it cannot work with; the text begins with the construct's path."""

    def __init__(self, construct: IConstruct, message: str) -> None:
        super().__init__(f"{construct.node.path}: {message}")
