"""All benchmarks: prints the figures, and writes them as a page with charts.

python benchmarks/run.py [--json] [--only-ours] [--output FOLDER]
"""

import argparse
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import compiling
import costs
import dataflow
import large_join
import operations
import overhead
import report

PAGE = Path(__file__).parents[1] / "docs" / "performance"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only-ours", action="store_true", help="leave the peers out: they need an environment")
    parser.add_argument("--output", type=Path, default=PAGE, help="folder for the page and its charts")
    options = parser.parse_args()
    found = measured(only_ours=options.only_ours)
    page = report.page(found)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, text in {"figures.md": page, **report.charts(found)}.items():
        (options.output / name).write_text(text, encoding="utf-8")
    print(json.dumps(found.plain(), indent=1) if options.json else page)


def measured(*, only_ours: bool) -> report.Found:
    """Everything that is measured."""
    return report.Found(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=machine(),
        operations=list(operations.counted()),
        usd=costs.table(),
        large_join=large_join.measured(),
        delivery_us=overhead.overhead(only_ours=only_ours),
        visit_us=dataflow.measured(only_ours=only_ours),
        compilations=list(compiling.compilations()),
        stacks=list(compiling.stacks()),
    )


def machine() -> str:
    """What this runs on, and how much else does."""
    processors = f"{os.cpu_count()} processors ({platform.machine()}) with a load of {os.getloadavg()[0]:.1f}"
    return f"{processors}, {platform.system()}, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
