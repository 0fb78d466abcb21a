"""Result of a trial of mutants: the score with its confidence interval, and survivors with their explanations."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from tests.mutation.trial import Verdict

EXPLAINED = Path(__file__).with_name("explained")
"""A file for each room of the protocol, and one for the stores."""
EQUIVALENT = "equivalent"
ACCEPTED = "accepted"
OPEN = "open"
KINDS = (EQUIVALENT, ACCEPTED, OPEN)
Z = 1.96
"""Standard deviations of a confidence interval of 95 %."""


@dataclass(frozen=True)
class Explanation:
    """Reason for the survival of mutants.

    Attributes:
        kind: "equivalent" if no test can, "accepted" if it changes nothing that this project promises, "open" if a test
            or one of both explanations is owed. The list of open ones shall only get shorter.
        why: the reason.
    """

    kind: str
    why: str


def explanations(existing: Iterable[str]) -> Mapping[str, Explanation]:
    """Return the explained survivors by their names: those that are listed, and all `existing` that a rule matches."""
    listed = [tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(EXPLAINED.glob("*.toml"))]
    names = [*existing]
    found: dict[str, Explanation] = {}
    for rule in (rule for each in listed for rule in each.get("rules", [])):
        pattern = re.compile(rule["matches"])
        matching = [name for name in names if pattern.search(name)]
        found |= dict.fromkeys(matching or [f"rule {rule['matches']}"], Explanation(rule["kind"], rule["why"]))
    for group in (group for each in listed for group in each.get("survivors", [])):
        found |= dict.fromkeys(group["mutants"], Explanation(group["kind"], group["why"]))
    return found


@dataclass(frozen=True)
class Score:
    """Figures of tried mutants; those that are no Python count nowhere.

    Attributes:
        tried: how many were tried.
        killed: how many a test or a limit ended.
        equivalent: how many survivors are explained as equivalent.
        accepted: how many are explained otherwise.
        open: how many are only known.
    """

    tried: int
    killed: int
    equivalent: int
    accepted: int
    open: int = 0

    @property
    def share(self) -> float:
        """Share of the mutants killed, of those that are not equivalent."""
        return self.killed / max(1, self.tried - self.equivalent)

    def interval(self, of: int) -> tuple[float, float]:
        """Return Wilson's interval of 95 % for the share among `of` mutants; the share itself if all were tried."""
        n, p = self.tried - self.equivalent, self.share
        if self.tried >= of or n == 0:
            return p, p
        middle, width = p + Z * Z / (2 * n), Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        return (middle - width) / (1 + Z * Z / n), (middle + width) / (1 + Z * Z / n)


def score(verdicts: Iterable[Verdict], explained: Mapping[str, Explanation]) -> Score:
    """Return the figures of the verdicts."""
    valid = [verdict for verdict in verdicts if verdict.fate != "invalid"]
    alive = Counter(explained[verdict.mutant].kind for verdict in valid if is_explained(verdict, explained))
    killed = sum(verdict.is_dead for verdict in valid)
    return Score(len(valid), killed, *(alive[kind] for kind in KINDS))


def is_explained(verdict: Verdict, explained: Mapping[str, Explanation]) -> bool:
    """Return True for a survivor with an explanation."""
    return verdict.fate in ("survived", "unreached") and verdict.mutant in explained


def unexplained(verdicts: Iterable[Verdict], explained: Mapping[str, Explanation]) -> list[Verdict]:
    """Return the survivors without an explanation."""
    return [each for each in verdicts if each.fate in ("survived", "unreached") and each.mutant not in explained]


def needless(verdicts: Iterable[Verdict], explained: Mapping[str, Explanation], existing: Iterable[str]) -> list[str]:
    """Return the explanations of mutants that a test kills, or that no longer exist; open ones claim nothing."""
    claimed = {name for name, each in explained.items() if each.kind != OPEN}
    killed = {verdict.mutant for verdict in verdicts if verdict.is_dead}
    return sorted((claimed - set(existing)) | (killed & claimed))
