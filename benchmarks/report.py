"""Figures as a Markdown page with charts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cold_start import table as cold_start_rows
from operations import FIGURES, OBJECT_FIGURES, Counted
from overhead import table as overhead_rows
from plot import line_chart

from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Guard

ORIGINAL: Mapping[str, tuple[int, int]] = {
    "chain of 10": (19, 19),
    "parallel 3": (22, 21),
    "map of 100": (604, 605),
    "map of 500": (3_008, 4_013),
}
"""Measured (calls, write units) of the original system."""

TARGETS: Mapping[tuple[str, str], int] = {
    ("chain of 10", "calls"): 11,
    ("chain of 10", "write_units"): 11,
    ("parallel 3", "calls"): 12,
    ("map of 100", "calls"): 206,
    ("map of 500", "calls"): 1_010,
    ("map of 500", "write_units"): 1_010,
    ("map of 500", "moved_bytes"): 1_000_000,
    ("map of 500", "payload_bytes"): 250_000,
    ("map of 500, small results", "calls"): 640,
    ("map of 500, small results", "write_units"): 640,
}
"""Targets with the guard `commit` and expiring outcomes."""

USD_TARGETS: Mapping[str, float] = {
    "chain of 5, commit": 4.6,
    "chain of 5, read": 5.3,
    "map of 100, small results, commit": 110,
}
"""Targets for requests and units of a million executions."""

WIDTHS = {"map of 10": 10, "map of 100": 100, "map of 500": 500, "map of 5,000": 5_000}
PAYLOAD_FIGURES = ("write_units", "read_units", "moved_bytes", "payload_bytes", *OBJECT_FIGURES)
COMPARED = ("chain of 10", "parallel 3", "map of 100", "nested 10 x 10", "loop of 20")

Row = Sequence[object]


@dataclass(frozen=True)
class Found:
    """All figures of one run.

    Attributes:
        date: date of the run.
        machine: the machine.
        operations: exact figures.
        usd: prices of a million executions, by workflow and system.
        large_join: time and memory of one join.
        delivery_us: CPU time of deliveries, here and in other libraries.
        cold_start: starts of function processes, with and without the layer, and the layer's size.
        visit_us: time of a Task's data flow, here and in moto.
        compilations: figures by size.
        stacks: figures by size.
    """

    date: str
    machine: str
    operations: Sequence[Counted]
    usd: Mapping[str, Mapping[str, float | None]]
    large_join: Mapping[str, float]
    delivery_us: Mapping[str, float]
    cold_start: Mapping[str, Any]
    visit_us: Mapping[str, float]
    compilations: Sequence[Mapping[str, float]]
    stacks: Sequence[Mapping[str, float]]

    def plain(self) -> dict[str, Any]:
        """Return a JSON value."""
        return asdict(self)

    def of(self, guard: Guard, collection: Collection = Collection.TTL) -> dict[str, Counted]:
        """Return exact figures under one policy, by workload."""
        chosen = (each for each in self.operations if (each.guard, each.collection) == (guard, collection))
        return {each.workload: each for each in chosen}


def page(found: Found) -> str:
    """Return the page."""
    sections = {
        "Operations": _operations(found),
        "Targets": _targets(found),
        "Guards and collection": _policies(found),
        "Large payloads": _payloads(found),
        "A join of large results": _table(["", "found"], ([name, value] for name, value in found.large_join.items())),
        "Cost of a million executions": _costs(found),
        "CPU time of a delivery": ["```", *overhead_rows(found.delivery_us), "```"],
        "Cold start": ["```", *cold_start_rows(found.cold_start), "```"],
        "Data flow of a Task": _table(["", "µs a visit"], ([name, us] for name, us in found.visit_us.items())),
        "Compilation": _compilation(found),
        "Synthesis": _rows(found.stacks),
    }
    head = ["# Figures", "", f"Written by `make bench` on {found.date}; {found.machine}."]
    return (
        "\n".join([*head, *(line for title, body in sections.items() for line in ["", f"## {title}", "", *body])])
        + "\n"
    )


def charts(found: Found) -> dict[str, str]:
    """Return charts by file name."""
    policies = {f"guard {guard}": found.of(guard) for guard in Guard}
    calls = {name: _by_width(each, "calls") for name, each in policies.items()}
    moved = {name: _by_width(each, "moved_bytes") for name, each in policies.items()}
    # Fits the measured calls: 604 for 100 branches, 3,008 for 500.
    original = {"original": [(float(width), 6.0 * width + 3 + -(-width // 100)) for width in WIDTHS.values()]}
    compiled = {"compilation": [(each["states"], each["ms"]) for each in found.compilations]}
    return {
        "calls.svg": line_chart("Calls of the store for a map", "branches", "calls", calls | original),
        "bytes.svg": line_chart("Bytes moved to and from the store for a map", "branches", "bytes", moved),
        "compilation.svg": line_chart("Compilation of a definition", "states", "ms", compiled),
    }


def _by_width(count_all: Mapping[str, Counted], figure: str) -> list[tuple[float, float]]:
    return [(width, count_all[name].figures[figure]) for name, width in WIDTHS.items()]


def _operations(found: Found) -> Iterator[str]:
    yield "With the guard `commit`, expiring outcomes, and no duplicates. The original's figures were measured."
    yield ""
    heads = ["", *(figure.replace("_", " ") for figure in FIGURES), "original's calls", "and write units"]
    rows = (
        [name, *each.figures.values(), *ORIGINAL.get(name, ("", ""))]
        for name, each in found.of(Guard.COMMIT).items()
        if " KB" not in name
    )
    yield from _table(heads, rows)
    yield from ["", "![Calls](calls.svg)", "", "![Bytes](bytes.svg)"]


def _targets(found: Found) -> Iterator[str]:
    count_all = found.of(Guard.COMMIT)
    exact = [
        (f"{name}: {figure.replace('_', ' ')}", target, count_all[name].figures[figure])
        for (name, figure), target in TARGETS.items()
    ]
    usd = [
        (f"{name}: USD for requests and units of a million", target, found.usd[name]["requests and units"])
        for name, target in USD_TARGETS.items()
    ]
    rows = [[name, target, value, _verdict(value, target)] for name, target, value in [*exact, *usd]]
    return _table(["", "target", "found", ""], rows)


def _verdict(value: float | None, target: float) -> str:
    assert value is not None  # noqa: S101 - only the original's figures can be missing
    return "met" if value <= target else f"missed by {value / target - 1:.1%}"


def _policies(found: Found) -> Iterator[str]:
    policies = [(guard, collection) for guard in Guard for collection in Collection]
    heads = ["calls of the store", *(f"{guard}, {collection}" for guard, collection in policies)]
    rows = ([name, *(found.of(*policy)[name].figures["calls"] for policy in policies)] for name in COMPARED)
    return _table(heads, rows)


def _payloads(found: Found) -> Iterator[str]:
    rows = (
        [name, *(each.figures.get(figure, "") for figure in PAYLOAD_FIGURES), each.ending]
        for name, each in found.of(Guard.COMMIT).items()
        if " KB" in name
    )
    return _table(["", *(figure.replace("_", " ") for figure in PAYLOAD_FIGURES), "ends"], rows)


def _costs(found: Found) -> Iterator[str]:
    heads = next(iter(found.usd.values()))
    return _table(["US dollars", *heads], ([name, *usd.values()] for name, usd in found.usd.items()))


def _compilation(found: Found) -> Iterator[str]:
    yield from _rows(found.compilations)
    yield from ["", "![Compilation](compilation.svg)"]


def _rows(rows: Sequence[Mapping[str, float]]) -> Iterator[str]:
    return _table([name.replace("_", " ") for name in rows[0]], (list(row.values()) for row in rows))


def _table(heads: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|---|{'---:|' * (len(heads) - 1)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:,.2f}"
        case int():
            return f"{value:,}"
    return str(value)
