"""Paths: find a value in JSON, and put one there.

A path is parsed once per sandbox. Most paths are a chain of names and indexes; these are followed without
any of the machinery for wildcards, slices, filters and descent.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.filters import Key, follow
from unum_runtime.asl.jsonpath.path_steps import Step
from unum_runtime.asl.jsonpath.path_syntax import PathParser
from unum_runtime.asl.states_errors import ResultPathMatchFailure, excerpt
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.model.ir import Json

_CACHED_PATHS = 4096


@dataclass(frozen=True)
class Path:
    """A parsed path; equal to another that leads the same way, however it is written.

    Attributes:
        text: as it was written.
        is_context: begins with ``$$``, at the context object instead of the input.
        variable: name of the variable at which it begins instead of the input; None if it begins at no variable.
        steps: the way from there; empty for ``$``.
    """

    text: str = field(compare=False)
    is_context: bool
    variable: str | None
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return self.root_text + "".join(step.text for step in self.steps)

    @cached_property
    def root_text(self) -> str:
        """How the path begins: ``$``, ``$$`` or ``$name``."""
        return "$$" if self.is_context else f"${self.variable or ''}"

    @cached_property
    def is_definite(self) -> bool:
        """It leads to one value at most; otherwise `find` returns a list."""
        return all(step.is_definite for step in self.steps)

    @cached_property
    def is_reference(self) -> bool:
        """Consists of names and indexes from the beginning alone (specification, Reference Paths)."""
        return self.keys is not None and all(isinstance(key, str) or key >= 0 for key in self.keys)

    @cached_property
    def keys(self) -> tuple[Key, ...] | None:
        """The names and indexes to follow; None if there are other steps."""
        keys = tuple(step.key for step in self.steps if step.key is not None)
        return keys if len(keys) == len(self.steps) else None


class PathNotFound(LookupError):
    """A path leads to nothing.

    Attributes:
        path: the path.
        root: where it begins.
    """

    def __init__(self, path: Path, root: Json) -> None:
        self.path = path
        self.root = root
        super().__init__(path.text)

    @property
    def reason(self) -> str:
        """What is missing, worded as AWS does; found out when it is asked for, as a rule may only ask for presence."""
        return _reason(self.path, self.root)

    @property
    def place(self) -> str:
        """Where nothing was found, worded as AWS does."""
        return f"the input '{excerpt(self.root)}'"


class VariableNotFound(PathNotFound):
    """A path begins at a variable that has no value; `root` holds all that have one."""

    @property
    def reason(self) -> str:
        """Which variable is missing."""
        return f"${self.path.variable} is none of {self.place}"

    @property
    def place(self) -> str:
        """Which variables there are."""
        return f"the variables that are assigned: {', '.join(self.root) or 'none'}"


@lru_cache(maxsize=_CACHED_PATHS)
def parse(text: str) -> Path:
    """The path that `text` writes.

    Raises:
        PathSyntaxError: says at which character, and what is allowed there.
    """
    return Path(text, *PathParser(text).path())


def read(path: Path, data: Json, context: ExpressionContext) -> Json:
    """What `path` selects: in the variable or the context object of `context` at which it begins, or else in `data`.

    Raises:
        PathNotFound: as `find`, or there is no such variable.
    """
    if path.is_context:
        return find(path, context.context_object)
    if path.variable is None:
        return find(path, data)
    if path.variable not in context.variables:
        raise VariableNotFound(path, dict(context.variables))
    return find(path, context.variables[path.variable])


def find(path: Path, root: Json) -> Json:
    """What `path` selects in `root`: the value if the path is definite, else a list, which may be empty.

    Parts of `root` are shared with the result, not copied.

    Raises:
        PathNotFound: a definite path, or the definite beginning of another, leads to nothing.
    """
    if path.keys is None:
        return _find_slowly(path, root)
    try:
        return follow(path.keys, root)
    except LookupError:
        raise PathNotFound(path, root) from None


def put(path: Path, root: Json, value: Json) -> Json:
    """A copy of `root` that has `value` at `path`; objects on the way there are created (specification, ResultPath).

    What does not lie on the way is shared with `root`, which stays as it is.

    Args:
        path: a reference path into the input.
        root: any JSON value.
        value: what to put.

    Raises:
        ValueError: `path` is no such path.
        ResultPathMatchFailure: on the way lies an index that does not exist, or a value with no such children.
    """
    try:
        return _put(_result_keys(path), root, value)
    except LookupError:
        raise ResultPathMatchFailure(f"Unable to apply ReferencePath {path.text} to input {excerpt(root)}") from None


def _result_keys(path: Path) -> tuple[Key, ...]:
    if path.is_reference and path.root_text == "$" and path.keys is not None:
        return path.keys
    raise ValueError(f"{path.text}: expected a reference path into the input, like $.result")


def _put(keys: Sequence[Key], node: Json, value: Json) -> Json:
    if not keys:
        return value
    key, rest = keys[0], keys[1:]
    if isinstance(key, str) and isinstance(node, dict):
        return {**node, key: _put(rest, node[key], value) if key in node else _nest(rest, value)}
    if isinstance(key, int) and isinstance(node, list) and key < len(node):
        return [*node[:key], _put(rest, node[key], value), *node[key + 1 :]]
    raise LookupError(key)


def _nest(keys: Sequence[Key], value: Json) -> Json:
    if any(isinstance(key, int) for key in keys):
        raise LookupError(keys)  # only objects are created, not arrays
    for key in reversed(keys):
        value = {key: value}
    return value


def _find_slowly(path: Path, root: Json) -> Json:
    nodes: Sequence[Json] = [root]
    certain = True  # one value so far; then a step that does not fit is a failure, and later it selects nothing
    for step in path.steps:
        selections = [step.select(node) for node in nodes]
        if certain and None in selections:
            raise PathNotFound(path, root)
        nodes = [node for selection in selections if selection is not None for node in selection]
        certain = certain and step.is_definite and bool(nodes)
    if not path.is_definite:
        return nodes
    if not nodes:
        raise PathNotFound(path, root)
    return nodes[0]


def _reason(path: Path, node: Json) -> str:
    way = path.root_text
    for step in path.steps[:-1]:
        selection = step.select(node)
        if not selection:
            return f"Missing property in path {way}{step.text}" if _fits(step, node) else _misfit(step, node, way)
        way, node = way + step.text, selection[0]
    last = path.steps[-1]
    return f"No results for path: {path}" if _fits(last, node) else _misfit(last, node, way)


def _fits(step: Step, node: Json) -> bool:
    return step.key is not None and isinstance(node, dict if isinstance(step.key, str) else list)


def _misfit(step: Step, node: Json, way: str) -> str:
    return f"Expected to find something with {step.text} in path {way} but found {excerpt(node)}"
