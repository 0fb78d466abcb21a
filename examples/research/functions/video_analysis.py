"""A video is run-length text, a frame a line of cells, and an object a run of equal letters."""

import re
from itertools import groupby
from typing import Any

BATCH = 4
"""Frames in a batch."""
KINDS = {"c": "car", "p": "person"}


def decode(event: dict[str, str], _context: Any) -> dict[str, list[list[str]]]:
    """Return the frames in batches; ``3.2c`` in the video stands for ``...cc``."""
    frames = [re.sub(r"(\d+)(\D)", lambda run: run[2] * int(run[1]), line) for line in event["video"].split("/")]
    return {"batches": [frames[start : start + BATCH] for start in range(0, len(frames), BATCH)]}


def detect(event: list[str], _context: Any) -> list[list[str]]:
    """Return the kinds of the objects in each frame of a batch."""
    return [[KINDS[letter] for letter, _ in groupby(frame) if letter in KINDS] for frame in event]


def summarize(event: list[list[list[str]]], _context: Any) -> dict[str, Any]:
    """Return the number of frames, and for each kind the frames with most objects of it."""
    frames = [frame for batch in event for frame in batch]
    return {"frames": len(frames), "most": {kind: _most(kind, frames) for kind in KINDS.values()}}


def _most(kind: str, frames: list[list[str]]) -> dict[str, Any]:
    counts = [frame.count(kind) for frame in frames]
    return {"count": max(counts), "in": [number for number, count in enumerate(counts) if count == max(counts)]}
