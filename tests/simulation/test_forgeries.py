"""A verification finds every kind of forged history, and names the rule and the place."""

import pytest

from tests.simulation.forgeries import FORGERIES, WORLDS, made_in
from unum_client.verification.findings import Rule


@pytest.mark.parametrize("world", WORLDS)
def test_histories_that_nobody_changed_are_believed(world: str) -> None:
    found = made_in(world)
    for later_s in (0, 2 * 86_400):
        assert [each.findings for each in found.made.later(later_s).verified()] == [[]] * len(found.made.names)


@pytest.mark.parametrize("kind", FORGERIES)
def test_verification_finds_a_forgery(kind: str) -> None:
    forgery = FORGERIES[kind]
    found = made_in(forgery.world)
    found.name = forgery.name
    forgery.forge(found)
    findings = found.made.later(forgery.later_s).verify(forgery.name).findings
    assert forgery.rule in {each.rule for each in findings}, [str(each) for each in findings]
    assert all(each.place and each.remedy for each in findings)


def test_every_rule_is_broken_by_a_forgery() -> None:
    assert {each.rule for each in FORGERIES.values()} == {*Rule}
