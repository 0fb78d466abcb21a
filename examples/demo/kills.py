"""Ask the emulator to kill functions, and tell which ones it has killed."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import boto3

FAULTS = "emulator:faults"
FIRST_ATTEMPTS = "first=1 within=3"
"""The first delivery of each event dies, right before or after one of its first three requests to AWS."""

OWN = ("Entry", "Control", "OnFailure")
"""Parts of the names of the workflow's own functions, whose callers wait for an answer; they are not killed."""


@dataclass(frozen=True)
class Kill:
    """One killed process.

    Attributes:
        function: construct id of the function.
        moment: what the process was about to do, or had just done.
    """

    function: str
    moment: str


def kill_first_attempts(session: "boto3.Session", stack: str) -> int:
    """Ask the emulator to kill the first delivery of each event of the Tasks of `stack`; return how many functions."""
    client = session.client("lambda")
    pages = client.get_paginator("list_functions").paginate()
    found = [each for page in pages for each in page["Functions"] if _is_task(each.get("FunctionName", ""), stack)]
    for each in found:
        client.tag_resource(Resource=each.get("FunctionArn", ""), Tags={FAULTS: FIRST_ATTEMPTS})
    return len(found)


def kills(history: Path) -> Sequence[Kill]:
    """Return the kills in the emulator's history, in their order."""
    lines = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    functions = {line["delivery"]: line["function"] for line in lines if line["what"] == "begun"}
    return [*_kills(lines, functions)]


def _kills(lines: Sequence[dict[str, Any]], functions: dict[str, str]) -> Iterator[Kill]:
    for line in lines:
        if line["what"] == "fault":
            yield Kill(_short(functions[line["delivery"]]), line["fault"].removeprefix("dies "))


def _short(function: str) -> str:
    """Return the name that the app gives a function; CloudFormation adds the stack's name and random characters."""
    return re.sub(r"^.*:[^:-]+-(.+?)[0-9A-F]{8}-[^:]+(:[^:]+)?$", r"\1", function)


def _is_task(name: str, stack: str) -> bool:
    return name.startswith(f"{stack}-") and not any(own in name for own in OWN)
