"""Address of a workflow, before the first request."""

from typing import Any

import pytest

from unum_client import Client
from unum_client.control import Control
from unum_client.task_responses import Tasks
from unum_runtime.errors import ClientError

FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:f"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"table": 5}, "table: expected the name or ARN of the workflow's table, or None, got 5"),
        ({"table": ""}, "table: expected the name or ARN of the workflow's table, or None, got ''"),
        ({"workflow": "two words"}, "workflow: expected 1 to 80 characters from A-Z a-z 0-9 - _, got 'two words'"),
        ({"workflow": None}, "workflow: expected 1 to 80 characters from A-Z a-z 0-9 - _, got None"),
        ({"retention_s": -1}, "retention_s: expected at least 1 second, got -1"),
        ({"retention_s": "7"}, "retention_s: expected at least 1 second, got '7'"),
        ({"start_alias": FUNCTION}, f"start_alias: expected arn:.*:ALIAS, got '{FUNCTION}'"),
        (
            {"control_alias": f"{FUNCTION}s"[:20]},
            "control_alias: expected arn:.*:FUNCTION, without an alias .*, got 'arn:.*",
        ),
        (
            {"start_alias": f"{FUNCTION}:start-v"},
            f"start_alias: expected the alias 'start-w' of workflow 'w', got '{FUNCTION}.*",
        ),
        (
            {"start_alias": f"{FUNCTION}:7"},
            f"start_alias: expected the alias 'start-w' of workflow 'w', got '{FUNCTION}:7'",
        ),
        (
            {"control_alias": f"{FUNCTION}:start-w"},
            "control_alias: expected arn:.*:FUNCTION, without an alias .*, got .*:start-w'",
        ),
        ({"start_alias": 5}, "start_alias: expected arn:.*:ALIAS, got 5"),
        ({"payload_bucket": ""}, "payload_bucket: expected the bucket.s name, or None, got ''"),
        ({"activities": ["a"]}, r"activities: expected queue URLs by name, got \['a'\]; parse JSON text first"),
    ],
)
def test_what_no_workflow_is_at(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ClientError, match=f"^{said}$"):
        Client.connect(**{"table": "t", "workflow": "w", "start_alias": f"{FUNCTION}:start-w", **given})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"start_alias": FUNCTION}, f"start_alias: expected arn:.*:ALIAS, got '{FUNCTION}'"),
        ({"start_alias": None}, "start_alias: expected arn:.*:ALIAS, got None"),
        ({"activities": '{"a": "u"}'}, 'activities: expected queue URLs by name, got \'{"a": "u"}\'; parse.*'),
        ({"activities": {"a": "queue"}}, r"activities\['a'\]: expected a queue URL, got 'queue'"),
    ],
)
def test_where_tasks_cannot_be_answered(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ClientError, match=f"^{said}$"):
        Tasks.connect(**{"start_alias": f"{FUNCTION}:start-w", **given})


def test_a_control_function_needs_the_name_of_the_workflow() -> None:
    with pytest.raises(ClientError, match="workflow: expected the name of"):
        Control.connect(control_alias=FUNCTION, workflow="")


@pytest.mark.parametrize("alias", [None, "", f"{FUNCTION}:control-w", f"{FUNCTION}:7"])
def test_where_nothing_can_be_controlled(alias: Any) -> None:
    with pytest.raises(ClientError, match=f"^control_alias: expected arn:.*, without an alias .*, got {alias!r}$"):
        Control.connect(control_alias=alias, workflow="w")
