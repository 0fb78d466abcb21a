"""List prices, with their sources and their date, from one data file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Prices:
    """What AWS asks for, and how long its services take to answer.

    Attributes:
        region: where.
        as_of: the date on which the prices were copied.
        usd: price of one of each thing, in US dollars, by its name in ``prices.json``.
        times_ms: how long a call takes, in milliseconds, by its name there.
    """

    region: str
    as_of: str
    usd: Mapping[str, float]
    times_ms: Mapping[str, float]


@cache
def list_prices() -> Prices:
    """The prices in ``prices.json``, where their sources are."""
    table = json.loads(files("unum_compiler.cost").joinpath("prices.json").read_text(encoding="utf-8"))
    return Prices(
        region=table["region"],
        as_of=table["as_of"],
        usd={name: price["usd"] / price["per"] for name, price in table["prices"].items()},
        times_ms={name: time["ms"] for name, time in table["times_ms"].items()},
    )
