"""Edits of one file of a CDK app, and the places of it that a person must decide about."""

from collections.abc import Mapping
from typing import NamedTuple

import libcst

from unum_cli.migration import decisions
from unum_cli.migration.app_imports import import_edit, unread_edits
from unum_cli.migration.app_names import (
    STATES,
    Chain,
    Names,
    dotted_name,
    keywords,
    names_in_text,
    root_of,
    text_of,
)
from unum_cli.migration.decisions import Decision
from unum_cli.migration.text_edits import Edit, apply_edits

CLASSES: Mapping[str, str] = {f"{STATES}.StateMachine": "UnumWorkflow", f"{STATES}.IStateMachine": "IUnumWorkflow"}
"""Classes of the CDK, and what takes their places."""

_OF_STATE_MACHINES = {
    "definition",
    "definition_body",
    "definition_substitutions",
    "state_machine_name",
    "state_machine_type",
}
"""Arguments by which a call of an unknown `StateMachine` is taken for one of the CDK's."""

_GRANTS = {"grant_execution", "execution", "actions"}
"""Methods of workflows that take actions of Step Functions."""


class Rewritten(NamedTuple):
    """Result for one file.

    Attributes:
        text: the file's text with all edits.
        edits: number of edits.
        decisions: what a person must decide, by lines of the text before.
    """

    text: str
    edits: int
    decisions: tuple[Decision, ...]


def rewrite(text: str, *, is_package: bool = False) -> Rewritten:
    """Return the edits of a file.

    Args:
        text: its text.
        is_package: True for ``__init__.py``, whose imports other files may read.

    Raises:
        libcst.ParserSyntaxError: the text is no Python.
    """
    names = Names(text)
    visitor = _Visitor(names)
    names.module.visit(visitor)
    found = {*visitor.decisions, *visitor.doubts()}
    wanted = sorted({*visitor.edits.values()})
    taken = [each for each in wanted if names.is_bound(each)]
    if taken:
        line = min(names.line(node) for node in visitor.nodes)
        found |= {Decision(line, decisions.TAKEN.format(new=each)) for each in taken}
        return Rewritten(text, 0, tuple(sorted(found)))
    edits = [Edit(start, end, new) for (start, end), new in visitor.edits.items()]
    if edits:
        added = import_edit(names, wanted, min(edits).start)
        edits += [added] if added is not None else []
    new, number = apply_edits(text, edits), len(edits)
    if edits and not is_package:
        # One at a time: two names of one import have a comma in common.
        while unread := next(unread_edits(Names(new), visitor.replaced), None):
            new, number = apply_edits(new, [unread]), number + 1
    return Rewritten(new, number, tuple(sorted(found)))


class _Visitor(libcst.CSTVisitor):
    """Search for names of the CDK.

    Attributes:
        edits: new names by spans.
        nodes: nodes at these spans.
        replaced: first names of what is edited, such as ``sfn``.
        decisions: what a person must decide.
    """

    def __init__(self, names: Names) -> None:
        super().__init__()
        self.edits: dict[tuple[int, int], str] = {}
        self.nodes: list[libcst.CSTNode] = []
        self.replaced: set[str] = set()
        self.decisions: set[Decision] = set()
        self._names = names
        self._code = names.module.code.encode()
        self._annotations = 0
        self._stars: list[int] = []
        self._unknown: list[Decision] = []
        self._machines: set[str] = set()
        self._members: list[tuple[str, str, int]] = []

    def doubts(self) -> set[Decision]:
        """Return what only the whole file tells: star imports that matter, and members of workflows."""
        found = {*self._unknown}
        if self._unknown:
            found |= {Decision(line, decisions.STAR) for line in self._stars}
        found |= {
            Decision(line, decisions.MEMBERS[member])
            for owner, member, line in self._members
            if owner in self._machines
        }
        return found

    def visit_Import(self, node: libcst.Import) -> bool:  # noqa: N802 - the name of the node
        for each in node.names:
            self._decide(node, decisions.about_module(dotted_name(each.name) or ""))
        return False

    def visit_ImportFrom(self, node: libcst.ImportFrom) -> bool:  # noqa: N802 - the same
        module = dotted_name(node.module) if node.module is not None and not node.relative else None
        if isinstance(node.names, libcst.ImportStar):
            if module == STATES:
                self._decide(node, decisions.STAR)
            self._stars.append(self._names.line(node))
            return False
        for each in node.names:
            self._decide(each, decisions.about_module(f"{module}.{dotted_name(each.name)}"))
        return False

    def visit_Annotation(self, node: libcst.Annotation) -> None:  # noqa: ARG002, N802 - as libcst calls it
        self._annotations += 1

    def leave_Annotation(self, original_node: libcst.Annotation) -> None:  # noqa: ARG002, N802 - the same
        self._annotations -= 1

    def visit_Name(self, node: libcst.Name) -> None:  # noqa: N802 - the same
        if self._names.is_read(node):
            self._see(node, node.value)

    def visit_Attribute(self, node: libcst.Attribute) -> bool:  # noqa: N802 - the same
        dotted, root = dotted_name(node), root_of(node)
        if dotted is None or not isinstance(root, libcst.Name):
            node.value.visit(self)
            return False
        for member in decisions.MEMBERS:
            owner, found, _ = f"{dotted}.".partition(f".{member}.")
            if found:
                self._members.append((owner, member, self._names.line(node)))
        if self._names.is_read(root):
            self._see(node, dotted)
        return False

    def visit_Call(self, node: libcst.Call) -> None:  # noqa: N802 - the same
        method = node.func.attr.value if isinstance(node.func, libcst.Attribute) else ""
        first = text_of(node.args[0].value) if node.args else None
        is_client = method == "client" and "stepfunctions" in (first, text_of(keywords(node).get("service_name")))
        # The boto3 of these modules knows workflows as well.
        if is_client and not self._name_of(node.func).startswith(("unum_stepfunctions.", "unum_task_responses.")):
            self._decide(node, decisions.CLIENT)
        self._decide(node, decisions.about_service(text_of(keywords(node).get("service"))))

    def visit_Arg(self, node: libcst.Arg) -> None:  # noqa: N802 - the same
        if node.keyword is not None:
            self._decide(node, decisions.about_keyword(node.keyword.value))

    def visit_SimpleString(self, node: libcst.SimpleString) -> None:  # noqa: N802 - the same
        text = text_of(node)
        if self._annotations:
            self._see_text(node)
        elif text is not None and not self._is_granted(node):
            self._decide(node, decisions.about_text(text))

    def _name_of(self, node: libcst.BaseExpression) -> str:
        """Return the full name of what `node` names; empty if no import tells it."""
        dotted = dotted_name(node)
        return "" if dotted is None else self._names.meaning(dotted, node).name

    def _is_granted(self, node: libcst.SimpleString) -> bool:
        """Return True for an argument of a grant of workflows, which takes actions of Step Functions."""
        calls = (each for each in self._names.parents(node) if isinstance(each, libcst.Call))
        function = getattr(next(calls, None), "func", None)
        return isinstance(function, libcst.Attribute) and function.attr.value in _GRANTS

    def _decide(self, node: libcst.CSTNode, text: str | None) -> None:
        if text is not None:
            self.decisions.add(Decision(self._names.line(node), text))

    def _see(self, node: Chain, dotted: str) -> None:
        """Note what to do about a name that is read."""
        meaning = self._names.meaning(dotted, node)
        whole = ".".join(meaning.name.split(".")[:3])
        if whole in CLASSES:
            if not meaning.is_certain:
                text = decisions.AMBIGUOUS.format(name=whole.rpartition(".")[2], new=CLASSES[whole])
                self._decide(node, text)
            else:
                self._see_class(node, whole, meaning.name.removeprefix(whole).removeprefix("."))
        elif meaning.name == STATES:
            self._decide(node, decisions.MODULE_AS_VALUE)
        elif meaning.name.startswith(("aws_cdk.", "aws_solutions_constructs.")):
            self._decide(node, decisions.about_name(meaning.name))
        elif not meaning.is_own_class:
            self._see_unknown(node, dotted)

    def _see_unknown(self, node: Chain, dotted: str) -> None:
        """Note a call that looks like one of `StateMachine`, by a name that other modules may have from the CDK."""
        call = self._names.parent(node)
        is_called = isinstance(call, libcst.Call) and call.func is node
        if dotted.rpartition(".")[2] == "StateMachine" and is_called and _OF_STATE_MACHINES & {*keywords(call)}:  # type: ignore[arg-type]
            self._unknown.append(Decision(self._names.line(node), decisions.UNKNOWN))

    def _see_class(self, node: Chain, name: str, member: str) -> None:
        """Note what to do about `StateMachine` or `IStateMachine`, or about its static method `member`."""
        new, parent = CLASSES[name], self._names.parent(node)
        is_called = isinstance(parent, libcst.Call) and parent.func is node
        if member == "from_state_machine_name" and is_called:
            self._edit(_head(node, 1), new)
            self._decide(node, decisions.BY_NAME)
        elif member == "from_state_machine_arn":
            self._decide(node, decisions.BY_ARN)
        elif not member and (self._annotations or (is_called and new == "UnumWorkflow")):
            self._edit(node, new)
            if is_called:
                self._note_machine(parent)
        elif not member and self._is_base(node):
            self._decide(node, decisions.SUBCLASS)
        else:
            self._decide(node, decisions.OTHER_USE.format(name=name.rpartition(".")[2], new=new))

    def _is_base(self, node: libcst.CSTNode) -> bool:
        argument = self._names.parent(node)
        definition = self._names.parent(argument) if argument is not None else None
        return isinstance(definition, libcst.ClassDef) and argument in definition.bases

    def _note_machine(self, call: libcst.CSTNode | None) -> None:
        """Remember the names that a call's result is bound to."""
        bound = self._names.parent(call) if call is not None else None
        targets: list[libcst.CSTNode] = []
        targets += [each.target for each in bound.targets] if isinstance(bound, libcst.Assign) else []
        targets += [bound.target] if isinstance(bound, libcst.AnnAssign | libcst.NamedExpr) else []
        self._machines |= {name for name in map(dotted_name, targets) if name is not None}

    def _edit(self, node: libcst.CSTNode, new: str) -> None:
        """Replace `node`."""
        start, end = self._names.span(node)
        if b"#" in self._code[start:end]:
            name = dotted_name(node)
            self._decide(node, decisions.COMMENT_WITHIN.format(name=name, new=new))
            return
        self._replace(node, (start, end), new, str(getattr(root_of(node), "value", "")))

    def _see_text(self, node: libcst.SimpleString) -> None:
        """Replace names in an annotation that is a string."""
        start, _ = self._names.span(node)
        for dotted, distance in names_in_text(node):
            meaning = self._names.meaning(dotted, node)
            if meaning.name not in CLASSES:
                continue
            new = CLASSES[meaning.name]
            if meaning.is_certain:
                span = start + distance, start + distance + len(dotted.encode())
                self._replace(node, span, new, dotted.partition(".")[0])
            else:
                self._decide(node, decisions.AMBIGUOUS.format(name=meaning.name.rpartition(".")[2], new=new))

    def _replace(self, node: libcst.CSTNode, span: tuple[int, int], new: str, root: str) -> None:
        self.edits[span] = new
        self.nodes.append(node)
        self.replaced.add(root)


def _head(node: libcst.BaseExpression, members: int) -> libcst.BaseExpression:
    """Return a dotted name without its last `members`."""
    for _ in range(members):
        node = node.value if isinstance(node, libcst.Attribute) else node
    return node
