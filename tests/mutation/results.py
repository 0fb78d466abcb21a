"""Results of trials, kept in a file, so that a trial of all mutants can be stopped and continued.

A result holds as long as what it depends on is the same: the function around the change; and the file of the test that
killed the mutant, or, if it survived, the files of all tests that were tried. A trial may also take results of the same
function whatever has become of the tests: then it tries new code alone.
"""

import ast
import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from tests.mutation.mutants import ROOT, Mutant, path_of
from tests.mutation.trial import Verdict


@dataclass
class Results:
    """Known results.

    Attributes:
        path: a file with one JSON object for each result; later ones replace earlier ones.
    """

    path: Path
    _lines: dict[str, tuple[str, str, Verdict]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                fields = json.loads(line)
                self._lines[fields["mutant"]] = (fields.pop("key"), fields.pop("code", ""), Verdict(**fields))

    def known(self, mutant: Mutant, tests: Iterable[str], *, of_same_code: bool = False) -> Verdict | None:
        """Return the result of `mutant`; None if it was never tried, or if code or tests have changed since.

        Args:
            mutant: the mutant.
            tests: ids of the tests that a trial would run.
            of_same_code: take the result of the same function, whatever has become of the tests.
        """
        if mutant.name not in self._lines:
            return None
        key, code, verdict = self._lines[mutant.name]
        if of_same_code and code == _digest([_function(mutant)]):
            return verdict
        return verdict if key == _key(mutant, verdict, tests) else None

    def is_tried(self, mutant: Mutant) -> bool:
        """Return True if the mutant was tried, with whichever code and tests."""
        return mutant.name in self._lines

    def killer(self, mutant: Mutant) -> str:
        """Return the test that killed the mutant in the last trial; empty without one."""
        return self._lines[mutant.name][2].by if mutant.name in self._lines else ""

    def add(self, mutant: Mutant, verdict: Verdict, tests: Iterable[str]) -> None:
        """Append a result to the file."""
        key, code = _key(mutant, verdict, tests), _digest([_function(mutant)])
        self._lines[mutant.name] = (key, code, verdict)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**asdict(verdict), "key": key, "code": code}, ensure_ascii=False) + "\n")


def _key(mutant: Mutant, verdict: Verdict, tests: Iterable[str]) -> str:
    tried = [verdict.by] if "::" in verdict.by else [] if verdict.is_dead else tests
    files = sorted({test.partition("::")[0] for test in tried})
    return _digest([_function(mutant), *(_file(name) for name in files)])


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _function(mutant: Mutant) -> str:
    """Return the text of the function around the change, with the change; the line outside of functions."""
    own = _functions(mutant.module).get((mutant.scope, mutant.line), "")
    return f"{own}\0{mutant.name}\0{mutant.text}"


@cache
def _functions(module: str) -> dict[tuple[str, int], str]:
    """Return the code of every outermost function by qualified name and first line, without comments and docstrings."""
    text = path_of(module).read_text(encoding="utf-8")
    found: dict[tuple[str, int], str] = {}
    stack: list[tuple[str, ast.AST]] = [("", ast.parse(text))]
    while stack:
        prefix, node = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                found[prefix + child.name, first] = ast.unparse(_without_docstrings(child))
            elif isinstance(child, ast.ClassDef):
                stack.append((f"{prefix}{child.name}.", child))
            else:
                stack.append((prefix, child))
    return found


def _without_docstrings(function: ast.AST) -> ast.AST:
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node) is not None:
            node.body[:1] = [] if node.body[1:] else [ast.Pass()]
    return function


@cache
def _file(name: str) -> str:
    path = ROOT / name
    return _digest([path.read_text(encoding="utf-8")]) if path.is_file() else ""
