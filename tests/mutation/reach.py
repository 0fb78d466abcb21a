"""Measure which tests execute each block of the protocol and the stores, and the processor time of each test.

`python -m tests.mutation.reach FILE TESTS...` runs the tests once and writes FILE. Every block of statements notes that
it was entered, which costs the searches nothing that shows; tracing lines would triple their time.
"""

import ast
import builtins
import hashlib
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.mutation.mutants import FOLDERS, OF_STORES, ROOT, STORES, Mutant, module_of
from tests.mutation.trial import PYTEST, Verdict

TESTS = (
    *("tests/unit/protocol", "tests/unit/features", "tests/unit/store", "tests/contract"),
    *("tests/simulation", "tests/golden", "tests/unit/client", "tests/unit/aws", "tests/unit/model"),
    *("tests/unit/services", "tests/unit/cli"),
)
"""All tests that execute the protocol or the stores without an emulator."""

VALUES = "tests/unit/protocol/test_constants.py"
"""Tests of values at module level: they import a module, and enter none of its blocks."""

IMPORTED_ONCE = "tests/golden/classes"
"""Tests that fail when all modules are imported anew, as mutants at module level are, whatever the mutant changes."""

FIRST_KILLERS = 20
"""Tests that have killed other mutants of the module are tried first, at most so many."""

BUDGET_S = 8.0
"""Of 494 killed mutants, one needed tests of more than 8 seconds. Survivors take most of a trial's time."""

NOTE = "__note_block__"


@dataclass(frozen=True)
class Block:
    """Consecutive statements that are entered together.

    Attributes:
        first: number of the first line.
        last: number of the last line.
        tests: the tests that enter it.
    """

    first: int
    last: int
    tests: Sequence[str]


@dataclass
class Reach:
    """Measured reach of tests.

    Attributes:
        seconds: processor time of each test that passed.
        blocks: the blocks of each module.
        budget_s: how long the tests of one mutant may take.
    """

    seconds: Mapping[str, float]
    blocks: Mapping[str, Sequence[Block]]
    budget_s: float = BUDGET_S
    _kills: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @classmethod
    def of(cls, measured: Mapping[str, Any], budget_s: float) -> "Reach":
        """Return the reach that `measure` has found."""
        names: list[str] = measured["tests"]
        blocks = {
            module: [Block(first, last, [names[at] for at in tests]) for first, last, tests in found]
            for module, found in measured["blocks"].items()
        }
        return cls(dict(zip(names, measured["seconds"], strict=True)), blocks, budget_s)

    def choose(self, mutant: Mutant, collected: Mapping[str, object], killer: str = "") -> list[str]:
        """Return the tests that execute the change, the likeliest and quickest first, as many as the budget allows.

        Tests of one file are much alike, so of the other folders the quickest of each file comes before a second one.

        Args:
            mutant: the mutant.
            collected: the tests that exist.
            killer: the test that killed the mutant in an earlier trial.
        """
        found = [test for test in self.reaching(mutant) if test in collected]
        kills = self._kills[mutant.module]
        killers = {test for test, _ in kills.most_common(FIRST_KILLERS)}
        found.sort(key=lambda test: self.seconds[test])
        rank = {test: 0 if is_at_home(test, mutant) else number for number, test in _numbered(found)}
        found.sort(key=lambda test: (test != killer, test not in killers, not is_at_home(test, mutant), rank[test]))
        chosen: list[str] = []
        spent_s = 0.0
        for test in found:
            spent_s += self.seconds[test]
            if spent_s > self.budget_s and chosen:
                break
            chosen.append(test)
        return chosen

    def learn(self, mutant: Mutant, verdict: Verdict) -> None:
        """Remember the test that killed the mutant."""
        if verdict.by:
            self._kills[mutant.module][verdict.by] += 1

    def reaching(self, mutant: Mutant) -> set[str]:
        """Return all tests that execute the change."""
        if not mutant.scope:  # executed by the import
            found = self._of_modules.get(mutant.module, set()) | self._of_values
            return {test for test in found if not test.startswith(IMPORTED_ONCE)}
        line = mutant.changed.start
        around = [block for block in self.blocks[mutant.module] if block.first <= line <= block.last]
        return set(min(around, key=lambda block: block.last - block.first).tests) if around else set()

    @cached_property
    def _of_modules(self) -> Mapping[str, set[str]]:
        return {module: {test for block in found for test in block.tests} for module, found in self.blocks.items()}

    @cached_property
    def _of_values(self) -> set[str]:
        return {test for test in self.seconds if test.startswith(VALUES)}


def _numbered(tests: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield each test with the number of tests of its file before it."""
    files: Counter[str] = Counter()
    for test in tests:
        file = test.partition("::")[0]
        yield files[file], test
        files[file] += 1


def existing(tests: Sequence[str]) -> list[str]:
    """Return the folders that exist."""
    return [test for test in tests if (ROOT / test).exists()]


def is_at_home(test: str, mutant: Mutant) -> bool:
    """Return True if the test is in the folder that mirrors the mutant's."""
    is_of_store = mutant.room in OF_STORES or mutant.path in STORES
    # Some tests of a feature are in the folders of the protocol's rooms that it extends.
    extended = ["tests/unit/protocol/"] if mutant.room.startswith("features/") else []
    homes = [
        f"tests/unit/{mutant.room}/",
        *extended,
        *(["tests/contract/", "tests/unit/store/"] if is_of_store else []),
    ]
    return test.startswith((*homes, *(() if mutant.scope else (VALUES,))))


class Instrument(ast.NodeTransformer):
    """Makes every block inside of functions note its number in `blocks`."""

    def __init__(self, module: str, blocks: list[tuple[str, int, int]]) -> None:
        self._module = module
        self._blocks = blocks
        self._depth = 0

    def visit(self, node: ast.AST) -> Any:
        """Instrument the node's blocks, inner ones first."""
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        self._depth += is_function
        self.generic_visit(node)
        if self._depth and not isinstance(node, ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                statements = getattr(node, name, None)
                if isinstance(statements, list) and statements:
                    setattr(node, name, [*self._noting(statements), *statements])
        self._depth -= is_function
        return node

    def _noting(self, statements: list[ast.stmt]) -> Iterator[ast.stmt]:
        first = statements[0]
        note = ast.parse(f"{NOTE}({len(self._blocks)})").body[0]
        self._blocks.append((self._module, first.lineno, statements[-1].end_lineno or first.lineno))
        yield ast.fix_missing_locations(ast.copy_location(note, first))


class Measurement:
    """pytest plugin that records the processor time of each test and the blocks that it enters."""

    def __init__(self) -> None:
        self.entered: set[int] = set()
        self.reached: dict[str, frozenset[int]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.began_s = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """Begin anew."""
        self.entered.clear()
        self.began_s = time.process_time()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the processor time since the test began, and what was entered."""
        self.seconds[report.nodeid] = time.process_time() - self.began_s
        self.reached[report.nodeid] = frozenset(self.entered)
        if not report.passed:
            self.failed.add(report.nodeid)


def measure(tests: Sequence[str]) -> dict[str, Any]:
    """Run the tests and return what they reach, as JSON."""
    blocks: list[tuple[str, int, int]] = []
    plugin = Measurement()
    setattr(builtins, NOTE, plugin.entered.add)
    _instrument_imports(blocks)
    pytest.main([*PYTEST, *tests], plugins=[plugin])
    names = [name for name in plugin.seconds if name not in plugin.failed]
    entering: list[list[int]] = [[] for _ in blocks]
    for at, name in enumerate(names):
        for number in plugin.reached[name]:
            entering[number].append(at)
    found: dict[str, list[Any]] = defaultdict(list)
    for (module, first, last), tests_of_block in zip(blocks, entering, strict=True):
        found[module].append((first, last, tests_of_block))
    return {
        "sources": sources(),
        "tests": names,
        "seconds": [round(plugin.seconds[name], 4) for name in names],
        "blocks": found,
    }


def sources() -> str:
    """Return a digest of all files that may change what a test reaches."""
    folders = (ROOT / "tests", ROOT / "runtime_layer", ROOT / "unum_compiler")
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def _instrument_imports(blocks: list[tuple[str, int, int]]) -> None:
    """Make later imports of the mutated modules note what they execute."""
    read_code = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        path = Path(loader.path)
        if path not in STORES and not any(path.is_relative_to(folder) for folder in FOLDERS):
            return read_code(loader, name)
        tree = Instrument(module_of(path), blocks).visit(ast.parse(path.read_bytes()))
        return compile(tree, loader.path, "exec")

    SourceFileLoader.get_code = get_code  # type: ignore[assignment]


if __name__ == "__main__":
    target, *given = sys.argv[1:]
    Path(target).write_text(json.dumps(measure(existing(given))), encoding="utf-8")
