"""Imports of a migrated file: one for `UnumWorkflow`, and none that nothing reads."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

import libcst

from unum_cli.migration.app_names import STATES, UNUM, Names, dotted_name
from unum_cli.migration.text_edits import Edit

_CDK = ("aws_cdk", "constructs")


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
