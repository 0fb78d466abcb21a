"""Hand-written IR: shape, references, functions."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType

from unum_compiler.frontends.ir_check import workflow_problems
from unum_compiler.frontends.ir_schema import TOP_LEVEL, ir_schema
from unum_compiler.options import DEFAULT, FunctionOptions
from unum_compiler.problems import Report, did_you_mean, shown
from unum_runtime.asl.places import member
from unum_runtime.errors import Problem
from unum_runtime.json_text import to_ascii
from unum_runtime.model import states
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json

_NO_OPTIONS: Mapping[str, FunctionOptions] = MappingProxyType({})


def read_ir(
    value: Json, functions: Collection[str] | None = None, options: Mapping[str, FunctionOptions] = _NO_OPTIONS
) -> Workflow:
    """Return the workflow in `value`.

    Args:
        value: IR in the form of `Workflow.to_json`; fields with a default may be missing.
        functions: keys of the workflow's functions; None accepts every name.
        options: options of functions, which must be the default: the IR has them in each Task.

    Raises:
        DefinitionError: with every problem, in its order.
    """
    from unum_compiler.frontends.schema_errors import schema_problems  # noqa: PLC0415 - loads jsonschema, in 100 ms

    report = Report()
    report.add(schema_problems(value, ir_schema()))
    # The next checks read fields without testing their types.
    report.raise_problems(value)
    workflow = Workflow.from_json(to_ascii(_DEFAULTS | value))
    report.add(workflow_problems(workflow))
    report.add(_function_problems(workflow, functions, options))
    report.raise_problems(value)
    return workflow


def _function_problems(
    workflow: Workflow, functions: Collection[str] | None, options: Mapping[str, FunctionOptions]
) -> Iterator[Problem]:
    for task in workflow.tasks:
        place = member(member("$.states", task.name), "function")
        if functions is not None and task.form is not states.Form.SERVICE and task.function not in functions:
            remedy = did_you_mean(task.function, functions)
            yield Problem(place, f"there is no function {shown(task.function)}; pass it in `functions`: {remedy}")
        if options.get(task.function, DEFAULT) != DEFAULT:
            message = f"expected default options of {shown(task.function)}"
            yield Problem(place, f"{message}; set guard, committed_by and memoize of the Task in the IR")


_DEFAULTS = {
    each.name: each.default
    for each in fields(Workflow)
    if each.name in TOP_LEVEL and each.default not in (MISSING, None)
}
