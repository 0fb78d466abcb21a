"""As docs/howto/snapshot-tests.md shows it: what a user tests a stack with."""

from aws_cdk import App
from aws_cdk.assertions import Template
from syrupy.assertion import SnapshotAssertion

from docs.snippets.orders import Orders
from unum_constructs.testing import assert_workflow
from unum_constructs.testing.snapshots import TemplateSnapshotExtension

EDGES = {"Split": ["Price", "Total"], "Price": ["Price", "Total"], "Total": []}
"""A Map with any number of items comes after Split. A branch that ends may begin another one."""


def test_wiring() -> None:
    template = Template.from_stack(Orders(App(), "Shop"))
    assert_workflow(template, start="Split", edges=EDGES)


def test_snapshot(snapshot: SnapshotAssertion) -> None:
    template = Template.from_stack(Orders(App(), "Shop"))
    assert template == snapshot.use_extension(TemplateSnapshotExtension)
