"""Where a workflow is said to be, before anything is asked for there."""

from typing import Any

import pytest

from unum_runtime.client import Client
from unum_runtime.errors import ClientError

FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:f"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"table": None}, "table: expected the name or ARN of the workflow's table, got None"),
        ({"table": ""}, "table: expected the name or ARN of the workflow's table, got ''"),
        ({"workflow": "two words"}, "workflow: expected 1 to 80 characters from A-Z a-z 0-9 - _, got 'two words'"),
        ({"workflow": None}, "workflow: expected 1 to 80 characters from A-Z a-z 0-9 - _, got None"),
        ({"retention_s": -1}, "retention_s: expected at least 1 second, got -1"),
        ({"retention_s": "7"}, "retention_s: expected at least 1 second, got '7'"),
        ({"start_alias": FUNCTION}, f"start_alias: expected arn:.*:ALIAS, got '{FUNCTION}'"),
        ({"control_alias": FUNCTION}, f"control_alias: expected arn:.*:ALIAS, got '{FUNCTION}'"),
        ({"start_alias": 5}, "start_alias: expected arn:.*:ALIAS, got 5"),
    ],
)
def test_what_no_workflow_is_at(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ClientError, match=f"^{said}$"):
        Client.connect(**{"table": "t", "workflow": "w", "start_alias": f"{FUNCTION}:start-w", **given})
