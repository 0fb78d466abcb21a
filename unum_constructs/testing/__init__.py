"""Test helpers for stacks with workflows: comparable templates, and questions about synthesized resources.

`unum_constructs.testing.snapshots` has a serializer for syrupy, and needs that package.
"""

from unum_constructs.testing.normalization import normalize_template
from unum_constructs.testing.resources import WorkflowResources, assert_workflow

__all__ = ["WorkflowResources", "assert_workflow", "normalize_template"]
