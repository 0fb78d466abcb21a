"""Which Python functions have, by the names of Lambda's runtimes."""

from collections.abc import Iterable

from aws_cdk import aws_lambda as lambda_

from unum_constructs.cdk.lookup import runtime_of

DEFAULT_PYTHON = "python3.13"
"""The newest that the runtime in the layer is known to run on."""


def newest_python(functions: Iterable[lambda_.Function]) -> str:
    """The newest that any of `functions` has, or the default where all are container images."""
    runtimes = [runtime for runtime in map(runtime_of, functions) if runtime is not None]
    return max(runtimes, key=_minor, default=DEFAULT_PYTHON)


def _minor(runtime: str) -> int:
    return int(runtime.rpartition(".")[2])
