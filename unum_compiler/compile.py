"""The compiler from end to end: read, check, lower."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from unum_compiler.checks.context_object import check_context
from unum_compiler.checks.differences import check_differences
from unum_compiler.checks.references import check_variables
from unum_compiler.checks.scope_checks import check_scopes, check_uncommitted
from unum_compiler.checks.warnings import Warned, warnings
from unum_compiler.compatibility import Compatibility
from unum_compiler.lowering.lower import lower, with_calls, with_pace
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing.document import copy_json
from unum_compiler.parsing.read_machine import read
from unum_compiler.parsing.tokens import check_tokens
from unum_compiler.problems import Report
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json


def compile_workflow(
    definition: Json,
    *,
    name: str,
    functions: Collection[str] | None,
    options: Mapping[str, FunctionOptions] = MappingProxyType({}),
    called: Collection[str] = (),
    compatibility: Compatibility = Compatibility.GENEROUS,
) -> Workflow:
    """Return the workflow that `definition` describes.

    Args:
        definition: a state machine in the Amazon States Language, as JSON.
        name: of the workflow.
        functions: keys of the workflow's functions; None accepts every name.
        options: options of functions by key; other functions have the default.
        called: keys of functions that cannot have the runtime, so that Tasks call them.
        compatibility: mode; `STRICT` refuses what Step Functions does otherwise, and applies its quotas.

    Raises:
        DefinitionError: with every problem, in the order of the definition.
    """
    document = copy_json(definition)
    report = Report()
    check_tokens(document, report)
    machine = read(document, functions, report)
    check_scopes(machine, report)
    check_variables(machine, report)
    check_context(machine, report)
    is_strict = compatibility is Compatibility.STRICT
    if is_strict:
        check_differences(machine, document, called, report)
    # This check follows transitions, which only a machine without problems has.
    report.raise_problems(document)
    check_uncommitted(machine, options, report)
    report.raise_problems(document)
    lowered = lower(machine, name=name, options=options, strict=is_strict)
    # Step Functions has limits of its own, which the strict mode applies.
    return with_calls(lowered if is_strict else with_pace(lowered), called)


def warnings_of(definition: Json) -> tuple[Warned, ...]:
    """Return the warnings of `definition`, which compiles."""
    return warnings(read(copy_json(definition), None, Report()))
