"""Edits of one file of a CDK app, and the places of it that a person must decide about."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import takewhile
from typing import NamedTuple

import libcst

from unum_cli.migration import decisions
from unum_cli.migration.app_names import (
    STATES,
    UNUM,
    Chain,
    Names,
    dotted_name,
    keywords,
    names_in_text,
    root_of,
    text_of,
)
from unum_cli.migration.decisions import Decision

_LINE = re.compile(r"[^\n]*\n|[^\n]+")

_NO_NEWLINE = "\\ No newline at end of file"
"""What `diff` and `patch` write below a last line without a line break."""

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

_CDK = ("aws_cdk", "constructs")


class Edit(NamedTuple):
    """Replacement of a span.

    Attributes:
        start: first byte of the span, in UTF-8.
        end: first byte after it.
        text: what takes its place.
    """

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` with all `edits`, whose spans do not overlap."""
    found, parts, at = text.encode(), [], 0
    for edit in sorted(edits):
        parts += [found[at : edit.start], edit.text.encode()]
        at = edit.end
    return b"".join([*parts, found[at:]]).decode()


def lines_of(text: str) -> list[str]:
    """Return the lines with their line breaks, as `diff` counts them: form feeds and the like end no line."""
    return _LINE.findall(text)


def diff_text(old: str, new: str, name: str) -> str:
    """Return the unified diff of two texts of the file `name`, for `patch -p1` and `git apply`."""
    label = name.lstrip("/")
    lines = unified_diff(lines_of(old), lines_of(new), f"a/{label}", f"b/{label}")
    return "".join(each if each.endswith("\n") else f"{each}\n{_NO_NEWLINE}\n" for each in lines)


def moved_line(old: str, new: str, number: int) -> int:
    """Return the number in `new` of line `number` of `old`, or of the line in its place."""
    at = number - 1
    matcher = SequenceMatcher(None, lines_of(old), lines_of(new), autojunk=False)
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        if start <= at < end:
            return max(min(new_start + at - start, new_end - 1), new_start) + 1
    return number


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
        """Note the edit or decision for a name that is read."""
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


def import_edit(names: Names, wanted: Sequence[str], first_use: int) -> Edit | None:
    """Return the edit that imports the classes `wanted` at the top of the file; None if it has them.

    Args:
        names: the file.
        wanted: classes of `unum_constructs`.
        first_use: first byte of the first use.
    """
    imports = list(_imports_at_the_top(names, first_use))
    have = {name for each in imports for name in _names_from_unum(each)}
    missing = sorted({*wanted} - have)
    if not missing:
        return None
    same = [each for each in imports if _names_from_unum(each)]
    if same:
        return _longer_import(names, same[0], missing)
    newline = names.module.default_newline
    line = f"from {UNUM} import {', '.join(missing)}{newline}"
    before = _place(imports)
    if before is None:
        return _at_the_top(names, line)
    return _after(names, before, line)


def _imports_at_the_top(names: Names, first_use: int) -> Iterator[libcst.SimpleStatementLine]:
    """Yield the imports of the module before its first class, function and use."""
    body = takewhile(lambda each: not isinstance(each, libcst.ClassDef | libcst.FunctionDef), names.module.body)
    for each in body:
        if names.span(each)[1] > first_use:
            return
        if isinstance(each, libcst.SimpleStatementLine) and _import_of(each) is not None:
            yield each


def _import_of(line: libcst.SimpleStatementLine) -> libcst.Import | libcst.ImportFrom | None:
    """Return the last import on the line."""
    found = [each for each in line.body if isinstance(each, libcst.Import | libcst.ImportFrom)]
    return found[-1] if found else None


def _names_from_unum(line: libcst.SimpleStatementLine) -> set[str]:
    """Return the classes that the line imports from the package under their own names."""
    found = _import_of(line)
    if (
        not isinstance(found, libcst.ImportFrom)
        or _module_of(found) != UNUM
        or isinstance(found.names, libcst.ImportStar)
    ):
        return set()
    return {each.evaluated_name for each in found.names if each.asname is None} or {""}


def _module_of(found: libcst.Import | libcst.ImportFrom) -> str:
    """Return the module of an import, as it is sorted; relative ones go last."""
    if isinstance(found, libcst.Import):
        return dotted_name(found.names[0].name) or ""
    dots = "~" * len(found.relative)
    return dots + (dotted_name(found.module) or "" if found.module else "")


def _place(imports: Sequence[libcst.SimpleStatementLine]) -> libcst.SimpleStatementLine | None:
    """Return the import after which the new one stands: in the group of the CDK's, in the order of the alphabet."""
    ours = [index for index, each in enumerate(imports) if _root(each) in _CDK]
    if not ours:
        return imports[-1] if imports else None
    at = ours[-1]
    following = takewhile(lambda each: not each.leading_lines and _root(each).lower() < UNUM, imports[at + 1 :])
    return imports[at + len(list(following))]


def _root(line: libcst.SimpleStatementLine) -> str:
    found = _import_of(line)
    return _module_of(found).partition(".")[0] if found else ""


def _after(names: Names, before: libcst.CSTNode, line: str) -> Edit:
    """Return the edit that puts `line` after the line of `before`."""
    text = names.module.code.encode()
    end = text.find(b"\n", names.span(before)[1])
    if end < 0:
        return Edit(len(text), len(text), f"{names.module.default_newline}{line}")
    return Edit(end + 1, end + 1, line)


def _at_the_top(names: Names, line: str) -> Edit:
    """Return the edit for a file without imports: below its docstring."""
    newline, body = names.module.default_newline, names.module.body
    if names.module.get_docstring() is not None:
        return _after(names, body[0], f"{newline}{line}")
    start = names.span(body[0])[0]
    return Edit(start, start, f"{line}{newline}")


def _longer_import(names: Names, line: libcst.SimpleStatementLine, missing: Sequence[str]) -> Edit:
    """Return the edit that adds the classes to an import, with the commas and line breaks that it has."""
    found = _import_of(line)
    assert isinstance(found, libcst.ImportFrom)  # noqa: S101 - `_names_from_unum` has seen it
    assert not isinstance(found.names, libcst.ImportStar)  # noqa: S101 - the same
    aliases, code = list(found.names), names.module.code.encode()
    spans = [names.span(each) for each in aliases]
    between = code[spans[0][1] : spans[1][0]].decode() if len(spans) > 1 else ", "
    between = ", " if "#" in between else between
    # By the alphabet, if the names there are.
    later = next((at for at, each in enumerate(aliases) if each.evaluated_name > missing[0]), None)
    added = between.join(missing)
    if later is None:
        end = names.span(aliases[-1].name if aliases[-1].asname is None else aliases[-1].asname.name)[1]
        return Edit(end, end, f"{between}{added}")
    start = spans[later][0]
    return Edit(start, start, f"{added}{between}")


def unread_edits(names: Names, replaced: set[str]) -> Iterator[Edit]:
    """Yield edits that delete imports of `aws_stepfunctions` that nothing reads any more.

    Args:
        names: the file with all other edits.
        replaced: names that it read before.
    """
    code = names.module.code
    for found, bound in names.unread_imports():
        statement = found.node
        is_exported = "__all__" in code and (f'"{bound}"' in code or f"'{bound}'" in code)
        if bound not in replaced or is_exported:
            continue
        name = names.meaning(bound, statement).name
        if isinstance(statement, libcst.Import | libcst.ImportFrom) and f"{name}.".startswith(f"{STATES}."):
            edit = _without(names, statement, bound)
            if edit is not None:
                yield edit


def _without(names: Names, statement: libcst.Import | libcst.ImportFrom, bound: str) -> Edit | None:
    """Return the edit that deletes `bound` from an import; None where a comment or an empty block would be lost."""
    assert not isinstance(statement.names, libcst.ImportStar)  # noqa: S101 - a star binds no name here
    aliases, code = list(statement.names), names.module.code.encode()
    at = next(index for index, each in enumerate(aliases) if (each.evaluated_alias or each.evaluated_name) == bound)
    if len(aliases) == 1:
        start, end = _whole_line(names, statement, code)
    elif at + 1 < len(aliases):
        start, end = names.span(aliases[at])[0], names.span(aliases[at + 1])[0]
    else:
        start, end = _end_of(names, aliases[at - 1]), _end_of(names, aliases[at])
    return None if start == end or b"#" in code[start:end] else Edit(start, end, "")


def _end_of(names: Names, alias: libcst.ImportAlias) -> int:
    """Return the first byte after an alias, without its comma."""
    return names.span(alias.name if alias.asname is None else alias.asname.name)[1]


def _whole_line(names: Names, statement: libcst.CSTNode, code: bytes) -> tuple[int, int]:
    """Return the span of a statement's line; an empty one if it must stay."""
    line = names.parent(statement)
    block = names.parent(line) if line is not None else None
    is_alone = isinstance(line, libcst.SimpleStatementLine) and len(line.body) == 1
    has_others = isinstance(block, libcst.Module | libcst.IndentedBlock) and len(block.body) > 1
    if line is None or not (is_alone and has_others):
        return 0, 0
    start, end = names.span(line)
    return code.rfind(b"\n", 0, start) + 1, (code.find(b"\n", end) + 1) or len(code)
