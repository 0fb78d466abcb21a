# ruff: noqa: T201 - a command prints
"""Report what a trial found, and say whether the tests are good enough."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict

from tests.mutation.mutants import ROOT, Mutant, all_mutants
from tests.mutation.score import explanations, needless, score, unexplained
from tests.mutation.trial import Verdict

OUT = ROOT / "out" / "mutation"
GOAL = 0.90
MOST_EQUIVALENT = 0.03


def report(verdicts: Sequence[Verdict], everything: Sequence[Mutant], *, to: str = "score.json") -> int:
    """Write and print the score, print what is to be done, and return the exit code.

    Args:
        verdicts: the verdicts.
        everything: the mutants that they are a sample of.
        to: name of the file with the score in `OUT`. Only `score.json` is published: the fixed sample, whose killers
            are known, must not replace the score of a trial.
    """
    existing = [mutant.name for mutant in all_mutants()]
    explained = explanations(existing)
    found, left = score(verdicts, explained), unexplained(verdicts, explained)
    low, high = found.interval(len(everything))
    useless = needless(verdicts, explained, existing)
    figures = {
        "commit": _commit(),
        "mutants": len(everything),
        **asdict(found),
        "score": round(found.share, 4),
        "interval": [round(low, 4), round(high, 4)],
        "unexplained": len(left) + found.open,
    }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / to).write_text(json.dumps(figures, indent=1), encoding="utf-8")
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


def _commit() -> str:
    """Return the short name of the tried commit; empty outside of a repository."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - ours
