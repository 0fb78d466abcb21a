"""Python versions of functions, by the names of Lambda runtimes."""

from collections.abc import Iterable

from aws_cdk import aws_lambda as lambda_

from unum_constructs.cdk.lookup import runtime_of

DEFAULT_PYTHON = "python3.13"
"""Newest runtime that the layer is tested on."""


def newest_python(functions: Iterable[lambda_.Function]) -> str:
    """Return the newest Python among `functions`. Default, if all are container images: `DEFAULT_PYTHON`."""
    runtimes = [runtime for runtime in map(runtime_of, functions) if runtime is not None]
    return max(runtimes, key=_minor, default=DEFAULT_PYTHON)


def _minor(runtime: str) -> int:
    return int(runtime.rpartition(".")[2])
