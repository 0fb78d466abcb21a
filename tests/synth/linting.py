"""cfn-lint over templates."""

import json
from collections.abc import Mapping
from typing import Any

from cfnlint import lint  # type: ignore[import-untyped]
from cfnlint.config import ManualArgs  # type: ignore[import-untyped]

REGION = "us-east-1"

CDK_HABITS = ["W3005"]
"""The CDK makes every function depend on its role in so many words, although a reference says it already."""


def complaints(template: Mapping[str, Any]) -> list[str]:
    """Return cfn-lint's findings in `template`."""
    found = lint(json.dumps(template), config=ManualArgs(regions=[REGION], ignore_checks=CDK_HABITS))
    return [str(each) for each in found]
