"""What the names of a module stand for, by its imports and scopes; nothing is imported or run."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import libcst
from libcst.metadata import (
    Assignment,
    BaseAssignment,
    ByteSpanPositionProvider,
    ImportAssignment,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    ScopeProvider,
)

STATES = "aws_cdk.aws_stepfunctions"
"""Module of the CDK with `StateMachine`."""

UNUM = "unum_constructs"
"""Package with `UnumWorkflow`."""

Chain: TypeAlias = "libcst.Name | libcst.Attribute"
"""Dotted name, such as ``sfn.StateMachine``."""

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class Meaning(NamedTuple):
    """What a dotted name stands for.

    Attributes:
        name: full name, such as ``aws_cdk.aws_stepfunctions.StateMachine``; empty for an unknown origin.
        is_certain: False if the name is bound in several ways, of which `name` is one.
        is_own_class: True for a class that this file defines.
    """

    name: str
    is_certain: bool = True
    is_own_class: bool = False


class Names:
    """Nodes of a module with their names, places and parents.

    Attributes:
        module: the syntax tree.

    Raises:
        libcst.ParserSyntaxError: the text is no Python.
        ValueError: its places cannot be told.
    """

    def __init__(self, text: str) -> None:
        wrapper = MetadataWrapper(libcst.parse_module(text), unsafe_skip_copy=True)
        self.module = wrapper.module
        if self.module.code != text:
            raise ValueError("libcst reads it otherwise than it is written")  # then its places are others
        self._spans = wrapper.resolve(ByteSpanPositionProvider)
        self._places = wrapper.resolve(PositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._scope_of = wrapper.resolve(ScopeProvider)
        self._scopes = {each for each in self._scope_of.values() if each is not None}
        self._read = {root_of(access.node) for scope in self._scopes for access in scope.accesses}

    def span(self, node: libcst.CSTNode) -> tuple[int, int]:
        """Return the first byte of `node`, and the first one after it, without parentheses around it."""
        found = self._spans[node]
        return found.start, found.start + found.length

    def line(self, node: libcst.CSTNode) -> int:
        """Return the number of the line where `node` begins."""
        return int(self._places[node].start.line)

    def parent(self, node: libcst.CSTNode) -> libcst.CSTNode | None:
        """Return the node around `node`."""
        return self._parents.get(node)

    def parents(self, node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
        """Yield the nodes around `node`, from the inside."""
        found = self.parent(node)
        while found is not None:
            yield found
            found = self.parent(found)

    def is_read(self, root: libcst.Name) -> bool:
        """Return True if `root` is a variable that is read, and no keyword, attribute or definition."""
        return root in self._read

    def meaning(self, dotted: str, node: libcst.CSTNode) -> Meaning:
        """Return what the name `dotted` stands for at `node`."""
        root, _, rest = dotted.partition(".")
        scope = self._scope_of.get(node)
        bound = scope[root] if scope else set()
        found = {_imported_name(each, root) for each in bound}
        imported = {f"{name}.{rest}" if rest else name for name in found if name is not None}
        if imported:
            # Ours first: what is reported is the doubt about it.
            ours = min(imported, key=lambda name: (not name.startswith(f"{STATES}."), name))
            return Meaning(ours, is_certain=len(imported) == 1 and None not in found)
        own = any(isinstance(each, Assignment) and isinstance(each.node, libcst.ClassDef) for each in bound)
        return Meaning("", is_own_class=own and not rest)

    def is_bound(self, name: str) -> bool:
        """Return True if any scope binds `name`, other than by its import from ``unum_constructs``."""
        return any(
            _imported_name(each, name) != f"{UNUM}.{name}" for scope in self._scopes for each in scope.assignments[name]
        )

    def unread_imports(self) -> Iterator[tuple[ImportAssignment, str]]:
        """Yield imports that bind a name alone and that nothing reads, with the name."""
        for scope in self._scopes:
            for found in scope.assignments:
                same = list(scope.assignments[found.name])
                if isinstance(found, ImportAssignment) and len(same) == 1 and not found.references:
                    yield found, found.name


def _imported_name(assignment: BaseAssignment, bound: str) -> str | None:
    """Return the full name of what the import `assignment` binds to `bound`; None for no import."""
    if not isinstance(assignment, ImportAssignment):
        return None
    module = assignment.get_module_name_for_import()
    names = getattr(assignment.node, "names", ())
    for each in names if not isinstance(names, libcst.ImportStar) else ():
        name = dotted_name(each.name) or ""
        if isinstance(assignment.node, libcst.Import) and each.asname is None:
            name = name.partition(".")[0]  # `import a.b` binds a
        if (each.evaluated_alias or name) == bound:
            return f"{module}.{name}" if module else name
    return None


def root_of(node: libcst.CSTNode) -> libcst.CSTNode:
    """Return the first name of a dotted name."""
    while isinstance(node, libcst.Attribute):
        node = node.value
    return node


def dotted_name(node: libcst.CSTNode) -> str | None:
    """Return the text of a dotted name; None for other expressions, also for ``f().x``."""
    if isinstance(node, libcst.Name):
        return node.value
    before = dotted_name(node.value) if isinstance(node, libcst.Attribute) else None
    return None if before is None or not isinstance(node, libcst.Attribute) else f"{before}.{node.attr.value}"


def names_in_text(text: libcst.SimpleString) -> Iterator[tuple[str, int]]:
    """Yield the dotted names in an annotation that is a string, with their distance from its first byte.

    A string with escapes has none: distances in its source are not those in its value.
    """
    if "\\" in text.value or "f" in text.prefix or "b" in text.prefix:
        return
    for found in _DOTTED.finditer(text.value, len(text.prefix) + len(text.quote)):
        yield found[0], len(text.value[: found.start()].encode())


def keywords(call: libcst.Call) -> Mapping[str, libcst.BaseExpression]:
    """Return the keyword arguments of a call."""
    return {each.keyword.value: each.value for each in call.args if each.keyword is not None}


def text_of(node: libcst.CSTNode | None) -> str | None:
    """Return the value of a string literal; None for other expressions."""
    value = node.evaluated_value if isinstance(node, libcst.SimpleString) else None
    return value if isinstance(value, str) else None
