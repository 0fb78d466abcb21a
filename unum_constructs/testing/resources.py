"""Workflow resources in a template, found by environment variables, and assertions about them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from unum_compiler.analysis.edges import ENTRY
from unum_constructs.testing.normalization import HasTemplate, template_json
from unum_runtime.json_text import parse_json, to_ascii
from unum_runtime.model.naming import start_alias

Resources: TypeAlias = Mapping[str, Mapping[str, Any]]

_HANDLER = "unum_runtime.handler.handle"


@dataclass(frozen=True)
class WorkflowResources:
    """Workflow resources in a template, by logical id.

    Attributes:
        workflow_name: workflow name.
        template: template as JSON.
    """

    workflow_name: str
    template: Mapping[str, Any]

    @classmethod
    def find(cls, template: HasTemplate | Mapping[str, Any], workflow_name: str | None = None) -> "WorkflowResources":
        """Find the workflow `workflow_name`. Default: the only workflow.

        Raises:
            AssertionError: no workflow has this name, or the template has several workflows.
            TypeError: `template` is no template.
        """
        content = template_json(template)
        names = sorted({name for each in _functions(content).values() for name in _services(each)})
        if workflow_name is None and len(names) == 1:
            return cls(names[0], content)
        if workflow_name in names and workflow_name is not None:
            return cls(workflow_name, content)
        expected = "one workflow" if workflow_name is None else f"the workflow {workflow_name!r}"
        raise AssertionError(f"expected {expected}, the template has {', '.join(names) or 'none'}")

    @cached_property
    def functions(self) -> Mapping[str, str]:
        """Logical ids of functions, by Task key; ``$entry`` names the entry function."""
        found: dict[str, str] = {}
        for logical_id, function in _functions(self.template).items():
            service = _services(function).get(self.workflow_name)
            if service is not None and _HANDLER in _handlers(function["Properties"]):
                found |= dict.fromkeys(service["hosts"] or [ENTRY], logical_id)
        return found

    @cached_property
    def edges(self) -> Mapping[str, frozenset[str]]:
        """Functions that each role may invoke, own function included, by key."""
        keys: dict[str, set[str]] = {}
        for key, logical_id in self.functions.items():
            keys.setdefault(logical_id, set()).add(key)
        return {
            key: frozenset(other for target in self._invoked(logical_id) for other in keys.get(target, ()))
            for key, logical_id in self.functions.items()
        }

    @property
    def table(self) -> str:
        """Logical id of the table, or its name for a table of another stack.

        Raises:
            AssertionError: functions name different tables.
        """
        tables = {
            _services(function)[self.workflow_name]["table"]
            for function in _functions(self.template).values()
            if self.workflow_name in _services(function)
        }
        return self._only("table", tables)

    @property
    def start_aliases(self) -> Resources:
        """Start aliases of the workflow; correct templates have one."""
        name = start_alias(self.workflow_name)
        aliases = _of_type(self.template, "AWS::Lambda::Alias")
        return {each: alias for each, alias in aliases.items() if alias["Properties"]["Name"] == name}

    @property
    def start(self) -> str:
        """Logical id of the function behind the start alias.

        Raises:
            AssertionError: the template has no start alias, or several.
        """
        alias = self._only("start alias", self.start_aliases)
        return _text(self.start_aliases[alias]["Properties"]["FunctionName"])

    def _only(self, what: str, found: Collection[str]) -> str:
        if len(found) != 1:
            raise AssertionError(f"{self.workflow_name}: expected one {what}, found {sorted(found)}")
        return next(iter(found))

    def _invoked(self, function: str) -> Iterator[str]:
        """Yield logical ids of functions whose versions a function's role may invoke."""
        role = _text(self.template["Resources"][function]["Properties"]["Role"]).removesuffix(".Arn")
        for statement in self._statements(role):
            if statement["Effect"] == "Allow" and "lambda:InvokeFunction" in _as_list(statement["Action"]):
                targets = map(_text, _as_list(statement["Resource"]))
                yield from (each.removesuffix(":*").removesuffix(".Arn") for each in targets)

    def _statements(self, role: str) -> Iterator[Mapping[str, Any]]:
        """Yield all policy statements of a role."""
        kinds = (_of_type(self.template, f"AWS::IAM::{kind}") for kind in ("Policy", "ManagedPolicy"))
        for policy in (policy for found in kinds for policy in found.values()):
            if {"Ref": role} in policy["Properties"].get("Roles", ()):
                yield from policy["Properties"]["PolicyDocument"]["Statement"]


def _functions(template: Mapping[str, Any]) -> Resources:
    return _of_type(template, "AWS::Lambda::Function")


def _of_type(template: Mapping[str, Any], kind: str) -> Resources:
    return {name: each for name, each in template.get("Resources", {}).items() if each["Type"] == kind}


def _handlers(properties: Mapping[str, Any]) -> list[Any]:
    """Return a function's handler, or the command of its container image."""
    return [properties.get("Handler"), *properties.get("ImageConfig", {}).get("Command", ())]


def _services(function: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the workflows in a function's environment, by name."""
    variables = function["Properties"].get("Environment", {}).get("Variables", {})
    services: Mapping[str, Any] = parse_json(_text(variables.get("UNUM_WORKFLOWS", "{}")))
    return services


def _text(value: Any) -> str:
    """Return an intrinsic function as text: references as logical ids, attributes after a dot."""
    match value:
        case str():
            return value
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(map(_text, parts))
        case {"Ref": str(name)}:
            return name
        case {"Fn::GetAtt": [name, attribute]}:
            return f"{name}.{attribute}"
    return to_ascii(value)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


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


def _check_keys(arguments: Mapping[str, object]) -> None:
    """Raise if an argument, by name, is text: its characters would count as keys."""
    for argument, keys in arguments.items():
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
