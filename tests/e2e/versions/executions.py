"""Executions of the workflow in `tests.e2e.versions.stack`: what holds them, and what they come by."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.conftest import Deployment
from tests.patience import PATIENCE_S
from unum_client.task_responses import Tasks

ENDS: Mapping[int, Sequence[str]] = {
    1: ("Recover", "Conclude"),
    2: ("Apologize", "Conclude", "Check"),
    3: ("Apologize", "Conclude", "Inspect"),
}
"""Where each definition leads when the Task that dies has been given up."""


def trail(definition: int, code: int) -> list[str]:
    """Return the trail of an execution that never leaves its first versions."""
    return [f"{state} by code {code}" for state in ("Prepare", "Gate", "Ask", *ENDS[definition])]


class Executions:
    """The executions, and what holds them."""

    def __init__(self, deployed: Deployment, stack: str) -> None:
        self.client = deployed.client(stack)
        self._notes = deployed.table(stack, "NotesTable")
        self._tasks = Tasks.connect(start_alias=deployed.outputs[stack]["WorkflowStartAlias"])

    def start(self, name: str) -> None:
        self.client.start({"name": name, "trail": []}, name=name)

    def open_gate(self, name: str) -> None:
        self._notes.put_item(Item={"key": f"gate of {name}"})

    def asked(self, name: str) -> Mapping[str, Any]:
        """Return the record that an execution stored before it waited for an answer."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found: Mapping[str, Any] | None = self._notes.get_item(Key={"key": name}, ConsistentRead=True).get("Item")
            if found is not None:
                return found
            time.sleep(0.2)
        raise AssertionError(f"{name}: nobody asked")

    def forget_question(self, name: str) -> None:
        """Delete what an execution left behind, so that `asked` waits for its next question."""
        self._notes.delete_item(Key={"key": name})

    def answer(self, name: str) -> None:
        question = self.asked(name)
        self._tasks.send_task_success(question["token"], json.dumps(question["answer"]))
