"""Mutants of the protocol, its features and the stores: every operator of mutmut and of `operators` at every place.

mutmut's own driver leaves out decorated functions and module level; here its operators see whole modules. What mutmut
never mutates stays out: annotations, docstrings, calls of `len` and `isinstance`.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from types import CodeType
from typing import Any, TypeAlias

import libcst
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper
from mutmut.mutation.file_mutation import NEVER_MUTATE_FUNCTION_CALLS
from mutmut.mutation.mutators import mutation_operators

from tests.mutation.operators import FURTHER, MUTMUT, operators_of, unmutated

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "runtime_layer" / "python"
RUNTIME = PYTHON / "unum_runtime"
_FEATURES = (
    "bucket_state",
    "document_stores",
    "eager_collection",
    "memo",
    "regions",
    "signals",
    "status_events",
    "task_tokens",
    "timers",
    "waves",
)
_TIMER_QUEUE = ("schedules", "timer_function", "sqs_timer")
FOLDERS = (RUNTIME / "protocol", RUNTIME / "store", *(RUNTIME / "features" / name for name in _FEATURES))
OF_STORES = ("store", "features/bucket_state", "features/document_stores")
"""Rooms with stores."""

RECORDS_AND_PORTS = frozenset(
    RUNTIME / "features" / name
    for name in (
        *("memo/memo_keys.py", "regions/region.py", "signals/mailbox.py", "status_events/event_bus.py"),
        *(f"timers/{each}.py" for each in _TIMER_QUEUE),
    )
)
"""Modules of features that belong to no protocol, like the rooms `model` and `aws`."""

STORES = (
    PYTHON / "unum_azure" / "cosmos.py",
    PYTHON / "unum_google" / "firestore.py",
    PYTHON / "unum_simulator" / "memory_store.py",
)
"""Modules of other distributions that are mutated."""

TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
CONTEXT = 60
"""Characters shown on each side of a change."""


@dataclass(frozen=True)
class Mutant:
    """One change of one place.

    Attributes:
        module: path of the module below `RUNTIME`, or of one of `STORES` below `PYTHON`.
        scope: qualified name of the outermost function around the change, or "" at module or class level.
        line: first line of that function with its decorators, or of the change.
        changed: numbers of the changed lines.
        change: the changed line with the change in brackets, unique within the scope.
        start: first changed byte.
        end: byte after the last changed one.
        text: replacement of the bytes between.
        kind: kind of the operator.
    """

    module: str
    scope: str
    line: int
    changed: range
    change: str
    start: int
    end: int
    text: str
    kind: str = MUTMUT

    @property
    def name(self) -> str:
        """Module, scope and change; stable while other places are edited."""
        return f"{self.module} {self.scope or 'module'}: {self.change}"

    @property
    def room(self) -> str:
        """Folder of the module, e.g. "protocol/control"."""
        return self.module.rpartition("/")[0]

    @property
    def path(self) -> Path:
        """Path of the mutated file."""
        return path_of(self.module)

    def code(self) -> CodeType | None:
        """Return the code of the mutated module; None if the mutant is no valid Python."""
        source = self.path.read_bytes()
        try:
            return compile(source[: self.start] + self.text.encode() + source[self.end :], self.path, "exec")
        except SyntaxError:
            return None


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Return the mutants of all modules."""
    return tuple(mutant for path in mutated_paths() for mutant in mutants_of(path))


def mutated_paths() -> list[Path]:
    """Return the paths of all mutated modules."""
    inside = (path for folder in FOLDERS for path in sorted(folder.rglob("*.py")))
    return [*(path for path in inside if path not in RECORDS_AND_PORTS), *STORES]


def module_of(path: Path) -> str:
    """Return the name that mutants of the file at `path` have."""
    return path.relative_to(PYTHON if path in STORES else RUNTIME).as_posix()


def path_of(module: str) -> Path:
    """Return the path of a module by its name; the inverse of `module_of`."""
    return PYTHON / module if PYTHON / module in STORES else RUNTIME / module


def sample(mutants: tuple[Mutant, ...], size: int, seed: str) -> list[Mutant]:
    """Return `size` mutants; a change of code elsewhere replaces none of them, as a choice by index would."""
    return sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())[:size]


def of_kind(mutants: tuple[Mutant, ...], kind: str) -> tuple[Mutant, ...]:
    """Return the mutants of `kind`: mutmut's, all others, those of one operator, or with "" all."""
    if kind == FURTHER:
        return tuple(mutant for mutant in mutants if mutant.kind != MUTMUT)
    return tuple(mutant for mutant in mutants if kind in ("", mutant.kind))


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of one module; some are no valid Python, see `Mutant.code`."""
    source = path.read_bytes()
    parsed = libcst.parse_module(source)
    visitor = _Places(source, parsed)
    MetadataWrapper(parsed, unsafe_skip_copy=True).visit(visitor)
    seen: Counter[tuple[str, str]] = Counter()
    # mutmut's come first: others must not change the numbers in their names.
    for scope, line, start, end, text, kind in [*visitor.found, *visitor.further]:
        change = _change(source, start, end, text)
        seen[scope, change] += 1
        number = f" #{seen[scope, change]}" if seen[scope, change] > 1 else ""
        changed = range(_line(source, start), _line(source, end) + 1)
        yield Mutant(module_of(path), scope, line, changed, change + number, start, end, text, kind)


def _line(source: bytes, byte: int) -> int:
    return source.count(b"\n", 0, byte) + 1


def _change(source: bytes, start: int, end: int, text: str) -> str:
    """Return the changed line in one line, e.g. `read(keys, consistent=[True → False])`."""
    old, new = (TOKEN.findall(_one_line(code)) for code in (source[start:end].decode(), text))
    head = _equal(old, new)
    tail = _equal(old[head:][::-1], new[head:][::-1])
    before = _one_line(source[:start].decode().rpartition("\n")[2] + "".join(old[:head]))
    after = _one_line("".join(old[len(old) - tail :]) + source[end:].decode().partition("\n")[0])
    middle = " → ".join(_one_line("".join(each[head : len(each) - tail])) for each in (old, new))
    return f"{before[-CONTEXT:]}[{middle}]{after[:CONTEXT]}"


def _equal(one: list[str], other: list[str]) -> int:
    """Return how many tokens at the beginning are equal."""
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))])


def _one_line(code: str) -> str:
    return re.sub(r"(?<=[(\[{]) | ?(?:, )?(?=[)\]}])", "", re.sub(r"\s+", " ", code).strip())


_Place: TypeAlias = tuple[str, int, int, int, str, str]
"""Scope, line, first byte, byte after the last, replacement and kind."""


class _Places(libcst.CSTVisitor):
    """Collects the places of all mutations."""

    METADATA_DEPENDENCIES = (ByteSpanPositionProvider,)

    def __init__(self, source: bytes, module: libcst.Module) -> None:
        super().__init__()
        self.found: list[_Place] = []
        self.further: list[_Place] = []
        self._source, self._module = source, module
        self._names: list[str] = []
        self._outer: list[libcst.FunctionDef] = []
        self._outer_name = ""
        self._at_definition: list[libcst.CSTNode] = []
        self._unmutated: set[libcst.CSTNode] = set()

    def on_visit(self, node: libcst.CSTNode) -> bool:
        if _is_never_mutated(node):
            return False
        if isinstance(node, libcst.FunctionDef | libcst.ClassDef):
            self._names.append(node.name.value)
        if isinstance(node, libcst.FunctionDef):
            self._outer_name = self._outer_name if self._outer else ".".join(self._names)
            self._outer.append(node)
        if isinstance(node, libcst.Decorator | libcst.Parameters):
            self._at_definition.append(node)
        for operator in _mutmut_operators_of(type(node)):
            for mutated in operator(node):
                self._add(node, mutated)
        self._unmutated.update(unmutated(node))
        for kind, operator in () if node in self._unmutated else operators_of(type(node)):
            for replaced, text in operator(node):
                self.further.append(self._place(replaced, text, kind))
        return True

    def on_leave(self, original_node: libcst.CSTNode) -> None:
        if _is_never_mutated(original_node):
            return
        if isinstance(original_node, libcst.FunctionDef | libcst.ClassDef):
            self._names.pop()
        if isinstance(original_node, libcst.FunctionDef):
            self._outer.pop()
        if isinstance(original_node, libcst.Decorator | libcst.Parameters):
            self._at_definition.pop()

    def _add(self, node: libcst.CSTNode, mutated: libcst.CSTNode) -> None:
        if isinstance(node, libcst.Match):  # its lines have an indentation, which only the whole module knows
            start = self.get_metadata(ByteSpanPositionProvider, node).start
            text = _with_indent(self._module.code_for_node(mutated), self._column(start))
        else:
            text = self._module.code_for_node(_without_equal_parentheses(node, mutated)).strip()
        self.found.append(self._place(node, text, MUTMUT))

    def _place(self, node: libcst.CSTNode, text: str, kind: str) -> _Place:
        span = self.get_metadata(ByteSpanPositionProvider, node)
        return *self._scope(span), span.start, span.start + span.length, text, kind

    def _scope(self, span: CodeSpan) -> tuple[str, int]:
        """Return the function that holds the change in its code, which defaults and decorators are not part of."""
        outside = len(self._outer) == 1 and self._at_definition
        if not self._outer or outside:
            return "", _line(self._source, span.start)
        function = self._outer[0]
        first = function.decorators[0] if function.decorators else function
        start = self.get_metadata(ByteSpanPositionProvider, first).start
        return self._outer_name, _line(self._source, start)

    def _column(self, byte: int) -> int:
        return byte - self._source.rfind(b"\n", 0, byte) - 1


@cache
def _mutmut_operators_of(kind: type[libcst.CSTNode]) -> list[Any]:
    """Return the operators for nodes of the class `kind`, of which there are few."""
    return [operator for each, operator in mutation_operators if issubclass(kind, each)]


def _is_never_mutated(node: libcst.CSTNode) -> bool:
    if isinstance(node, libcst.Call) and isinstance(node.func, libcst.Name):
        return node.func.value in NEVER_MUTATE_FUNCTION_CALLS
    return isinstance(node, libcst.Annotation | libcst.ImportFrom | libcst.Import)


def _without_equal_parentheses(node: Any, mutated: Any) -> Any:
    """Return `mutated` without the parentheses of `node`, which are not part of its span."""
    if getattr(node, "lpar", ()) and getattr(mutated, "lpar", None) == node.lpar:
        return mutated.with_changes(lpar=[], rpar=[])
    return mutated


def _with_indent(code: str, column: int) -> str:
    first, *rest = code.strip().splitlines()
    return "\n".join([first, *(" " * column + line if line else line for line in rest)])
