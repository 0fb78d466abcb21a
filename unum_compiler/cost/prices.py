"""List prices from one dated data file, including sources."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from unum_runtime.json_text import parse_json


@dataclass(frozen=True, slots=True)
class Prices:
    """AWS's prices, and the response times of its services.

    Attributes:
        region: region of the prices.
        as_of: date of the prices.
        usd: price of one unit, in US dollars, by its name in ``prices.json``.
        times_ms: duration of a call, in milliseconds, by its name in ``prices.json``.
    """

    region: str
    as_of: str
    usd: Mapping[str, float]
    times_ms: Mapping[str, float]


@cache
def list_prices() -> Prices:
    """Return prices from ``prices.json``, sources included there."""
    table = parse_json(files("unum_compiler.cost").joinpath("prices.json").read_text(encoding="utf-8"))
    return Prices(
        region=table["region"],
        as_of=table["as_of"],
        usd={name: price["usd"] / price["per"] for name, price in table["prices"].items()},
        times_ms={name: time["ms"] for name, time in table["times_ms"].items()},
    )
