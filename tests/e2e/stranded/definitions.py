"""Definitions over the same functions, so different that each deployment drops most edges of the one before.

1: Prepare, Wait, Count (retried after a delay), Cut, a Map of Work, Ask (with a task token), End.
2: Insert between Count and Cut and Extra in the Map; another Wait; no Retry.
3: Another order of the states, Cut renamed, a Map of one other state; no token, but an activity for one execution.
4: Neither the Wait, and with it timer queue and schedules, nor the activity, nor Count and Work: these functions leave
   the stack. Extra's function is replaced by More's.
"""

from collections.abc import Mapping
from typing import Any

FUNCTIONS: Mapping[str, str] = {
    "Prepare": "note",
    "Count": "count",
    "Insert": "note",
    "Cut": "cut",
    "Work": "work",
    "Extra": "work",
    "More": "work",
    "Ask": "ask",
    "End": "end",
}

ITEMS = 3

TRAILS: Mapping[int, list[str]] = {
    1: ["Prepare", "Count", "Cut", *["Work"] * ITEMS, "Ask", "End"],
    2: ["Prepare", "Count", "Insert", "Cut", *["Work", "Extra"] * ITEMS, "Ask", "End"],
    3: ["Prepare", "Insert", "Slice", *["Extra"] * ITEMS, "Ask", "Count", "End"],
    4: ["Prepare", "Insert", "Slice", *["More"] * ITEMS, "Ask", "End"],
}
"""The states that an execution passes from its start to its end, by definition."""


LAST = 4
"""Definition with which functions leave the stack."""

LEAVING = ("Count", "Extra", "Work")
"""Keys of these functions."""

REVIEW = "Review"
"""The activity of the third definition, for executions of which the name ends so."""


def definition_of(number: int) -> dict[str, Any]:
    """Return a definition in the Amazon States Language."""
    states = {1: _first, 2: _second, 3: _third, 4: _fourth}[number]()
    return {"StartAt": "Prepare", "States": {"Prepare": _task("Prepare", "Wait"), "End": _task("End"), **states}}


def _first() -> dict[str, Any]:
    return {
        "Wait": {"Type": "Wait", "SecondsPath": "$.wait_s", "Next": "Count"},
        "Count": {**_task("Count", "Cut"), "Retry": [_retry()]},
        "Cut": _task("Cut", "Each"),
        "Each": _each({"Work": _task("Work")}, "Work"),
        "Ask": _callback("Ask", "End"),
    }


def _second() -> dict[str, Any]:
    return {
        "Wait": {"Type": "Wait", "Seconds": 1, "Next": "Count"},
        "Count": _task("Count", "Insert"),
        "Insert": _task("Insert", "Cut"),
        "Cut": _task("Cut", "Each"),
        "Each": _each({"Work": _task("Work", "Extra"), "Extra": _task("Extra")}, "Work"),
        "Ask": _callback("Ask", "End"),
    }


def _third() -> dict[str, Any]:
    return {
        "Wait": {"Type": "Wait", "SecondsPath": "$.wait_s", "Next": "Insert"},
        "Insert": _task("Insert", "Slice"),
        "Slice": {**_task("Slice", "Each"), "Resource": "Cut"},
        "Each": _each({"Extra": _task("Extra")}, "Extra"),
        "Ask": _task("Ask", "Count"),
        "Count": _task("Count", "Last"),
        "Last": {"Type": "Choice", "Choices": [_never("Work"), _reviewed()], "Default": "End"},
        REVIEW: {"Type": "Task", "Resource": f"arn:aws:states:::activity:{REVIEW}", "Next": "End"},
        "Work": _task("Work", "End"),
    }


def _fourth() -> dict[str, Any]:
    return {
        "Prepare": _task("Prepare", "Insert"),
        "Insert": _task("Insert", "Slice"),
        "Slice": {**_task("Slice", "Each"), "Resource": "Cut"},
        "Each": _each({"More": _task("More")}, "More"),
        "Ask": _task("Ask", "End"),
    }


def _task(name: str, then: str | None = None) -> dict[str, Any]:
    follows = {"Next": then} if then else {"End": True}
    given = {"state.$": "$$.State.Name", "in.$": "$"}
    return {"Type": "Task", "Resource": name, "Parameters": given, **follows}


def _callback(name: str, then: str) -> dict[str, Any]:
    given = {"state.$": "$$.State.Name", "in.$": "$", "token.$": "$$.Task.Token"}
    resource = "arn:aws:states:::lambda:invoke.waitForTaskToken"
    return {"Type": "Task", "Resource": resource, "Parameters": {"FunctionName": name, "Payload": given}, "Next": then}


def _each(states: dict[str, Any], start: str) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": {"StartAt": start, "States": states}, "Next": "Ask"}


def _retry() -> dict[str, Any]:
    return {"ErrorEquals": ["Once"], "IntervalSeconds": 1, "MaxAttempts": 1}


def _reviewed() -> dict[str, Any]:
    return {"Variable": "$.name", "StringMatches": f"*-{REVIEW}", "Next": REVIEW}


def _never(then: str) -> dict[str, Any]:
    return {"Variable": "$.name", "IsNull": True, "Next": then}
