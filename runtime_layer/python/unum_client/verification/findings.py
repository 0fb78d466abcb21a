"""Findings of a verification: broken rule, place, stored content, remedy."""

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """Rule that every stored history keeps, whatever dies, comes twice or comes late."""

    START = "start record"
    """The start record has the form that a start or a fork writes."""

    DEFINITION = "definition"
    """Every definition that the history names is stored, with a text that has its digest."""

    FORM = "form"
    """Every item can be read, and belongs where it is stored."""

    MISSING = "missing step"
    """Steps are numbered without gaps, as long as none has expired."""

    CAUSE = "cause"
    """A step commits what the step before it leads to."""

    END = "end"
    """Exactly those steps end the execution after which its definition has nothing to do."""

    AFTER_END = "after the end"
    """Only a redrive of a failed execution commits after an end, and only the state that failed."""

    STOP = "stop record"
    """Only the control function stops an execution, while it runs, in the place of its next step."""

    TIME = "time"
    """A step is committed after its cause, after the end of its Wait, and not in the future."""

    EXPIRY = "expiry"
    """An item is kept for the retention of the workflow, not shorter and not longer."""

    BRANCHES = "branches"
    """A fan-out has the outcome that the results of its branches give."""

    COPY = "copy"
    """The first steps of a fork are those of the original."""

    SILENCE = "silence"
    """An execution that runs has committed something in the last day, or waits for a time, a job or an answer."""


_FORGED = (
    "functions of the workflow may write its items: find who wrote this one (CloudTrail data events of the table, or "
    "`unum logs`), and start another execution"
)

REMEDIES = {
    Rule.DEFINITION: "give the definition that was deployed then, with --file, or restore the table",
    Rule.SILENCE: "`unum why` shows what it waits for, and `unum nudge` sends that again; was a step deleted?",
    Rule.EXPIRY: f"{_FORGED}; if the retention was raised after the item was written, this is no fault",
}
"""What to do about a broken rule; for all other rules, `_FORGED`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule.

    Attributes:
        rule: the rule.
        place: name of the invocation or key of the item.
        found: what is stored there, and what was expected.
    """

    rule: Rule
    place: str
    found: str

    @property
    def remedy(self) -> str:
        """What to do."""
        return REMEDIES.get(self.rule, _FORGED)

    def __str__(self) -> str:
        return f"{self.place}: {self.rule}: {self.found}"
