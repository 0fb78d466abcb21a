"""ExCamera with a codec of a few lines: frames are lists of pixels, a coded frame is the change from the frame before.

Changes are rounded towards zero to a multiple of `STEP`. A decoder's state is its last frame, and a number that follows
from all changes so far, like the statistics of a real codec. A chunk that is coded on its own begins from black, as
with a key frame; later phases put it onto the state of the chunk before it. Each step takes the time that its chunk
names, in place of the seconds that a real codec needs.
"""

import time
from typing import Any

STEP = 8

Frame = list[int]
State = dict[str, Any]
"""`frame` and `history` of a decoder."""
Chunk = dict[str, Any]
"""`frames` and `ms` of the input; with `coded` frames after `encode`, and the decoder's last `state` after `decode`."""


def encode(event: Chunk, _context: Any) -> Chunk:
    """Code the frames of a chunk on its own, from black."""
    _take(event, "encode")
    state, coded = _black(event), []
    for frame in event["frames"]:
        coded.append(_change(state, frame))
        state = _decode(state, coded[-1:])
    return {**event, "coded": coded}


def decode(event: Chunk, _context: Any) -> Chunk:
    """Add the state that a decoder has after the chunk."""
    _take(event, "decode")
    return {**event, "state": _decode(_black(event), event["coded"])}


def reencode(event: dict[str, Any], _context: Any) -> Chunk:
    """Replace the key frame by a change from the decoded chunk before."""
    return _onto(event["own"], event["previous"], "reencode")


def rebase(event: dict[str, Any], _context: Any) -> Chunk:
    """Replace the first change by one from the true end of the chunk before."""
    return _onto(event["own"], event["previous"], "rebase")


def pair(event: list[Chunk], _context: Any) -> list[dict[str, Any]]:
    """Return each chunk with the one before it; the wavefront needs no such step."""
    return [{"own": own, "previous": previous} for previous, own in zip([None, *event], event, strict=False)]


def rebase_next(event: dict[str, Any], context: Any) -> list[Chunk]:
    """Rebase one more chunk; the wavefront needs no such step."""
    done = event["accumulated"]
    return [*done, rebase({"own": event["item"], "previous": done[-1] if done else None}, context)]


def concatenate(event: list[Chunk], _context: Any) -> dict[str, Any]:
    """Return the coded video, and the state of a decoder at its end."""
    return {"coded": [frame for chunk in event for frame in chunk["coded"]], "state": event[-1]["state"]}


def _onto(own: Chunk, previous: Chunk | None, phase: str) -> Chunk:
    """Begin a chunk from the state of the previous one; its other frames stay as they are."""
    _take(own, phase)
    if previous is None:
        return own
    coded = [_change(previous["state"], own["frames"][0]), *own["coded"][1:]]
    return {**own, "coded": coded, "state": _decode(previous["state"], coded)}


def _black(chunk: Chunk) -> State:
    return {"frame": [0] * len(chunk["frames"][0]), "history": 0}


def _change(state: State, frame: Frame) -> Frame:
    return [int((pixel - before) / STEP) * STEP for before, pixel in zip(state["frame"], frame, strict=True)]


def _decode(state: State, coded: list[Frame]) -> State:
    frame, history = state["frame"], state["history"]
    for change in coded:
        frame = [before + by for before, by in zip(frame, change, strict=True)]
        history = (31 * history + sum(change)) % 2**31
    return {"frame": frame, "history": history}


def _take(chunk: Chunk, phase: str) -> None:
    time.sleep(chunk["ms"].get(phase, 0) / 1000)
