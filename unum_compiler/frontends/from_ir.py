"""The compiled form as input: what the compiler wrote, unchanged, which its digest proves.

Nothing else is checked: the compiler has checked the definition. So what people write is refused, however right it is.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import NoReturn

from unum_compiler.options import DEFAULT, FunctionOptions
from unum_compiler.problems import Report, did_you_mean, shown
from unum_runtime.asl.places import member
from unum_runtime.cold_start.digest import short_digest
from unum_runtime.errors import Problem
from unum_runtime.json_text import parse_json, to_sorted
from unum_runtime.model import states
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json

DIGEST = "digest"
"""Field of the compiled form besides those of the IR, with the digest of the IR's text."""

_NO_OPTIONS: Mapping[str, FunctionOptions] = MappingProxyType({})
_REMEDY = (
    "write a definition instead (Amazon States Language, or a graph by `unum_constructs.graph`) and compile it: `unum "
    "compile FILE`"
)


def to_compiled(workflow: Workflow) -> dict[str, Json]:
    """Return the compiled form of `workflow`, as `read_ir` reads it: the IR and its digest."""
    return {**parse_json(workflow.to_json()), DIGEST: workflow.digest}


def read_ir(
    value: Json, functions: Collection[str] | None = None, options: Mapping[str, FunctionOptions] = _NO_OPTIONS
) -> Workflow:
    """Return the workflow in `value`.

    Args:
        value: compiled form, as `to_compiled` returns it.
        functions: keys of the workflow's functions; None accepts every name.
        options: options of functions, which must be the default: the IR has them in each Task.

    Raises:
        DefinitionError: the compiler of this version did not write `value`; or with every problem about `functions`
            and `options`.
    """
    report = Report()
    workflow = _verified(value, report)
    report.add(_function_problems(workflow, functions, options))
    report.raise_problems(value)
    return workflow


def _verified(value: Json, report: Report) -> Workflow:
    def refuse(place: str, message: str) -> NoReturn:
        report.add([Problem(place, f"{message}; {_REMEDY}")])
        report.raise_problems(value)
        raise AssertionError("a report with a problem raises")

    if not isinstance(value, dict) or DIGEST not in value:
        refuse("$", f'expected an object with "{DIGEST}", as the compiler writes it, got none')
    text = to_sorted({name: each for name, each in value.items() if name != DIGEST})
    if value[DIGEST] != (found := short_digest(text.encode())):
        refuse(member("$", DIGEST), f"expected {found!r}, that of the other fields, got {shown(value[DIGEST])}")
    try:
        return Workflow.from_json(text)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        refuse("$", f"expected the compiled form of this version, got {error!r}")


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
            yield Problem(place, f"{message}; give them when you compile the definition")
