"""From the Amazon States Language to the IR, without the CDK."""

from unum_constructs.compiler.compile import compile_workflow

__all__ = ["compile_workflow"]
