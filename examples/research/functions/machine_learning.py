"""Perceptrons with integer weights, trained on generated points."""

from typing import Any

Sample = dict[str, Any]
"""`x`, a list of numbers whose last one is 1, and `y`, 1 or -1."""


def generate(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return labelled points, and the numbers of rounds to try."""
    points = [((37 * number) % 41 - 20, (53 * number) % 43 - 21) for number in range(event["samples"])]
    samples = [{"x": [a, b, 1], "y": 1 if 2 * a - 3 * b + 5 > 0 else -1} for a, b in points]
    return {"samples": samples, "rounds": event["rounds"]}


def train(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Train a perceptron on the first half of the samples, and test it on the second."""
    half = len(event["samples"]) // 2
    weights = [0, 0, 0]
    for _ in range(event["rounds"]):
        for sample in event["samples"][:half]:
            if not _is_right(weights, sample):
                weights = [weight + sample["y"] * x for weight, x in zip(weights, sample["x"], strict=True)]
    right = sum(_is_right(weights, sample) for sample in event["samples"][half:])
    return {"rounds": event["rounds"], "weights": weights, "right": right}


def select(event: list[dict[str, Any]], _context: Any) -> dict[str, Any]:
    """Return the model with the most right answers; of several, the one with the fewest rounds."""
    return max(event, key=lambda model: (model["right"], -model["rounds"]))


def _is_right(weights: list[int], sample: Sample) -> bool:
    score: int = sum(weight * x for weight, x in zip(weights, sample["x"], strict=True))
    return score > 0 if sample["y"] == 1 else score < 0
