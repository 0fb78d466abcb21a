"""Paths: selection of values in JSON, and ResultPath's placement.

A sandbox parses each path once. Most paths are only names and indexes; these skip the general evaluation of wildcards,
slices, filters and descent.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice

from unum_runtime.asl.expression_context import Expression, ExpressionContext
from unum_runtime.asl.jsonpath import path_steps
from unum_runtime.asl.jsonpath.path_steps import Key, Step, follow
from unum_runtime.asl.jsonpath.path_syntax import PathParser
from unum_runtime.asl.states_errors import ResultPathMatchFailure, RuntimeFailure, excerpt
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.model.states import Json

MAX_VISITED = 1_000_000
"""Most values that one ``..`` of a path visits."""

_CACHED_PATHS = 4096


@dataclass(frozen=True)
class Path:
    """A parsed path; paths with equal steps are equal, also with different notations.

    Attributes:
        text: text in the definition.
        is_context: True if the path begins with ``$$``, the context object, instead of the input.
        variable: name of the variable at the beginning; None without a variable.
        steps: steps from the root; empty for ``$``.
    """

    text: str = field(compare=False)
    is_context: bool
    variable: str | None
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return self.root_text + "".join(step.text for step in self.steps)

    @cached_property
    def root_text(self) -> str:
        """Beginning of the path: ``$``, ``$$`` or ``$name``."""
        return "$$" if self.is_context else f"${self.variable or ''}"

    @cached_property
    def is_definite(self) -> bool:
        """True if the path selects at most one value; for other paths, `find` returns a list."""
        return all(step.is_definite for step in self.steps)

    @cached_property
    def is_reference(self) -> bool:
        """True for names and non-negative indexes only. Source: specification, "Reference Paths"."""
        return self.keys is not None and all(isinstance(key, str) or key >= 0 for key in self.keys)

    @cached_property
    def keys(self) -> tuple[Key, ...] | None:
        """Names and indexes of all steps; None if a step is no name or index."""
        keys = tuple(step.key for step in self.steps if step.key is not None)
        return keys if len(keys) == len(self.steps) else None


class PathNotFound(LookupError):
    """Path without a value.

    Attributes:
        path: the path.
        root: value at the beginning of the path.
    """

    def __init__(self, path: Path, root: Json) -> None:
        self.path = path
        self.root = root
        super().__init__(path.text)

    @property
    def reason(self) -> str:
        """Description of the missing part, in AWS's words."""
        # Computed on demand: ``IsPresent`` drops most of these errors.
        return _reason(self.path, self.root)

    @property
    def source_text(self) -> str:
        """Description of the searched value, in AWS's words."""
        return f"the input '{excerpt(self.root)}'"


class VariableNotFound(PathNotFound):
    """Path at a variable without a value; `root` contains the assigned variables."""

    @property
    def reason(self) -> str:
        """Description of the missing variable."""
        return f"${self.path.variable} is none of {self.source_text}"

    @property
    def source_text(self) -> str:
        """List of the assigned variables."""
        return f"the variables that are assigned: {', '.join(self.root) or 'none'}"


@lru_cache(maxsize=_CACHED_PATHS)
def parse(text: str) -> Path:
    """Parse the path `text`.

    Raises:
        PathSyntaxError: names the position of the error and the allowed syntax there.
    """
    return Path(text, *PathParser(text).path())


def read(path: Path, data: Json, context: ExpressionContext) -> Json:
    """Return the value at `path` in its root: a variable or the context object in `context`, else `data`.

    Raises:
        PathNotFound: as `find`, or the variable does not exist.
    """
    if path.is_context:
        return find(path, context.context_object)
    if path.variable is None:
        return find(path, data)
    if path.variable not in context.variables:
        raise VariableNotFound(path, dict(context.variables))
    return find(path, context.variables[path.variable])


def path_reader(path: Path, subject: Callable[[], str]) -> Expression:
    """Return an expression for the value at `path`; without value, the cause begins with the text of `subject`."""

    def evaluate(data: Json, context: ExpressionContext) -> Json:
        try:
            return read(path, data, context)
        except PathNotFound as missing:  # the cause is AWS's, as recorded
            raise RuntimeFailure(f"{subject()} could not be found in {missing.source_text}") from None

    return evaluate


def find(path: Path, root: Json) -> Json:
    """Return the value at a definite `path` in `root`, or a list, maybe empty, for other paths.

    The result shares its parts with `root`.

    Raises:
        PathNotFound: a definite path has no value, or a step in the definite beginning of a path does not fit its
            value, such as an index of an object.
    """
    if path.keys is None:
        return _find_all(path, root)
    try:
        return follow(path.keys, root)
    except LookupError:
        raise PathNotFound(path, root) from None


def put(path: Path, root: Json, value: Json) -> Json:
    """Return a copy of `root` with `value` at `path`, creating missing objects. Source: specification, "ResultPath".

    `root` stays unchanged; parts outside of the path are shared with it.

    Args:
        path: reference path into the input.
        root: any JSON value.
        value: value to place.

    Raises:
        ValueError: `path` is not a reference path into the input.
        ResultPathMatchFailure: the path has an index outside of its array, or a key of a value without such keys.
    """
    if path.keys is None or not path.is_reference or path.root_text != "$":
        raise ValueError(f"{path.text}: expected a reference path into the input, like $.result")
    try:
        return _put(path.keys, root, value)
    except LookupError:  # the cause is AWS's, as recorded
        raise ResultPathMatchFailure(f"Unable to apply ReferencePath {path.text} to input {excerpt(root)}") from None


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
        raise LookupError(keys)  # the specification creates objects only, no arrays
    for key in reversed(keys):
        value = {key: value}
    return value


def _find_all(path: Path, root: Json) -> Json:
    nodes: Sequence[Json] = [root]
    # As Jayway does: a step that does not fit its value is an error in the definite beginning of the path, and selects
    # nothing after the first wildcard, slice, filter or descent. A missing field is no error, other than in Jayway:
    # ``$.missing[*]`` is ``[]`` in a payload template of Step Functions (observed: localstack/localstack#12318).
    is_definite = True
    for step in path.steps:
        if step.inside is not None:
            # The values inside of values inside are the same ones: their number multiplies with each descent.
            nodes, step = _limited(path, path_steps.descendants(*nodes)), step.inside  # noqa: PLW2901 - split in two
            nodes = [found for node in nodes for found in step.select(node, root) or ()]
            is_definite = False
            continue
        selections = [step.select(node, root) for node in nodes]
        if is_definite and None in selections:
            raise PathNotFound(path, root)
        nodes = [node for selection in selections if selection is not None for node in selection]
        is_definite = is_definite and step.is_definite and bool(nodes)
    if not path.is_definite:
        return nodes
    if not nodes:
        raise PathNotFound(path, root)
    return nodes[0]


def _limited(path: Path, nodes: Iterator[Json]) -> list[Json]:
    found = list(islice(nodes, MAX_VISITED + 1))
    if len(found) > MAX_VISITED:
        raise RuntimeFailure(f"The path '{path}' visits more than {MAX_VISITED} values; select fewer before each ..")
    return found


def _reason(path: Path, root: Json) -> str:
    # The three texts are Jayway's, which AWS records.
    prefix, node = path.root_text, root
    for step in path.steps[:-1]:
        selection = step.select(node, root)
        if not selection:
            return f"Missing property in path {prefix}{step.text}" if _fits(step, node) else _misfit(step, node, prefix)
        prefix, node = prefix + step.text, selection[0]
    last = path.steps[-1]
    return f"No results for path: {path}" if _fits(last, node) else _misfit(last, node, prefix)


def _fits(step: Step, node: Json) -> bool:
    return step.key is not None and isinstance(node, dict if isinstance(step.key, str) else list)


def _misfit(step: Step, node: Json, prefix: str) -> str:
    return f"Expected to find something with {step.text} in path {prefix} but found {excerpt(node)}"
