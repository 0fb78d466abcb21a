"""Export of a definition to Step Functions: the state machine, what would change its results, and what it loses."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from unum_compiler.compatibility import Compatibility
from unum_compiler.compile import compile_workflow
from unum_compiler.definition import Definition
from unum_compiler.export.written_back import FUNCTION_KEY, written_back
from unum_compiler.frontends.from_ir import REASONS
from unum_runtime.asl.places import member
from unum_runtime.errors import DefinitionError
from unum_runtime.model import ir, states
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Guard, Json

_PLACEHOLDER = re.compile(r"\$\{([^${}]+)\}")

_STRICT = 'refused by compatibility="strict"; '

_LOST: Mapping[str, tuple[Any, str]] = {
    "guard": (Guard.READ, "the protection of its function against duplicate events; Step Functions has its own"),
    "committed_by": (None, "checkpoint=False; Step Functions stores each state"),
    "memoize": (False, "memoize; executions share no results, the function runs in each"),
    "handler": (None, "its handler in a function with several; give Step Functions a function for it"),
}
"""Fields of Tasks that change no result, with their default and what is lost."""

_LOST_OF_ALL: Mapping[str, tuple[Any, str]] = {
    "hop_budget": (ir.DEFAULT_HOP_BUDGET, "the limit of steps; Step Functions has 25,000 events"),
    "collection": (ir.Collection.TTL, "the deletion of results while the execution runs"),
    "width_budget": (None, "the limit of branches"),
    "invocation_budget": (None, "the limit of invocations"),
    "attributes": (None, "attributes to find executions"),
    "small_results": (None, "the storage of small results"),
}
"""Fields of workflows that change no result, with their default and what is lost."""


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A definition for Step Functions.

    Attributes:
        machine: state machine in the Amazon States Language.
        changed: what Step Functions lacks, refuses or does otherwise, each with the place of its state.
        lost: what changes no result.
        substitutions: names in ``${...}`` that a deployment replaces: functions by key, and values.
    """

    machine: Json
    changed: tuple[str, ...]
    lost: tuple[str, ...]
    substitutions: tuple[str, ...]


def export(definition: Definition, name: str, functions: Mapping[str, str]) -> Exported:
    """Return `definition` for Step Functions.

    Args:
        definition: the definition; a compiled one is written back.
        name: name of the workflow.
        functions: ARNs of functions by key; others become ``${key}``.

    Raises:
        DefinitionError: `definition` does not compile.
    """
    workflow = definition.compile(name, None)
    machine = definition.machine()
    if machine is None or not _is_same(machine, workflow, definition.extensions):
        machine = written_back(workflow)
    machine = _with_functions(machine, {task.function for task in workflow.tasks}, functions)
    return Exported(
        machine=machine,
        changed=(*_extensions(workflow), *_differences(machine, name)),
        lost=(*_lost(workflow), *_activities(workflow)),
        substitutions=tuple(sorted({*_placeholders(machine)})),
    )


def _is_same(machine: Json, workflow: Workflow, extensions: Mapping[str, Any]) -> bool:
    """Return True if `machine` compiles to `workflow`, as far as the language can say it."""
    return bool(extensions) or compile_workflow(machine, name=workflow.name, functions=None).digest == workflow.digest


def _extensions(workflow: Workflow) -> Iterator[str]:
    for state in workflow.states.values():
        place = member("$.States", state.name)
        for field, reason in REASONS.items():
            if getattr(state, field, None):
                yield f"{place}: {field}: {reason}"


def _differences(machine: Json, name: str) -> Iterator[str]:
    """Yield what Step Functions refuses in `machine`, or does otherwise."""
    try:
        definition = replace(Definition.from_asl(machine), compatibility=Compatibility.STRICT)
        definition.compile(name, None)
    except DefinitionError as error:
        yield from (str(problem).replace(_STRICT, "") for problem in error.problems)


def _lost(workflow: Workflow) -> Iterator[str]:
    for field, (usual, what) in _LOST_OF_ALL.items():
        if getattr(workflow, field) != usual:
            yield what
    for task in workflow.tasks:
        for field, (usual, what) in _LOST.items():
            if getattr(task, field) != usual:
                yield f"{member('$.States', task.name)}: {what}"


def _activities(workflow: Workflow) -> Iterator[str]:
    for task in workflow.tasks:
        if (task.resource or "").startswith(states.ACTIVITY):
            yield f"{member('$.States', task.name)}: the queue of its activity; make an activity in Step Functions"


def _with_functions(machine: Json, keys: set[str], arns: Mapping[str, str]) -> Json:
    """Return `machine` with ARNs, or ``${key}``, for functions in its Tasks."""

    def named(value: Json) -> Json:
        key = value[2:-1] if isinstance(value, str) and _PLACEHOLDER.fullmatch(value) else value
        if not isinstance(key, str) or key not in keys | arns.keys():
            return value
        return arns.get(key) or (f"${{{key}}}" if FUNCTION_KEY.fullmatch(key) else key)

    def walk(value: Json) -> Json:
        if isinstance(value, list):
            return [walk(each) for each in value]
        if not isinstance(value, dict):
            return value
        walked = {name: walk(each) for name, each in value.items()}
        if value.get("Type") == "Task" and "Resource" in value:
            walked["Resource"] = named(value["Resource"])
            for field in ("Parameters", "Arguments"):
                given = walked.get(field)
                if isinstance(given, dict) and "FunctionName" in given:
                    walked[field] = {**given, "FunctionName": named(given["FunctionName"])}
        return walked

    return walk(machine)


def _placeholders(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _placeholders(each)
    elif isinstance(value, list):
        for each in value:
            yield from _placeholders(each)
    elif isinstance(value, str):
        yield from _PLACEHOLDER.findall(value)
