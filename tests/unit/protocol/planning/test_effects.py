"""Equality of effects: what only tells of attempts and times makes no difference."""

from dataclasses import fields

import pytest

from unum_runtime.protocol.planning import plan


@pytest.mark.parametrize(
    ("kind", "ignored"),
    [(plan.Invoke, {"tries"}), (plan.CompleteBranch, {"step", "ended_ms"}), (plan.Finish, {"step", "at_ms"})],
)
def test_what_effects_are_compared_by(kind: type, ignored: set[str]) -> None:
    assert {each.name for each in fields(kind) if not each.compare} == ignored
