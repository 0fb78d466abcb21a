# ruff: noqa: T201 - a command prints
"""Report what a trial found, and say whether the tests are good enough."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tests.mutation.mutants import ROOT, Mutant, all_mutants
from tests.mutation.operators import MUTMUT
from tests.mutation.score import Explanation, explanations, needless, score, unexplained
from tests.mutation.trial import Verdict

OUT = ROOT / "out" / "mutation"
SCORE, FURTHER_SCORE = "score.json", "further.json"
"""Names of the files with the published scores: of mutmut's operators, and of those of `operators`."""

GOAL = 0.90
MOST_EQUIVALENT = 0.03


def report(verdicts: Sequence[Verdict], everything: Sequence[Mutant], *, is_sample: bool = False) -> int:
    """Write and print the score, print what is to be done, and return the exit code.

    Args:
        verdicts: the verdicts.
        everything: the mutants that they are a sample of.
        is_sample: True for the fixed sample, whose killers are known: it must not replace the published scores.
    """
    existing = [mutant.name for mutant in all_mutants()]
    explained = explanations(existing)
    found, left = score(verdicts, explained), unexplained(verdicts, explained)
    low, high = found.interval(len(everything))
    useless = needless(verdicts, explained, existing)
    if not is_sample:
        _write_scores(verdicts, everything, explained)
    for verdict in left:
        print(f"{verdict.fate}, not explained: {verdict.mutant}")
    for name in useless:
        print(f"explained, but killed or gone; remove it from explained/: {name}")
    print(
        f"{found.killed} of {found.tried} killed, {found.equivalent} equivalent, {found.accepted} accepted, "
        f"{found.open} open, {len(left)} neither killed nor explained: {found.share:.1%}; "
        f"of all {len(everything)} between {low:.1%} and {high:.1%}"
    )
    is_good = high >= GOAL and found.equivalent <= MOST_EQUIVALENT * max(1, found.tried)
    return 0 if is_good and not useless and not left else 1


def _write_scores(
    verdicts: Sequence[Verdict], everything: Sequence[Mutant], explained: Mapping[str, Explanation]
) -> None:
    """Write the score of mutmut's mutants and that of the others, whichever were tried, with the figures of a kind."""
    OUT.mkdir(parents=True, exist_ok=True)
    kinds = {mutant.name: mutant.kind for mutant in everything}
    tried = [verdict for verdict in verdicts if verdict.mutant in kinds]
    for file, is_mutmut in ((SCORE, True), (FURTHER_SCORE, False)):
        of_kinds = {name: kind for name, kind in kinds.items() if (kind == MUTMUT) is is_mutmut}
        chosen = [verdict for verdict in tried if verdict.mutant in of_kinds]
        if not chosen:
            continue
        figures = _figures(chosen, len(of_kinds), explained)
        if not is_mutmut:
            figures["kinds"] = {
                kind: [number, *_tried_and_killed(each for each in chosen if of_kinds[each.mutant] == kind)]
                for kind, number in sorted(Counter(of_kinds.values()).items())
            }
        (OUT / file).write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _figures(verdicts: Sequence[Verdict], of: int, explained: Mapping[str, Explanation]) -> dict[str, Any]:
    """Return the score of `verdicts`, a sample of `of` mutants."""
    found = score(verdicts, explained)
    return {
        "commit": _commit(),
        "mutants": of,
        **asdict(found),
        "score": round(found.share, 4),
        "interval": [round(end, 4) for end in found.interval(of)],
        "unexplained": len(unexplained(verdicts, explained)) + found.open,
    }


def _tried_and_killed(verdicts: Iterable[Verdict]) -> tuple[int, int]:
    found = score(verdicts, {})
    return found.tried, found.killed


def _commit() -> str:
    """Return the short name of the tried commit; empty outside of a repository."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - ours
