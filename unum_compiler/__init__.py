"""Compile definitions in the Amazon States Language to the IR, without the CDK."""

from unum_compiler.compile import compile_workflow, warnings_of

__all__ = ["compile_workflow", "warnings_of"]
