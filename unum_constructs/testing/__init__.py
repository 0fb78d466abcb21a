"""For tests of stacks that have workflows: templates that can be compared, and questions about what was synthesized.

`unum_constructs.testing.snapshots` has a serializer for syrupy; only who imports it needs that package.
"""

from unum_constructs.testing.matchers import assert_workflow
from unum_constructs.testing.normalization import normalize_template
from unum_constructs.testing.resources import WorkflowResources

__all__ = ["WorkflowResources", "assert_workflow", "normalize_template"]
