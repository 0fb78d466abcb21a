"""Generated expressions have the outcomes of JSONata's reference implementation, except for known reasons.

Outcomes are compared with the newest version of npm and with 2.0.6, the version that AWS documents; package.json locks
both. `make simulate` tries 10,000 expressions.
"""

import re
from collections import Counter
from functools import cache

import pytest

from tests.golden.jsonata_reference.generate import KINDS, NAMES, generate
from tests.golden.jsonata_reference.peer import Answers, Question, ask_reference, evaluate
from tests.golden.jsonata_reference.reasons import OWN_LIMIT, REASONS, find_reason
from unum_runtime.asl.jsonata.engine import BUILT_IN

SAMPLE, SEED = 800, 1
PYTHON = re.compile(r"\w+(?:Error|Exception)\b|object at 0x|NoneType|<class|Traceback|\bNone\b|\bTrue\b|\bFalse\b")
"""Words of Python that no cause contains."""

OWN = frozenset({"partition", "range", "hash", "parse", "now", "millis", "random", "uuid", "shuffle"})
"""Functions of Step Functions, and those whose results differ by their purpose."""


@cache
def answered(count: int, seed: int) -> list[tuple[Question, Answers]]:
    questions = generate(count, seed)
    return list(zip(questions, ask_reference(questions), strict=True))


def mistakes(count: int, seed: int) -> list[str]:
    """Return each difference without a reason, and each cause in Python's words."""
    found = []
    for question, answers in answered(count, seed):
        ours = evaluate(question)
        reason = find_reason(question, answers, ours)
        cause = str(ours.get("cause", "")).rpartition("threw an error during evaluation.")[2]
        has_code = "cause" not in ours or bool(ours["code"]) or reason == OWN_LIMIT
        if reason is None or not has_code or PYTHON.search(cause):
            found.append(f"{question.expression}\n  is {ours}\n  and there {answers}")
    return found


@pytest.mark.parametrize(
    ("count", "seed"), [(SAMPLE, SEED), pytest.param(10_000, 2, marks=[pytest.mark.long, pytest.mark.timeout(1_800)])]
)
def test_expressions_have_outcomes_of_reference(count: int, seed: int) -> None:
    found = mistakes(count, seed)
    assert not found, "\n".join((f"{len(found)} differences", *found[:20]))


def test_sample_covers_all_kinds() -> None:
    kinds = Counter(question.kind for question, _ in answered(SAMPLE, SEED))
    assert kinds.keys() == KINDS.keys()
    assert min(kinds.values()) >= SAMPLE // len(KINDS)


def test_most_expressions_need_no_reason() -> None:
    reasons = {reason.text for reason in REASONS}
    needed = sum(
        find_reason(question, answers, evaluate(question)) in reasons for question, answers in answered(SAMPLE, SEED)
    )
    assert needed < SAMPLE // 8


def test_generated_functions_are_all_of_the_language() -> None:
    assert {*NAMES} | OWN == BUILT_IN


def test_difference_without_reason_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unum_runtime.asl.jsonata.engine.Interpreter.evaluate_includes_expression", lambda *_: True)
    assert any(" in " in text for text in mistakes(SAMPLE, SEED))
