"""The Python of the functions that the end-to-end tests deploy."""

from unum_constructs import function
from unum_constructs.layer.bytecode import this_python


def as_the_emulator() -> None:
    """Give functions that name none the Python of now, which all functions run on in the emulator: so layers have
    bytecode there, as they have for whoever synthesizes with the Python of their functions.
    """
    function.DEFAULT_PYTHON = str(this_python())  # type: ignore[attr-defined]  # sets a constant
