"""The sample of mutants that `make test` tries: each with the test that killed it in an earlier, longer trial.

With a known killer a mutant takes a tenth of a second. A mutant without one, or whose killer is gone, is tried with the
tests of the folder that mirrors its own. Mutants whose code has changed since are no longer tried; write the file anew
when they are many: `python -m tests.mutation --number 150 --keep-killers`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, all_mutants
from tests.mutation.reach import VALUES, is_at_home
from tests.mutation.trial import PYTEST, Trial, Verdict

KILLERS = Path(__file__).with_name("killers.json")
MOST_TESTS = 60
"""Tests of a mutant without a known killer."""


def write_killers(verdicts: Iterable[Verdict]) -> None:
    """Make these mutants the sample."""
    found = {verdict.mutant: verdict.by for verdict in verdicts if verdict.fate != "invalid"}
    KILLERS.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def try_sample() -> tuple[list[Verdict], Mapping[str, str]]:
    """Try the mutants of the sample that still exist; return the verdicts and the known killers."""
    killers: dict[str, str] = json.loads(KILLERS.read_text(encoding="utf-8"))
    mutants = [mutant for mutant in all_mutants() if mutant.name in killers]
    verdicts: list[Verdict] = []

    def choose(mutant: Mutant, items: Mapping[str, pytest.Item]) -> Sequence[str]:
        killer = killers[mutant.name]
        near = sorted((test for test in items if is_at_home(test, mutant)), key=lambda test: not _mirrors(test, mutant))
        values = [test for test in near if test.startswith(VALUES) and not mutant.scope]
        return [*([killer] if killer in items else ()), *values, *near[:MOST_TESTS]]

    files = {killer.partition("::")[0] for killer in killers.values() if killer}
    homes = {f"tests/unit/{mutant.room}" for mutant in mutants} | {"tests/contract", VALUES}
    tests = sorted(test for test in files | homes if Path(test).exists())
    pytest.main([*PYTEST, *tests], plugins=[Trial(mutants, choose, lambda _, verdict: verdicts.append(verdict))])
    return verdicts, killers


def _mirrors(test: str, mutant: Mutant) -> bool:
    """Return True if `test` is in the file named after the mutant's module: it is tried before its neighbours."""
    return Path(test.partition("::")[0]).stem == f"test_{Path(mutant.path).stem}"
