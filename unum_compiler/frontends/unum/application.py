"""Files of an application, read to one form for their three dialects.

Source: the documents `ir.md` and `template.md` of the original, github.com/LedgeDash/unum. The dialects differ in the
place of an edge's type: in the edge (`InputType`, or `Type` with `Values`), beside all edges (`NextInput`), or in the
name of the other function of a fan-in (`WaitFor`).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from unum_compiler.frontends.files import read_file
from unum_compiler.problems import alternatives, did_you_mean, shown
from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.states import Json

TEMPLATE = ("unum-template.yaml", "unum-template.yml")
STATE_MACHINE = "unum-step-functions.json"
CONFIGURATION = ("unum_config.json", "unum_config.yaml")

_GLOBALS = frozenset(
    (
        *("ApplicationName", "Checkpoint", "Debug", "FaaSPlatform", "MemorySize", "Runtime", "Timeout"),
        *("UnumIntermediaryDataStoreName", "UnumIntermediaryDataStoreType", "WorkflowDefinition", "WorkflowType"),
    )
)
_NODE = frozenset(
    (
        *("Name", "Start", "Checkpoint", "Debug", "Remove", "Next", "NextInput", "WaitFor"),
        *("Next Payload Modifiers", "Fan-out Modifiers"),
    )
)
_EDGE = frozenset(("Name", "InputType", "Type", "Values", "Conditional", "Payload Modifiers"))
_KINDS = ("Scalar", "Map", "Fan-in")
_INVOCATION = re.compile(r"(?P<name>.+?)(?:-[uU]numIndex-(?P<index>.+))?")


class Place(NamedTuple):
    """A field of a file."""

    file: str
    field: str

    def refuse(self, message: str) -> NoReturn:
        """Raise DefinitionError with this place and `message`."""
        raise DefinitionError((Problem(f"{self.file}: {self.field}", message),))


class Invocation(NamedTuple):
    """A source of a fan-in: a function, and its branch index as text; None without an index."""

    name: str
    branch: str | None


class Edge(NamedTuple):
    """A transition to another function.

    Attributes:
        target: name of the function.
        kind: ``Scalar``, ``Map`` or ``Fan-in``.
        values: sources of a fan-in in order; empty for the order of the branches.
        condition: expression under which the edge is taken; None for always.
        modifiers: instructions for the metadata, such as ``Pop``.
        place: field of the edge.
    """

    target: str
    kind: str
    values: tuple[Invocation, ...]
    condition: str | None
    modifiers: tuple[str, ...]
    place: Place


class Node(NamedTuple):
    """A function with its outgoing edges."""

    name: str
    is_start: bool
    edges: tuple[Edge, ...]
    place: Place


def read_template(folder: Path) -> tuple[Mapping[str, Any], str]:
    """Return the template in `folder` and its path.

    Raises:
        DefinitionError: there is none, or it lacks functions, or has unknown fields.
    """
    path = next((folder / name for name in TEMPLATE if (folder / name).is_file()), None)
    if path is None:
        Place(str(folder), "$").refuse(f"expected a file {TEMPLATE[0]}, found none")
    template, at = read_file(path), Place(str(path), "$.Functions")
    functions = template.get("Functions") if isinstance(template, dict) else None
    if not isinstance(functions, dict) or not functions:
        at.refuse(f"expected an object with the functions, got {shown(functions)}")
    _check_names(template.get("Globals") or {}, _GLOBALS, at._replace(field="$.Globals"))
    return template, str(path)


def all_configured(folder: Path, template: Mapping[str, Any]) -> bool:
    """Return True if every function of `template` has a configuration below `folder`."""
    places = (_folder_of(function, folder) for function in template["Functions"].values())
    return all(place is not None and _configuration(place) is not None for place in places)


def _folder_of(function: Json, folder: Path) -> Path | None:
    properties = function.get("Properties") if isinstance(function, dict) else None
    uri = properties.get("CodeUri") if isinstance(properties, dict) else None
    return folder / uri if isinstance(uri, str) else None


def _configuration(folder: Path) -> Path | None:
    return next((folder / each for each in CONFIGURATION if (folder / each).is_file()), None)


def read_nodes(folder: Path, template: Mapping[str, Any], file: str) -> dict[str, Node]:
    """Return every function of `template` by name.

    Raises:
        DefinitionError: a file or field is missing, unknown or of the wrong type.
    """
    nodes = {}
    for name, function in template["Functions"].items():
        at, place = Place(file, member("$.Functions", name)), _folder_of(function, folder)
        if place is None:
            at.refuse('expected an object "Properties" with "CodeUri", the folder of the function')
        start = function["Properties"].get("Start", function.get("Start"))
        nodes[name] = _node(name, place, at, starts=bool(start))
    for node in nodes.values():
        for edge in node.edges:
            if edge.target not in nodes:
                edge.place.refuse(f"there is no function {shown(edge.target)}; {did_you_mean(edge.target, nodes)}")
    return nodes


def _node(name: str, folder: Path, at: Place, *, starts: bool) -> Node:
    path = _configuration(folder)
    if path is None:
        at.refuse(f"expected a file {CONFIGURATION[0]} in {folder}, found none")
    config, place = read_file(path), Place(str(path), "$")
    if not isinstance(config, dict):
        place.refuse(f"expected an object, got {shown(config)}")
    _check_names(config, _NODE, place)
    if config.get("Name", name) != name:
        place._replace(field="$.Name").refuse(
            f"expected {shown(name)}, as in the template, got {shown(config['Name'])}"
        )
    following = config.get("Next", [])
    several = following if isinstance(following, list) else [following]
    fields = [element("$.Next", index) for index in range(len(several))] if isinstance(following, list) else ["$.Next"]
    edges = tuple(
        _edge(each, config, name, place._replace(field=field)) for each, field in zip(several, fields, strict=True)
    )
    return Node(name, bool(config.get("Start", starts)), edges, place)


def _edge(value: Json, config: Mapping[str, Any], source: str, place: Place) -> Edge:
    edge = {"Name": value} if isinstance(value, str) else value
    if not isinstance(edge, dict) or not isinstance(edge.get("Name"), str):
        place.refuse(f'expected the name of a function, or an object with "Name", got {shown(value)}')
    _check_names(edge, _EDGE, place)
    kind, values = _kind(edge, config, source, place)
    if kind not in _KINDS:
        place.refuse(f"expected the type {alternatives(_KINDS)}, got {shown(kind)}")
    condition = edge.get("Conditional")
    if condition is not None and not isinstance(condition, str):
        place.refuse(f"Conditional: expected an expression as text, got {shown(condition)}")
    lists = (edge.get("Payload Modifiers"), config.get("Next Payload Modifiers"), config.get("Fan-out Modifiers"))
    modifiers = tuple(re.sub(r"\s", "", str(each)) for values in lists for each in values or ())
    return Edge(edge["Name"], kind, values, condition, modifiers, place)


def _kind(edge: Mapping[str, Any], config: Mapping[str, Any], source: str, place: Place) -> tuple[Json, Any]:
    """Return the type of `edge`, and the sources of a fan-in."""
    kind = edge.get("InputType", edge.get("Type", config.get("NextInput", "Scalar")))
    if isinstance(kind, dict) and kind.keys() == {"Fan-in"} and isinstance(kind["Fan-in"], dict):
        _check_names(kind["Fan-in"], frozenset(("Values", "Wait")), place)
        return "Fan-in", tuple(_invocations(kind["Fan-in"].get("Values"), place))
    if kind != "Fan-in":
        return kind, ()
    if "WaitFor" not in config:
        return kind, tuple(_invocations(edge.get("Values"), place))
    waits = config["WaitFor"]
    others = waits if isinstance(waits, list) else [waits]
    # This dialect names the others alone; they and this function arrive in the order of their branches.
    return kind, tuple(Invocation(name, "") for name in (source, *others))


def _invocations(values: Json, place: Place) -> Iterator[Invocation]:
    if not isinstance(values, list) or not values or not all(isinstance(each, str) and each for each in values):
        place.refuse(f"Values: expected a list of invocations, got {shown(values)}")
    for value in values:
        found = _INVOCATION.fullmatch(value)
        assert found is not None  # noqa: S101 - every text that is not empty matches
        yield Invocation(found["name"], found["index"])


def _check_names(names: Json, known: Collection[str], place: Place) -> None:
    if not isinstance(names, dict):
        place.refuse(f"expected an object, got {shown(names)}")
    for name in names:
        if name not in known:
            place._replace(field=member(place.field, name)).refuse(f"not supported; {did_you_mean(name, known)}")
