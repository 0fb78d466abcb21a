"""Compiler from the Amazon States Language to IR, independent of the CDK."""

from unum_compiler.compile import compile_workflow, warnings_of

__all__ = ["compile_workflow", "warnings_of"]
