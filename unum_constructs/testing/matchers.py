"""Template assertions for stacks with workflows."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from unum_constructs.testing.normalization import HasTemplate
from unum_constructs.testing.resources import WorkflowResources


def assert_workflow(
    template: HasTemplate | Mapping[str, Any],
    workflow_name: str | None = None,
    *,
    functions: Collection[str] | None = None,
    edges: Mapping[str, Collection[str]] | None = None,
    start: str | None = None,
    table: str | None = None,
) -> WorkflowResources:
    """Assert that `template` contains a workflow with expected wiring.

    It always checks that all functions share one table, and that one start alias belongs to one of the functions.

    Args:
        template: `aws_cdk.assertions.Template`, or a template as JSON.
        workflow_name: workflow name; optional if the template has one workflow.
        functions: keys of all functions; ``$entry`` is the entry function, ``$services`` the service function.
        edges: keys of exactly those functions that each function may invoke, by key; a missing function may invoke
            none. A function invokes itself for a retry or a Wait, and before a Map that may exceed 1,000 branches.
        start: key of the function that executions start in.
        table: logical id of the table.

    Returns:
        The workflow's resources, for further questions.

    Raises:
        AssertionError: lists all differences.
        TypeError: `template` is no template, or a text stands in place of a collection of keys.
    """
    _check_keys({"functions": functions, **{f"edges[{key!r}]": targets for key, targets in (edges or {}).items()}})
    found = WorkflowResources.find(template, workflow_name)
    problems = [*_start_problems(found, start), *_table_problems(found, table)]
    if functions is not None:
        problems += _set_problems("functions", {*functions}, {*found.functions})
    if edges is not None:
        problems += _edge_problems(found, edges)
    if problems:
        raise AssertionError("\n".join(f"{found.workflow_name}: {each}" for each in problems))
    return found


def _check_keys(given: Mapping[str, object]) -> None:
    """Raise if an argument, by name, is text: its characters would count as keys."""
    for argument, keys in given.items():
        if isinstance(keys, str):
            raise TypeError(f"{argument}: expected a collection of keys, got the text {keys!r}; write [{keys!r}]")


def _start_problems(found: WorkflowResources, start: str | None) -> Iterator[str]:
    keys = {key for key, logical_id in found.functions.items() if logical_id == found.start}
    if not keys:
        yield f"start alias: expected one of a function of the workflow, got one of {found.start}"
    elif start is not None and start not in keys:
        yield f"start: expected {start!r}, got {sorted(keys)}"


def _table_problems(found: WorkflowResources, table: str | None) -> Iterator[str]:
    got = found.table
    if table is not None and got != table:
        yield f"table: expected {table!r}, got {got!r}"


def _edge_problems(found: WorkflowResources, edges: Mapping[str, Collection[str]]) -> Iterator[str]:
    yield from (f"edges: expected a function {key!r}, there is none" for key in edges.keys() - found.functions.keys())
    for key, targets in found.edges.items():
        yield from _set_problems(f"edges[{key!r}]", {*edges.get(key, ())}, {*targets})


def _set_problems(what: str, expected: set[str], got: set[str]) -> Iterator[str]:
    if expected != got:
        yield f"{what}: missing {sorted(expected - got)}, unexpected {sorted(got - expected)}"
