"""Logical ids are a public contract: another id is another resource, and deploying it deletes the old one.

Whoever changes the snapshot (``pytest tests/synth/test_logical_ids.py --snapshot-update``) says in CHANGELOG.md what
becomes of stacks that exist.
"""

from typing import Any

from syrupy.assertion import SnapshotAssertion

from unum_constructs.testing import normalize_template


def test_logical_ids_stay(templates: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    resources = {name: normalize_template(template)["Resources"] for name, template in templates.items()}
    types = {stack: {name: each["Type"] for name, each in found.items()} for stack, found in resources.items()}
    assert {stack: _without_the_cdks(found) for stack, found in types.items()} == snapshot


def test_outputs_stay(templates: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert {name: sorted(template["Outputs"]) for name, template in templates.items()} == snapshot


def _without_the_cdks(types: dict[str, str]) -> dict[str, str]:
    """Without the function that sets up notifications of buckets: what that is made of changes with the CDK."""
    return {name: kind for name, kind in types.items() if "NotificationsHandler" not in name}
