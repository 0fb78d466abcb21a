"""Inputs of the research applications, with what they must return, computed here without workflows or functions."""

import hashlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from examples.research.applications import ALL
from examples.research.inputs import INPUTS, STORIES, video

APPLICATIONS = {each.name: each for each in ALL}
STEP = 8


class Case(NamedTuple):
    """One execution: application, input, expected output."""

    application: str
    value: Any
    expected: Any

    @property
    def id(self) -> str:
        return f"{self.application}-{hashlib.sha256(repr(self.value).encode()).hexdigest()[:4]}"


def without_traces(output: Any) -> Any:
    """An output without the traces of errors, which differ from machine to machine."""
    if isinstance(output, dict) and "error" in output:
        return {**output, "error": {"Error": output["error"]["Error"]}}
    return output


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(length: int) -> str:
    seal = ""
    for number in range(length):
        seal = sha(f"{seal}:{number}")
    return seal


def pipelines(seeds: list[int]) -> dict[str, Any]:
    whole = ""
    for seed in seeds:
        text = "".join(sha(f"{seed}/{block}") for block in range(625))
        odd = "".join(letter for place, letter in enumerate(text) if place % 2)
        whole += odd + "".join(letter for place, letter in enumerate(text) if not place % 2)
    return {"characters": 40_000 * len(seeds), "digest": sha(whole)}


def half_size(rows: list[list[int]]) -> list[list[int]]:
    height, width = len(rows) // 2, len(rows[0]) // 2
    small = [[0] * width for _ in range(height)]
    for y, x in itertools.product(range(height * 2), range(width * 2)):
        small[y // 2][x // 2] += rows[y][x]
    return [[total // 4 for total in row] for row in small]


def coded_video(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The coded video, pixel by pixel, as one loop without phases."""
    pixels = [coded_pixel([[frame[place] for frame in chunk["frames"]] for chunk in chunks]) for place in range(6)]
    coded = [list(frame) for frame in zip(*(changes for changes, _ in pixels), strict=True)]
    history = sum(31**age * sum(change) for age, change in enumerate(reversed(coded))) % 2**31
    return {"coded": coded, "state": {"frame": [state for _, state in pixels], "history": history}}


def coded_pixel(chunks: list[list[int]]) -> tuple[list[int], int]:
    """All changes of one pixel, and its value at the end."""
    changes, state = [], 0
    for values in chunks:
        alone, own = 0, []
        for value in values:
            own.append(towards_zero(value - alone))
            alone += own[-1]
        own[0] = towards_zero(values[0] - state)
        changes += own
        state += sum(own)
    return changes, state


def towards_zero(number: int) -> int:
    return STEP * (abs(number) // STEP) * (1 if number > 0 else -1)


def trained(samples: int, rounds: list[int]) -> dict[str, Any]:
    points = []
    for n in range(samples):
        x, y = 37 * n % 41 - 20, 53 * n % 43 - 21
        points.append((x, y, 2 * x - 3 * y + 5 > 0))
    learned, tested = points[: samples // 2], points[samples // 2 :]
    found: list[dict[str, Any]] = []
    for count in rounds:
        a = b = c = 0
        for x, y, above in learned * count:
            score = a * x + b * y + c
            if above and score <= 0:
                a, b, c = a + x, b + y, c + 1
            if not above and score >= 0:
                a, b, c = a - x, b - y, c - 1
        right = [(a * x + b * y + c > 0) if above else (a * x + b * y + c < 0) for x, y, above in tested]
        found.append({"rounds": count, "weights": [a, b, c], "right": right.count(True)})
    best = max(each["right"] for each in found)
    return next(each for each in found if each["right"] == best)


def trip(sold_out: str | None) -> Case:
    """A trip of which something is sold out: what was reserved before it is cancelled, the last first."""
    kinds = ["hotel", "car", "flight", "confirmation"]
    value = INPUTS["trip_booking"] | {"sold_out": [sold_out] if sold_out else []}
    if sold_out is None:
        journal = [f"reserve {kind}" for kind in kinds]
        done = {"booked": True, "reserved": {kind: f"rome-7/{kind}" for kind in kinds}, "journal": journal}
        return Case("trip_booking", value, {**value, **done})
    before = kinds[: kinds.index(sold_out)]
    journal = [f"reserve {kind}" for kind in before] + [f"cancel {kind}" for kind in reversed(before)]
    undone = {"booked": False, "reserved": {}, "journal": journal, "error": {"Error": "SoldOut"}}
    return Case("trip_booking", value, {**value, **undone})


def places(documents: dict[str, str]) -> list[dict[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for name in sorted(documents):
        for number, line in enumerate(documents[name].split("\n"), start=1):
            for word in dict.fromkeys(line.lower().split()):
                found.setdefault(word, []).append(f"{name}:{number}")
    parts: list[dict[str, list[str]]] = [{}, {}, {}]
    for word, part in zip(sorted(found), itertools.cycle(parts), strict=False):
        part[word] = found[word]
    return parts


def analysed(value: dict[str, Any]) -> dict[str, Any]:
    rows = {row["position"]: row["carriers"] for block in value["blocks"] for row in block["rows"]}
    matter = [position for position in rows if value["scores"][str(position)] >= 50]

    def carries(person: str, position: int) -> bool:
        return bool(rows[position][int(person[1:])])

    def shared(one: str, other: str) -> int:
        return sum(carries(one, position) and carries(other, position) for position in matter)

    groups = value["populations"].items()
    return {
        "overlap": [
            {
                "population": name,
                "shared": {f"{a}+{b}": shared(a, b) for at, a in enumerate(people) for b in people[at + 1 :]},
            }
            for name, people in groups
        ],
        "frequency": [
            {
                "population": name,
                "carriers": {str(position): sum(carries(each, position) for each in people) for position in matter},
            }
            for name, people in groups
        ],
    }


def words_of(texts: list[str]) -> dict[str, int]:
    letters = "".join(letter if letter.isalpha() or letter == "'" else " " for letter in " ".join(texts).lower())
    words = letters.split()
    return {word: words.count(word) for word in words}


def buffer(first: int, length: int) -> list[int]:
    """The closed form of the recurrence: 5^n * first + 3 * (5^n - 1) / 4."""
    return [(5**n * first + 3 * (5**n - 1) // 4) % 256 for n in range(length)]


def readings(*watts: float) -> dict[str, Any]:
    return {"readings": [{"at": f"2026-02-20T{at:02}:30:00", "watts": each} for at, each in enumerate(watts)]}


def power(command: str, mean: float, hours: float) -> dict[str, Any]:
    because = {"from": "2026-02-20T00:30:00", "hours": hours, "mean_w": mean, "wh": mean * hours}
    return {"command": command, "because": because}


POST = {
    "text": "@ada and @grace_h: read https://s.example/{code}, not ada@mail.example.",
    "link": "https://docs.example/a/long/path?q=1",
}


def post() -> dict[str, Any]:
    code = sha(POST["link"])[:6]
    text = POST["text"].format(code=code)
    links = {f"https://s.example/{code}": POST["link"]}
    return {"text": text, "links": links, "mentions": ["ada", "grace_h"], "id": sha(text)[:12]}


def of(name: str, expected: Callable[[Any], Any]) -> Case:
    """The case of an application's own example."""
    return Case(name, INPUTS[name], expected(INPUTS[name]))


FACES = [
    {"top": 1, "left": 2, "bottom": 4, "right": 4},
    {"top": 1, "left": 10, "bottom": 2, "right": 12},
    {"top": 6, "left": 9, "bottom": 8, "right": 13},
    {"top": 10, "left": 7, "bottom": 11, "right": 8},
]
MOST = {"car": {"count": 2, "in": [2, 5]}, "person": {"count": 3, "in": [6]}}

CASES = [
    Case("hello_world", {}, "Hello, world!"),
    Case("hello_bye", "hello", "Hello, world!"),
    Case("hello_bye", "bye", "Bye, world!"),
    of("relay", lambda value: value),
    of("chain", lambda value: {"length": value["length"], "hops": 20, "seal": sealed(20)}),
    of("fan_out", lambda _value: {"count": 12, "digests": {str(n): sha(f"text {n}") for n in range(12)}}),
    of("parallel_pipeline", lambda value: pipelines(value["seeds"])),
    of("image_process", lambda value: {"thumbnail": half_size(value["rows"]), "faces": FACES}),
    Case("iot_pipeline", readings(900, 1150.5, 1020, 990), power("reduce", 1015.125, 4.0)),
    Case("iot_pipeline", readings(1001, 1000), power("reduce", 1000.5, 2.0)),
    Case("iot_pipeline", readings(1000, 1000, 1000), power("keep", 1000.0, 3.0)),
    of("text_processing", lambda _value: post()),
    Case("word_count", {"texts": STORIES}, words_of(STORIES)),
    of("excamera", lambda value: coded_video(value["chunks"])),
    of("excamera_barrier", lambda value: coded_video(value["chunks"])),
    Case("excamera", video(chunks=1), coded_video(video(chunks=1)["chunks"])),
    of("machine_learning", lambda value: trained(value["samples"], value["rounds"])),
    of("video_analysis", lambda _value: {"frames": 10, "most": MOST}),
    *(trip(kind) for kind in (None, "car", "flight", "confirmation")),
    of("map_reduce", places),
    of("genome", analysed),
    of("function_chain", lambda value: {"bytes": buffer(value["first"], 31)}),
]
"""Of every application at least one."""

FAILURES = [
    Case("hello_bye", "ciao", "UnknownWord"),
    Case("trip_booking", INPUTS["trip_booking"] | {"sold_out": ["hotel"]}, "SoldOut"),
    Case("iot_pipeline", {"readings": []}, "IndexError"),
]
"""Inputs that fail, with the name of the error. Without a hotel nothing has to be cancelled."""
