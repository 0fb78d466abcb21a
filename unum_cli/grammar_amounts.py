"""Amounts on the command line, with what is allowed of each."""

import argparse

AMOUNTS = (
    ("items", 0, None, 10, "branches of each Map"),
    ("rounds", 1, None, 3, "rounds of each loop"),
    ("result-bytes", 0, None, 200, "result size of each Task"),
    ("duration-ms", 0, 900_000, 0, "duration of each Task's user code or service call"),
    ("memory-mb", 128, 10_240, 128, "memory of each function"),
    ("timeout-s", 1, 900, 30, "timeout of each function"),
)
"""Assumptions of ``unum cost``: (option, minimum, maximum, default, help). Source of the maxima: AWS Lambda Developer
Guide, "Lambda quotas"."""


def count(least: int, text: str, *, most: int | None = None) -> int:
    """Parse an amount between `least` and `most`, as ``type`` of an option.

    Raises:
        ArgumentTypeError: another text.
    """
    if text.isdecimal() and least <= int(text) <= (int(text) if most is None else most):
        return int(text)
    allowed = f"from {least} up" if most is None else f"from {least} to {most:,}"
    raise argparse.ArgumentTypeError(f"expected an integer {allowed}, got {text!r}")
