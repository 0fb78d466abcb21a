"""Mutations of people: a row of a block has a position, and for each person 0 or 1."""

from itertools import combinations
from typing import Any

HARMFUL = 50
"""Least score of a position that matters."""

Mutations = dict[str, list[int]]
"""Positions by person."""


def read_block(event: dict[str, Any], _context: Any) -> Mutations:
    """Return the mutations in one block of rows, by person."""
    return {
        person: [row["position"] for row in event["rows"] if row["carriers"][column]]
        for column, person in enumerate(event["people"])
    }


def merge(event: list[Mutations], _context: Any) -> Mutations:
    """Merge the blocks."""
    return {person: sorted(position for block in event for position in block[person]) for person in event[0]}


def sift(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return the positions that matter, and the populations to analyse."""
    positions = sorted(int(position) for position, score in event["scores"].items() if score >= HARMFUL)
    populations = [{"name": name, "people": people} for name, people in event["populations"].items()]
    return {"positions": positions, "populations": populations}


def overlap(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return how many positions that matter each two people of a population share."""
    matter = set(event["positions"])
    carried = {person: matter & set(event["people"][person]) for person in event["population"]["people"]}
    shared = {f"{one}+{other}": len(carried[one] & carried[other]) for one, other in combinations(carried, 2)}
    return {"population": event["population"]["name"], "shared": shared}


def frequency(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return how many people of a population carry each position that matters."""
    carried = [event["people"][person] for person in event["population"]["people"]]
    carriers = {str(position): sum(position in own for own in carried) for position in event["positions"]}
    return {"population": event["population"]["name"], "carriers": carriers}
