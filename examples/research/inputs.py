"""Inputs of the research applications: small, and the same on every run."""

from typing import Any

CHUNKS = 16
CARRIERS = 3
"""Of seven people, how many carry a mutation."""

STORIES = [
    "It was a dark night, and the night was long.",
    "The rain fell; the wind didn't.",
    "And then, at dawn, the rain was gone and the wind was back.",
]


def picture() -> list[list[int]]:
    """Return a dim picture with four faces, two of them bent and less bright, and smaller bright spots."""
    rows = [[(13 * x + 29 * y) % 120 for x in range(16)] for y in range(12)]
    for top, left, height, width in ((1, 2, 4, 3), (6, 9, 3, 5), (10, 1, 1, 1)):
        for y in range(top, top + height):
            rows[y][left : left + width] = [230] * width
    for y, x in ((1, 10), (2, 10), (2, 11), (2, 12), (1, 12), (10, 8), (11, 8), (11, 7), (10, 4), (10, 5)):
        rows[y][x] = 200
    rows[1][11] = rows[10][7] = 199
    return rows


def video(ms: int = 0, slow_ms: int = 0, chunks: int = CHUNKS, frames: int = 3) -> dict[str, Any]:
    """Return a video for ExCamera.

    Args:
        ms: time of each step but the encoder, in milliseconds.
        slow_ms: spread of the encoder's time; chunks differ.
        chunks: number of chunks.
        frames: number of frames in each chunk.
    """
    return {
        "chunks": [
            {
                "frames": [_frame(frames * chunk + number) for number in range(frames)],
                "ms": {"encode": ms + slow_ms * (chunk * 7 % chunks) // chunks}
                | dict.fromkeys(("decode", "reencode", "rebase"), ms),
            }
            for chunk in range(chunks)
        ]
    }


def _frame(number: int) -> list[int]:
    return [(number * number * 3 + 17 * pixel * (number % 5 + 1)) % 256 for pixel in range(6)]


def _genome() -> dict[str, Any]:
    people = [f"p{number}" for number in range(8)]
    blocks = [
        {
            "people": people,
            "rows": [
                {"position": position, "carriers": [int(position * (person + 3) % 7 < CARRIERS) for person in range(8)]}
                for position in range(first, first + 10)
            ],
        }
        for first in range(100, 150, 10)
    ]
    scores = {str(position): (position * 37 + 13) % 100 for position in range(100, 150)}
    populations = {"north": people[:4], "south": people[3:], "all": people}
    return {"blocks": blocks, "scores": scores, "populations": populations}


INPUTS: dict[str, Any] = {
    "hello_world": {},
    "hello_bye": "bye",
    "relay": {"text": "ä \u2603", "nothing": None, "numbers": [0, -1.5, 1e30], "empty": [{}, []]},
    "chain": {"length": 20, "hops": 0, "seal": ""},
    "fan_out": {"texts": [f"text {number}" for number in range(12)]},
    "parallel_pipeline": {"seeds": [5, 3, 8, 1, 9, 2, 7]},
    "image_process": {"rows": picture()},
    "iot_pipeline": {
        "readings": [
            {"at": f"2026-02-20T{hour:02}:30:00", "watts": watts} for hour, watts in enumerate((900, 1150.5, 1020, 990))
        ]
    },
    "text_processing": {"text": "@ada and @grace_h: read https://docs.example/a/long/path?q=1, not ada@mail.example."},
    "word_count": {"texts": STORIES},
    "excamera": video(),
    "excamera_barrier": video(),
    "machine_learning": {"samples": 60, "rounds": [1, 2, 4, 8]},
    "video_analysis": {"video": "9./3.2c4./1c2.3c1.1p1./2p2.1p4./9./4c1p4c/1.1p1.1p1.1p3./9c/8.1p/9."},
    "trip_booking": {"trip": "rome-7", "sold_out": [], "reserved": {}, "journal": []},
    "map_reduce": {"night": "A dark night\nA long night", "dawn": "the rain\nthe night\n\nthe dawn", "end": "a dawn"},
    "genome": _genome(),
    "function_chain": {"first": 7},
}
"""Input of each application, by its name."""
